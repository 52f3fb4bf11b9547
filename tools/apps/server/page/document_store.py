"""Users' own documents: uploaded files become a corpus that questions can be asked about.

Each corpus is a folder, `documents/USER/CORPUS/`, next to the threads. It holds the index and `corpus.json`, which is
written last, so that a folder without it is no corpus. All parts of the path are ours: no name of a user or a file
becomes part of it.

Files are read as `hopgraph index` reads them, each by itself: text is cut into passages of about 100 words at the
ends of sentences. Files and records that cannot be used are skipped and reported.
"""

import asyncio
import re
import shutil
import time
import uuid
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from hopgraph.state import CorpusError, SettingsError
from hopgraph.tools.apps.server.caller_settings import read_limit
from hopgraph.tools.apps.server.index_upload import (
    INDEX,
    MAX_MEMORY,
    MAX_SECONDS,
    IndexingStage,
    UploadJob,
    UserCorpus,
    index_in_process,
)
from hopgraph.tools.apps.server.server_options import ServingOptions
from hopgraph.tools.apps.server.threads import USER, default_path
from hopgraph.tools.apps.server.uploaded_files import folder_size, name_files
from hopgraph.tools.io.guarded_files import write_files
from hopgraph.tools.retrieval.resolve import close_index
from hopgraph.tools.text import get_analyser
from hopgraph.tools.text.sanitize import truncate_line

MAX_CORPORA = 20
"""Of one user, so that the disk is not filled; then one has to be deleted first."""
UPLOADS = "hopgraph-uploads"
"""The name of the folder of uploads."""
JOINED = "+"
"""What follows a corpus's id where it is asked together with the app's documents."""
_MAX_CONCURRENT = 2
"""Corpora that are indexed at the same time; others wait."""
_ID = re.compile(r"[0-9a-f]{12}")
_RECORD = "corpus.json"
_MAX_NAME = 80
_STALE_SECONDS = 24 * 3600
"""After so long what a killed upload left is removed."""


_CORPUS = TypeAdapter(UserCorpus)


def corpus_id(choice: str) -> str:
    """Return the id of the corpus that was chosen, alone or with the app's; empty for the app's alone."""
    return choice.removesuffix(JOINED)


def documents_folder(options: ServingOptions) -> Path:
    """Return the folder of all users' documents: next to the threads' file, or to its default place."""
    return _threads_folder(options) / "documents"


def uploads_folder(options: ServingOptions) -> Path:
    """Return the folder where uploads lie until they are indexed, next to that of the documents."""
    return _threads_folder(options) / UPLOADS


def _threads_folder(options: ServingOptions) -> Path:
    return (options.threads if isinstance(options.threads, Path) else default_path()).parent


