"""Chat threads: where they are kept, whose they are, and what they are called.

A thread belongs to a user. LangGraph's checkpointer knows it as `USER:THREAD`; neither part can hold a colon, so
that no user can name another's thread. Titles are kept in a table beside the checkpoints.

SQLite by default, in one file with a write-ahead log, for one process at a time: a second one on the same file could
answer on a thread that the first is answering on, and of two questions one would be lost. PostgreSQL by its address,
for several processes: `Threads.held` keeps a thread for one of them while it answers. Either survives the end of the
process: what was checkpointed before it was killed is there.
"""

import os
import re
import sys
import time
import uuid
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.constants import START
from typing_extensions import TypedDict

from hopgraph.state import SettingsError
from hopgraph.tools.apps.server.databases import Database, open_postgres, open_sqlite

USER = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9@_+-]|\.(?!\.)){0,99}")
"""A user's name or address; no slash, no colon, no two dots."""
THREAD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""A thread's id."""
MAX_TITLE = 200
"""Characters of a title; what is longer is cut."""

_TABLE = """CREATE TABLE IF NOT EXISTS hopgraph_threads (
    owner TEXT NOT NULL, thread TEXT NOT NULL, title TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL, changed DOUBLE PRECISION NOT NULL, PRIMARY KEY (owner, thread))"""


class Thread(TypedDict):
    """One conversation of one user."""

    id: str
    """Unique among the user's."""
    title: str
    """May be empty."""
    created: float
    """Seconds since the epoch."""
    changed: float
    """When it was created, renamed or `touch`ed last."""


@dataclass(frozen=True)
class Threads:
    """The threads of all users, and the checkpointer that holds what was said in them.

    Whatever asks the database may raise a `StorageError`.
    """

    database: Database

    @property
    def saver(self) -> BaseCheckpointSaver[Any]:
        """The checkpointer that a chat is compiled with."""
        return self.database.saver

    def config(self, user: str, thread: str) -> RunnableConfig:
        """Make the config with which the chat runs on a thread; it need not have been created here.

        Raises:
            SettingsError: the user or the thread has a name that is not taken.
        """
        return {"configurable": {"thread_id": thread_key(user, thread)}}

    def held(self, user: str, thread: str) -> AbstractAsyncContextManager[bool]:
        """Hold a thread while a turn of it runs, against other processes that keep theirs in the same PostgreSQL.

        It is let go with the block, with the process, or when the connection to the server is lost.

        Returns:
            Gives False where it is held already; with SQLite, which one process uses at a time, always True.

        Raises:
            SettingsError: the user or the thread has a name that is not taken.
        """
        return self.database.held(thread_key(user, thread))

    async def create(self, user: str, title: str = "", *, thread: str | None = None) -> str:
        """Begin a thread and return its id; with an id that the user has already nothing changes.

        Raises:
            SettingsError: the user or the thread has a name that is not taken.
        """
        thread = thread or uuid.uuid4().hex
        _checked(user, thread)
        now = time.time()
        await self.database.rows(
            "INSERT INTO hopgraph_threads VALUES (?, ?, ?, ?, ?) ON CONFLICT (owner, thread) DO NOTHING",
            (user, thread, _title(title), now, now),
        )
        return thread

    async def of(self, user: str) -> list[Thread]:
        """List the user's threads, the last changed one first; empty for none.

        Raises:
            SettingsError: the user has a name that is not taken.
        """
        _checked(user)
        rows = await self.database.rows(
            "SELECT thread, title, created, changed FROM hopgraph_threads WHERE owner = ? "
            "ORDER BY changed DESC, thread",
            (user,),
        )
        return [Thread(id=row[0], title=row[1], created=row[2], changed=row[3]) for row in rows]

    async def rename(self, user: str, thread: str, title: str) -> None:
        """Give a thread another title.

        Raises:
            SettingsError: the user has no such thread.
        """
        await self._update(user, thread, "title = ?, changed = ?", (_title(title), time.time()))

    async def touch(self, user: str, thread: str) -> None:
        """Put a thread first in the user's list.

        Raises:
            SettingsError: the user has no such thread.
        """
        await self._update(user, thread, "changed = ?", (time.time(),))

    async def delete(self, user: str, thread: str) -> None:
        """Delete a thread and all that was said in it; nothing happens if there is none.

        Raises:
            SettingsError: the user or the thread has a name that is not taken.
        """
        key = thread_key(user, thread)
        await self.saver.adelete_thread(key)
        await self.database.rows("DELETE FROM hopgraph_threads WHERE owner = ? AND thread = ?", (user, thread))

    async def tidy(self, user: str, thread: str) -> None:
        """Keep of a thread what was said and the last turn, and drop the steps that led there.

        They are what a turn that was broken off goes on from, about a megabyte for each turn; afterwards no earlier
        step can be looked at or run again. Nothing happens while a turn is under way or broken off.

        Raises:
            SettingsError: the user or the thread has a name that is not taken.
        """
        key = thread_key(user, thread)
        last = await self.saver.aget_tuple({"configurable": {"thread_id": key}})
        waiting = last and any(
            name == START or name.startswith("branch:") for name in last.checkpoint["channel_values"]
        )
        if last and not waiting:
            await self.database.drop_before(key, last.checkpoint["id"])

    async def _update(self, user: str, thread: str, change: str, values: Sequence[object]) -> None:
        _checked(user, thread)
        found = await self.database.rows(
            f"UPDATE hopgraph_threads SET {change} WHERE owner = ? AND thread = ? RETURNING thread",  # noqa: S608 - `change` is ours
            (*values, user, thread),
        )
        if not found:
            raise SettingsError(f"thread {thread!r} is unknown; it may have been deleted")


def thread_key(user: str, thread: str) -> str:
    """Make the id under which the checkpointer knows a user's thread.

    Raises:
        SettingsError: the user or the thread has a name that is not taken.
    """
    _checked(user, thread)
    return f"{user}:{thread}"


def _checked(user: str, thread: str | None = None) -> None:
    if not USER.fullmatch(user):
        raise SettingsError(
            f"user {user!r:.80}: 1 to 100 letters, digits and . _ - + @ are taken, beginning with a letter or digit"
        )
    if thread is not None and not THREAD.fullmatch(thread):
        raise SettingsError(
            f"thread {thread!r:.80}: 1 to 64 letters, digits, - and _ are taken, beginning with a letter or digit"
        )


def _title(text: str) -> str:
    return " ".join(text.replace("\0", "").split())[:MAX_TITLE]


def default_path() -> Path:
    """Find the file that threads are kept in when no place is named: in the user's data folder."""
    if sys.platform == "darwin":
        data = Path.home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        data = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return data / "hopgraph" / "threads.sqlite"


@asynccontextmanager
async def open_threads(place: str | Path | None = None) -> AsyncGenerator[Threads]:
    """Open the threads kept at a place, and make it ready if it is new.

    Args:
        place: A file for SQLite, or an address `postgresql://USER@HOST:PORT/DATABASE`; none: `default_path`.

    Raises:
        SettingsError: a package is missing, or the place cannot be opened; one line, without the password.
        StorageError: it was opened, and failed when its table was made.
    """
    at_address = isinstance(place, str) and re.match(r"postgres(?:ql)?://", place)
    opened = open_postgres(str(place)) if at_address else open_sqlite(Path(place or default_path()))
    async with opened as database:
        await database.make_table(_TABLE)
        yield Threads(database)
