"""Users' own documents: uploaded files become a corpus that questions can search.

Each corpus is a folder, `documents/USER/CORPUS/`, next to the threads. It holds the index, the files, which their user
can open again, and `corpus.json`, without which it is not a corpus. A change replaces the folder atomically. Paths
contain no user or file names.
"""

import asyncio
import os
import re
import shutil
import stat
import time
import uuid
from collections import defaultdict
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from pydantic import ValidationError

from hopgraph.state import CorpusError, SettingsError
from hopgraph.tools.apps.server.caller_settings import read_limit
from hopgraph.tools.apps.server.index_upload import (
    FILES,
    INDEX,
    MAX_MEMORY,
    MAX_SECONDS,
    RECORD,
    USER_CORPUS,
    IndexingStage,
    UploadJob,
    UserCorpus,
    document_id,
    index_in_process,
    nothing_read,
)
from hopgraph.tools.apps.server.server_options import ServingOptions
from hopgraph.tools.apps.server.threads import USER, default_path
from hopgraph.tools.retrieval.corpora.text_files import count_unread, describe_unread, readable_suffixes
from hopgraph.tools.retrieval.resolve import close_index
from hopgraph.tools.retrieval.staging import LOCK, recover_stages, recover_stages_in
from hopgraph.tools.text import get_analyzer
from hopgraph.tools.text.sanitize import truncate_line

MAX_CORPORA = 20  # of one user
DOCUMENTS, UPLOADS = "documents", "hopgraph-uploads"
"""The folders of all users' documents, and of uploads that are not indexed yet."""
JOINED = "+"
"""Suffix of a corpus id if the app's documents are searched, too."""
SET = "@"
"""Prefix of a chosen document set of the app."""
_MAX_CONCURRENT = 2  # corpora indexed at once, one per user; others wait
_MIN_SECONDS, _BYTES_PER_SECOND = 60, 50_000
"""Time limit of an upload: the minimum, plus one second per so many bytes of the upload and the corpus it changes."""
_ID = re.compile(r"[0-9a-f]{12}")
_MAX_NAME, _MAX_FILE_NAME = 80, 100
BLOCK = 4096  # bytes that even an empty file takes
_STALE_SECONDS = 24 * 3600  # until a folder without a record is removed
UPLOAD_SUFFIXES = readable_suffixes()


def data_folder(options: ServingOptions) -> Path:
    """Return the parent of the documents and uploads folders: the folder of the threads' file, or its default."""
    return (options.threads if isinstance(options.threads, Path) else default_path()).parent


