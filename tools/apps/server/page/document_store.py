"""A user's own documents: uploaded files become a corpus that questions can be asked about.

Each corpus is a folder, `documents/USER/CORPUS/`, beside the threads. It holds the index and `corpus.json`, which is
written last, so that a folder without it is no corpus. All parts of its path are ours: nothing that a user or a file
is called becomes part of one.

Files are read as `hopgraph index` reads them, each by itself: text is cut into passages of about 100 words at the
ends of sentences. Records that cannot be used are passed over and told.
"""

import asyncio
import re
import shutil
import time
import uuid
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from threading import Event

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from hopgraph.state import CorpusError, SettingsError
from hopgraph.tools.apps.server.page.uploaded_files import gather, named
from hopgraph.tools.apps.server.server_options import ServingOptions
from hopgraph.tools.apps.server.threads import USER, default_path
from hopgraph.tools.retrieval.resolve import close_index
from hopgraph.tools.text.sanitize import sanitize_line, truncate_line

MOST_CORPORA = 20
"""Of one user; then one has to be deleted first, so that a disk is not filled."""
UPLOADS = "hopgraph-uploads"
"""What the folder of uploads is called."""
_AT_ONCE = 2
"""Corpora that are indexed at the same time; others wait."""
_ID = re.compile(r"[0-9a-f]{12}")
_ABOUT, _GATHERED, _INDEX = "corpus.json", "passages.jsonl", "index"
_NAME = 80
"""Characters of a corpus's name."""
_FORGOTTEN = 24 * 3600
"""Seconds after which the rest of an upload that was killed is removed."""


class UserCorpus(TypedDict):
    """A corpus that a user made of uploaded files."""

    id: str
    """Unique among the user's."""
    name: str
    """Foreign text, on one line; never empty."""
    files: list[str]
    """Their names; foreign text, on one line each."""
    passages: int
    skipped: int
    """Records that could not be used."""
    first_skipped: list[str]
    """What was wrong with the first few of them, with file and line."""
    created: float
    """Seconds since the epoch."""


_CORPUS = TypeAdapter(UserCorpus)


@dataclass(frozen=True)
class IndexingStage:
    """How far the indexing of an upload is."""

    name: str
    """`waiting`, `reading`, `indexing`, `scoring` or `saving`."""
    done: int = 0
    total: int | None = None
    """Of the same unit as `done`; None where nobody knows."""


def documents_folder(options: ServingOptions) -> Path:
    """Find the folder of all users' documents: beside the file of the threads, or where that is by default."""
    return _beside_threads(options) / "documents"


def uploads_folder(options: ServingOptions) -> Path:
    """Find the folder where uploads are put until they are indexed: beside that of the documents."""
    return _beside_threads(options) / UPLOADS


def _beside_threads(options: ServingOptions) -> Path:
    return (options.threads if isinstance(options.threads, Path) else default_path()).parent


@dataclass(frozen=True)
class UserDocuments:
    """The documents of all users; each sees only their own."""

    folder: Path
    max_bytes: int
    """Of the files of one upload together."""
    _places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))
    _adding: Counter[str] = field(default_factory=Counter[str])
    """Corpora of each user that wait or are being made."""

    async def list_for(self, user: str) -> list[UserCorpus]:
        """List a user's corpora, the newest first; empty for none.

        Raises:
            SettingsError: the user has a name that is not taken.
        """
        return await asyncio.to_thread(_listed, self._of_user(user))

    def spec(self, user: str, corpus: str) -> str:
        """Name a corpus as the setting `retriever` takes it.

        Raises:
            SettingsError: the user has no such corpus.
        """
        return f"bm25:{self._checked(user, corpus) / _INDEX}"

    async def delete(self, user: str, corpus: str) -> None:
        """Delete a corpus.

        Raises:
            SettingsError: the user has no such corpus.
        """
        folder = self._checked(user, corpus)
        # From now on it is no corpus any more, whatever becomes of the rest.
        (folder / _ABOUT).unlink()
        close_index(folder / _INDEX)
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def add(
        self, user: str, files: Sequence[Path], name: str = "", *, language: str | None = None
    ) -> AsyncGenerator[IndexingStage | UserCorpus]:
        """Index uploaded files, in a thread; tells how far it is, and gives the corpus at last.

        To stop it, close the generator; nothing is left of it then.

        Args:
            user: whose they are.
            files: where they were put; the last part of each path is shown as its name. They are only read.
            name: what the corpus is to be called; empty: after the files.
            language: of the passages, by ISO code or English name; None: English.

        Raises:
            CorpusError: too much, a file of an unknown format or without text, named, or a full disk.
            SettingsError: the user has a name that is not taken or too many corpora, or the language is unknown.
        """
        of_user = self._of_user(user)
        if len(await self.list_for(user)) + self._adding[user] >= MOST_CORPORA:
            raise SettingsError(f"you have {MOST_CORPORA} corpora of your own; delete one before you add another")
        named_files = named(files, self.max_bytes)
        title = truncate_line(name, _NAME) or _called_after(list(named_files))
        loop, stages, stop = asyncio.get_running_loop(), asyncio.Queue[IndexingStage | None](), Event()

        def tell(stage: IndexingStage | None) -> None:
            with suppress(RuntimeError):  # the loop is gone, and with it whoever listened
                loop.call_soon_threadsafe(stages.put_nowait, stage)

        def work() -> UserCorpus:
            try:
                return _built(of_user, title, named_files, language, _told_to(tell, stop))
            finally:
                tell(None)

        self._adding[user] += 1
        try:
            if self._places.locked():
                yield IndexingStage("waiting")
            async with self._places:
                task = asyncio.create_task(asyncio.to_thread(work))
                try:
                    while (stage := await stages.get()) is not None:
                        yield stage
                    corpus = await task
                finally:
                    stop.set()
                    if not task.done():
                        task.add_done_callback(_forget)
        finally:
            self._adding[user] -= 1
        yield corpus

    def _of_user(self, user: str) -> Path:
        if not USER.fullmatch(user):
            raise SettingsError(f"user {user!r:.80}: this name is not taken")
        # A digest: where upper and lower case are one, users whose names differ in nothing else stay apart.
        return self.folder / blake2b(user.encode(), digest_size=16).hexdigest()

    def _checked(self, user: str, corpus: str) -> Path:
        folder = self._of_user(user) / corpus if _ID.fullmatch(corpus) else None
        if folder is None or not (folder / _ABOUT).is_file():
            raise SettingsError("the chosen documents are not there; they may have been deleted, so choose others")
        return folder