@dataclass(frozen=True)
class UserDocuments:
    """The documents of all users; each sees only their own.

    Every method raises a `SettingsError` for a malformed user name, or where the user has no such corpus.
    """

    folder: Path
    max_bytes: int
    """Of the files of one upload together."""
    max_seconds: int = MAX_SECONDS
    max_memory: int = MAX_MEMORY
    """In bytes; indexing an upload may take no more."""
    quota_files: int = field(default_factory=lambda: read_limit("HOPGRAPH_DOCUMENT_FILES"))
    quota_bytes: int = field(default_factory=lambda: read_limit("HOPGRAPH_DOCUMENT_BYTES"))
    """Of all documents of one user, with their indexes."""
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_MAX_CONCURRENT))
    _adding: Counter[str] = field(default_factory=Counter[str])
    """Corpora of each user that wait or are being indexed."""
    _changing: set[Path] = field(default_factory=set[Path])
    """Folders of corpora that are being changed."""

    async def list_for(self, user: str) -> list[UserCorpus]:
        """Return a user's corpora, the newest first; empty for none."""
        return await asyncio.to_thread(_list_corpora, self._folder_of(user))

    def spec(self, user: str, corpus: str) -> str:
        """Return a corpus as the setting `retriever` names it."""
        return f"bm25:{self._find(user, corpus) / INDEX}"

    async def delete(self, user: str, corpus: str) -> None:
        """Delete a corpus."""
        folder = self._find(user, corpus)
        # From now on it is no corpus any more, even if the rest cannot be deleted.
        (folder / _RECORD).unlink()
        close_index(folder / INDEX)
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def add(
        self, user: str, files: Sequence[Path], name: str = "", *, language: str | None = None
    ) -> AsyncGenerator[IndexingStage | UserCorpus]:
        """Index uploaded files, in a process of its own; yield the stages, and the corpus at last.

        What cannot be read is named in the corpus, and the rest indexed.

        To stop it, close the generator; nothing is left of it then.

        Args:
            user: whose they are.
            files: where they lie; the last part of each path is shown as its name. They are only read.
            name: the name of the corpus; empty: after the files.
            language: of the passages, by ISO code or English name; None: English.

        Raises:
            CorpusError: too much, also of time or memory; no file that can be read; a full disk.
            SettingsError: the user has too many corpora, or the language is unknown.
        """
        get_analyser(language or "en")
        named_files, unread = name_files(files, self.max_bytes)
        corpora = await self._check_quota(user, named_files)
        if len(corpora) + self._adding[user] >= MAX_CORPORA:
            raise SettingsError(f"you have {MAX_CORPORA} corpora of your own; delete one before you add another")
        title = truncate_line(name, _MAX_NAME) or _name_after(list(named_files))
        job = self._job(self._folder_of(user) / uuid.uuid4().hex[:12], title, named_files, unread)
        job["language"] = language
        self._adding[user] += 1
        async with aclosing(self._run(job, lambda: self._adding.subtract([user]))) as stages:
            async for each in stages:
                yield each

    async def change(
        self, user: str, corpus: str, *, add: Sequence[Path] = (), remove: Collection[str] = ()
    ) -> AsyncGenerator[IndexingStage | UserCorpus]:
        """Add files to a corpus, in the place of those of the same name, and remove others by name; yield as `add`.

        Until the end, and when it fails or is stopped, questions are answered from what was there.

        Raises:
            CorpusError: as `add`. SettingsError: no file would be left, or the documents would be too many.
        """
        folder = self._find(user, corpus)
        before = _CORPUS.validate_json((folder / _RECORD).read_bytes())
        named_files, unread = name_files(add, self.max_bytes) if add else ({}, [])
        if not named_files and not set(before["files"]) - {*remove}:
            raise SettingsError("these are all files; delete the documents instead")
        await self._check_quota(user, named_files)
        if folder in self._changing:
            raise SettingsError("these documents are being changed already; wait until that is done")
        job = self._job(folder, before["name"], named_files, unread)
        job["changed"], job["removed"] = before, [*remove]
        self._changing.add(folder)
        async with aclosing(self._run(job, lambda: self._changing.discard(folder))) as stages:
            async for each in stages:
                yield each

    async def _check_quota(self, user: str, files: Mapping[str, Path]) -> list[UserCorpus]:
        """Return the user's corpora, read last; a SettingsError where no more files may be added."""
        of_user = self._folder_of(user)
        size = await asyncio.to_thread(folder_size, of_user) + sum(each.stat().st_size for each in files.values())
        corpora = await self.list_for(user)  # the last to be waited for: those under way are counted by the caller
        if size > self.quota_bytes or len(files) + sum(len(each["files"]) for each in corpora) > self.quota_files:
            most = f"{self.quota_files:,} files and {self.quota_bytes:,} bytes with their indexes"
            raise SettingsError(f"your documents may have {most}; delete some before you add these")
        return corpora

    def _job(self, folder: Path, name: str, files: dict[str, Path], unread: list[str]) -> UploadJob:
        return UploadJob(
            folder=folder,
            name=name,
            files=files,
            unread=unread,
            language=None,
            changed=None,
            removed=[],
            max_seconds=self.max_seconds,
            max_memory=self.max_memory,
        )

    async def _run(self, job: UploadJob, done: Callable[[], None]) -> AsyncGenerator[IndexingStage | UserCorpus]:
        """Do a job when it is its turn; `done` is called in any case, before the corpus is yielded."""
        corpus: UserCorpus | None = None
        try:
            if self._slots.locked():
                yield IndexingStage("waiting")
            async with self._slots, aclosing(_index(job)) as stages:
                async for each in stages:
                    if isinstance(each, IndexingStage):
                        yield each
                    else:
                        corpus = each
        finally:
            done()
        if corpus:
            yield corpus

    def _folder_of(self, user: str) -> Path:
        if not USER.fullmatch(user):
            raise SettingsError(f"user {user!r:.80} is malformed")
        # A digest, so that users whose names differ only by case stay apart on every file system.
        return self.folder / blake2b(user.encode(), digest_size=16).hexdigest()

    def _find(self, user: str, corpus: str) -> Path:
        folder = self._folder_of(user) / corpus if _ID.fullmatch(corpus) else None
        if folder is None or not (folder / _RECORD).is_file():
            raise SettingsError("the chosen documents are not there; they may have been deleted, so choose others")
        return folder


async def _index(job: UploadJob) -> AsyncGenerator[IndexingStage | UserCorpus]:
    """Index files into the folder of the job; on any failure a new one is removed."""
    folder = job["folder"]
    try:
        try:
            folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _remove_stale(folder.parent)
            folder.mkdir(exist_ok=job["changed"] is not None)
            async with aclosing(index_in_process(job)) as stages:
                async for each in stages:
                    if not isinstance(each, IndexingStage):
                        write_files({folder / _RECORD: _CORPUS.dump_json(each)})
                    yield each
        except OSError as error:
            raise CorpusError(f"the documents cannot be stored: {error.strerror or error}") from None
    finally:
        if not (folder / _RECORD).exists():
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _name_after(names: Sequence[str]) -> str:
    more = len(names) - 1
    return truncate_line(names[0], _MAX_NAME - 20) + (f" and {more:,} more" if more else "")


def _list_corpora(of_user: Path) -> list[UserCorpus]:
    found: list[UserCorpus] = []
    for record in of_user.glob(f"*/{_RECORD}"):
        with suppress(OSError, ValidationError):  # deleted meanwhile, or not ours
            corpus = _CORPUS.validate_json(record.read_bytes())
            if corpus["id"] == record.parent.name:
                found.append(corpus)
    return sorted(found, key=lambda each: (-each["created"], each["id"]))


def _remove_stale(of_user: Path) -> None:
    """Remove what uploads left that were killed long ago."""
    for folder in of_user.iterdir():
        if not (folder / _RECORD).exists() and time.time() - folder.stat().st_mtime > _STALE_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)