@dataclass(frozen=True)
class UserDocuments:
    """The documents of all users; each sees only their own.

    Every method raises a `SettingsError` for a malformed user name or an unknown corpus.
    """

    folder: Path
    max_bytes: int  # of all files of one upload
    max_seconds: int = MAX_SECONDS  # of the largest upload
    max_memory: int = MAX_MEMORY
    quota_files: int = field(default_factory=lambda: read_limit("HOPGRAPH_DOCUMENT_FILES"))
    quota_bytes: int = field(default_factory=lambda: read_limit("HOPGRAPH_DOCUMENT_BYTES"))
    """Of all documents of one user, with their indexes."""
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_MAX_CONCURRENT))
    _of_user: dict[Path, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    _busy: set[Path] = field(default_factory=set[Path])

    async def list_for(self, user: str) -> list[UserCorpus]:
        """Return a user's corpora, newest first."""
        return await asyncio.to_thread(_list_corpora, self._folder_of(user))

    def spec(self, user: str, corpus: str) -> str:
        """Return the `retriever` setting that searches a corpus."""
        return f"bm25:{self._find(user, corpus) / INDEX}"

    def names(self, user: str, corpus: str) -> list[str]:
        """Return the names of a corpus's files."""
        return _read_record(self._find(user, corpus))["files"]

    def file(self, user: str, corpus: str, identity: str) -> tuple[Path, str] | None:
        """Return the path and name of the corpus's file with a `document_id`; None if there is none."""
        folder = self._find(user, corpus)
        name = next((each for each in _read_record(folder)["files"] if document_id(each) == identity), None)
        place = folder / FILES / identity
        return (place, name) if name and place.is_file() else None

    async def delete(self, user: str, corpus: str) -> None:
        """Delete a corpus."""
        folder = self._find(user, corpus)
        self._check_idle(folder)
        await self._delete(folder)

    def _check_idle(self, folder: Path) -> None:
        if folder in self._busy:
            raise SettingsError("these documents are already being changed; wait until that is done")

    async def _delete(self, folder: Path) -> None:
        # Without its record it is no longer a corpus, even if the rest cannot be deleted.
        (folder / RECORD).unlink()
        close_index(folder / INDEX)
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def recover(self) -> None:
        """Clean up after changes that were killed, for all users."""
        for of_user in await asyncio.to_thread(lambda: list(self.folder.glob("*"))):
            await asyncio.to_thread(recover_stages_in, of_user)

    async def delete_old(self, seconds: float) -> None:
        """Delete corpora that were last changed more than `seconds` ago, except those being changed now."""
        for record in await asyncio.to_thread(lambda: list(self.folder.glob(f"*/*/{RECORD}"))):
            with suppress(OSError):
                if time.time() - record.stat().st_mtime > seconds and record.parent not in self._busy:
                    await self._delete(record.parent)

    async def index(
        self,
        user: str,
        files: Sequence[Path],
        corpus: str = "",
        *,
        name: str = "",
        language: str | None = None,
        remove: Collection[str] = (),
    ) -> AsyncGenerator[IndexingStage | UserCorpus]:
        """Index uploaded files in a separate process; yield the stages, then the corpus.

        The files are added to the corpus with the id `corpus`, replacing files of the same name, or become a new corpus
        with a `name` (default: from the files) and a `language` (default: English). Its files in `remove` are removed;
        files that cannot be read are listed in it. The change is atomic: until it succeeds, questions use the old
        corpus, and closing the generator or a failure leaves no trace. After a kill `recover` cleans up.

        A CorpusError if the upload needs too much space, time or memory, no file can be read, or the disk is full. A
        SettingsError for too many corpora or documents, no file left, a corpus being changed, or an unknown language.
        """
        get_analyzer(language or "en")
        before = _read_record(self._find(user, corpus)) if corpus else None
        named, unread = name_files(files, self.max_bytes) if files or not before else ({}, {})
        for file, problem in unread.items():
            yield IndexingStage("reading", file=file, passages=0, problem=problem)
        if unread and not named:
            raise nothing_read(unread, [f"{file}: {problem}" for file, problem in unread.items()])
        if before and not named and not set(before["files"]) - {*remove}:
            raise SettingsError("that would remove all files; delete the documents instead")
        folder = self._folder_of(user) / (corpus or uuid.uuid4().hex[:12])
        size = sum(each.stat().st_size for each in named.values()) + await asyncio.to_thread(folder_size, folder)
        await self._check_quota(folder, named)
        job = UploadJob(
            folder=folder,
            before=before or _new_corpus(folder.name, name, list(named)),
            files=named,
            unread=[f"{file}: {problem}" for file, problem in unread.items()],
            removed=[*remove],
            language=language,
            max_seconds=min(self.max_seconds, _MIN_SECONDS + size // _BYTES_PER_SECOND),
            max_memory=self.max_memory,
        )
        async with aclosing(self._run(job)) as stages:
            async for each in stages:
                yield each

    async def _check_quota(self, folder: Path, files: Mapping[str, Path]) -> None:
        of_user = folder.parent
        size = await asyncio.to_thread(folder_size, of_user) + sum(each.stat().st_size for each in files.values())
        corpora = await asyncio.to_thread(_list_corpora, of_user)  # the last await before it is `_busy`
        if size > self.quota_bytes or len(files) + sum(len(each["files"]) for each in corpora) > self.quota_files:
            most = f"{self.quota_files:,} files and {self.quota_bytes:,} bytes with their indexes"
            raise SettingsError(f"your documents are limited to {most}; delete some first")
        self._check_idle(folder)
        under_way = {each.name for each in self._busy if each.parent == of_user}
        if len({folder.name, *under_way, *(each["id"] for each in corpora)}) > MAX_CORPORA:
            raise SettingsError(f"you have {MAX_CORPORA} document collections, which is the limit; delete one first")

    async def _run(self, job: UploadJob) -> AsyncGenerator[IndexingStage | UserCorpus]:
        """Run a job when a slot is free."""
        folder = job["folder"]
        corpus: UserCorpus | None = None
        self._busy.add(folder)
        try:
            of_user = self._of_user[folder.parent]
            if self._slots.locked() or of_user.locked():
                yield IndexingStage("waiting")
            async with of_user, self._slots:  # in this order, so that each user queues once
                _make_folder(folder.parent)
                try:
                    async with aclosing(index_in_process(job)) as stages:
                        async for each in stages:
                            if isinstance(each, IndexingStage):
                                yield each
                            else:
                                corpus = each
                finally:
                    await asyncio.to_thread(recover_stages, folder)  # its process may have been killed
        except OSError as error:
            raise CorpusError(f"the documents cannot be stored: {error.strerror or error}") from None
        finally:
            self._busy.discard(folder)  # before the corpus is yielded
        if corpus:
            yield corpus

    def _folder_of(self, user: str) -> Path:
        if not USER.fullmatch(user):
            raise SettingsError(f"user {user!r:.80} is malformed")
        # A digest, since some file systems ignore case.
        return self.folder / blake2b(user.encode(), digest_size=16).hexdigest()

    def _find(self, user: str, corpus: str) -> Path:
        folder = self._folder_of(user) / corpus if _ID.fullmatch(corpus) else None
        if folder is None or not (folder / RECORD).is_file():
            raise SettingsError("the selected documents no longer exist; select others")
        return folder


def _new_corpus(key: str, name: str, files: Sequence[str]) -> UserCorpus:
    """Return a corpus without files yet; without a `name` it is named after the files it will have."""
    more = f" and {len(files) - 1:,} more" if files[1:] else ""
    title = truncate_line(name, _MAX_NAME) or truncate_line(files[0], _MAX_NAME - 20) + more
    return UserCorpus(id=key, name=title, files=[], passages=0, skipped=0, first_skipped=[], created=time.time())


def _read_record(folder: Path) -> UserCorpus:
    return USER_CORPUS.validate_json((folder / RECORD).read_bytes())


def _list_corpora(of_user: Path) -> list[UserCorpus]:
    found: list[UserCorpus] = []
    for record in of_user.glob(f"*/{RECORD}"):
        with suppress(OSError, ValidationError):  # deleted meanwhile, or not a corpus
            corpus = _read_record(record.parent)
            if corpus["id"] == record.parent.name:
                found.append(corpus)
    return sorted(found, key=lambda each: (-each["created"], each["id"]))


def _make_folder(of_user: Path) -> None:
    """Create a user's folder, and remove the remains of deleted corpora from it."""
    of_user.mkdir(parents=True, exist_ok=True, mode=0o700)
    for each in of_user.iterdir():
        is_left = not (each / RECORD).exists() and not (each / LOCK).exists()
        if is_left and time.time() - each.stat().st_mtime > _STALE_SECONDS:
            shutil.rmtree(each, ignore_errors=True)


def name_files(files: Sequence[Path], max_bytes: int) -> tuple[dict[str, Path], dict[str, str]]:
    """Return unique name → path of the usable files, in order, and name → reason of the others.

    Only names, types and sizes are checked. A CorpusError for no files, or too many bytes.
    """
    found: dict[str, Path] = {}
    unread: dict[str, str] = {}
    total = 0
    for path in files:
        name = given = truncate_line(path.name, _MAX_FILE_NAME) or "document"
        number = 1
        while name in found or name in unread:
            number += 1
            name = f"{given} ({number})"
        try:
            status = path.lstat()
        except OSError as error:
            unread[name] = f"cannot be read: {error.strerror}"
            continue
        if problem := _reason_to_refuse(path, status):
            unread[name] = problem
            continue
        total += status.st_size
        found[name] = path
    if not files:
        raise CorpusError("no file was uploaded; choose one or more")
    if total > max_bytes:
        raise CorpusError(f"the files total {total:,} bytes; upload at most {max_bytes:,} at once")
    return found, unread


def _reason_to_refuse(path: Path, status: os.stat_result) -> str:
    if not stat.S_ISREG(status.st_mode):  # a link could lead to any file on this machine
        return "this is not a file"
    if not status.st_size:
        return "the file is empty"
    if unread := describe_unread(count_unread([path])):
        return f"{unread}; upload files of {', '.join(UPLOAD_SUFFIXES)}"
    return ""


def remove_old_files(folder: Path, seconds: float) -> None:
    """Remove files last written more than `seconds` ago, and empty folders; tolerate concurrent removal."""
    for place, folders, files in os.walk(folder, topdown=False):
        for name in files:
            path = Path(place, name)
            with suppress(OSError):
                if time.time() - path.lstat().st_mtime > seconds:
                    path.unlink()
        for name in folders:
            with suppress(OSError):
                Path(place, name).rmdir()  # fails unless it is empty


def folder_size(folder: Path) -> int:
    """Return the size of a folder in bytes, counting at least a block per file; 0 if it does not exist."""
    total = 0
    for place, _, files in os.walk(folder):
        for name in files:
            with suppress(OSError):
                total += max(Path(place, name).lstat().st_size, BLOCK)
    return total