class _StoppedError(Exception):
    """Nobody waits for the corpus any more."""


def _forget(task: "asyncio.Task[UserCorpus]") -> None:
    """Take the error of an upload that nobody waits for."""
    if not task.cancelled():
        task.exception()


def _told_to(tell: Callable[[IndexingStage], None], stop: Event) -> Callable[[IndexingStage], None]:
    """Make what work reports to, which ends it once it is to stop."""

    def report(stage: IndexingStage) -> None:
        if stop.is_set():
            raise _StoppedError
        tell(stage)

    return report


def _called_after(names: Sequence[str]) -> str:
    more = len(names) - 1
    return truncate_line(names[0], _NAME - 20) + (f" and {more:,} more" if more else "")


def _listed(of_user: Path) -> list[UserCorpus]:
    found: list[UserCorpus] = []
    for about in of_user.glob(f"*/{_ABOUT}"):
        with suppress(OSError, ValidationError):  # deleted meanwhile, or nothing of ours
            corpus = _CORPUS.validate_json(about.read_bytes())
            if corpus["id"] == about.parent.name:
                found.append(corpus)
    return sorted(found, key=lambda each: (-each["created"], each["id"]))


def _built(
    of_user: Path, name: str, files: dict[str, Path], language: str | None, report: Callable[[IndexingStage], None]
) -> UserCorpus:
    """Index files into a new folder of the user; on any failure it vanishes."""
    from hopgraph.tools.retrieval import build_index  # loads numpy and the like

    key = uuid.uuid4().hex[:12]
    folder = of_user / key
    stages = {"read": "indexing", "score": "scoring", "save": "saving"}
    try:
        of_user.mkdir(parents=True, exist_ok=True, mode=0o700)
        _sweep(of_user)
        folder.mkdir()
        gathered = folder / _GATHERED
        skipped = gather(files, gathered, lambda done, total: report(IndexingStage("reading", done, total)))
        built = build_index(
            gathered,
            folder / _INDEX,
            format="beir",
            language=language,
            progress=lambda stage, done, total: report(IndexingStage(stages[stage], done, total)),
        )
        gathered.unlink()
        corpus = UserCorpus(
            id=key,
            name=name,
            files=list(files),
            passages=built.passages,
            skipped=skipped.skipped,
            first_skipped=skipped.first_skipped,
            created=time.time(),
        )
        report(IndexingStage("saving"))
        written = folder / f"{_ABOUT}.new"
        written.write_bytes(_CORPUS.dump_json(corpus))
        written.replace(folder / _ABOUT)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise CorpusError(f"the documents cannot be kept: {error.strerror or error}") from None
        if isinstance(error, CorpusError):
            raise CorpusError(sanitize_line(str(error).replace(str(folder / _GATHERED), name))) from None
        raise
    return corpus


def _sweep(of_user: Path) -> None:
    """Remove what uploads left that were killed long ago."""
    for folder in of_user.iterdir():
        if not (folder / _ABOUT).exists() and time.time() - folder.stat().st_mtime > _FORGOTTEN:
            shutil.rmtree(folder, ignore_errors=True)
