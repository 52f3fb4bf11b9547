"""Chat threads: where they are stored, whose they are, and their titles.

A thread belongs to a user. LangGraph's checkpointer knows it as `USER:THREAD`; neither part can hold a colon, so
that no user can name another's thread. Titles are in a table next to the checkpoints.

SQLite by default, in one file with a write-ahead log, for one process at a time: a second one on the same file could
answer on a thread that the first is answering on, and one of the two questions would be lost. PostgreSQL by its
address, for several processes: `Threads.lock` reserves a thread for one of them while it answers. Either survives
the end of the process: what was checkpointed before it was killed is there.
"""

import os
import re
import sys
import time
import uuid
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.constants import START
from typing_extensions import TypedDict

from hopgraph.state import SettingsError
from hopgraph.tools.apps.server.storage import Database, open_postgres, open_sqlite

USER = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9@_+-]|\.(?!\.)){0,99}")
"""A user's name or address; no slash, no colon, no two dots."""
_THREAD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
MAX_TITLE = 200
"""Characters of a title; a longer one is cut."""

_TABLE = """CREATE TABLE IF NOT EXISTS hopgraph_threads (
    owner TEXT NOT NULL, thread TEXT NOT NULL, title TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL, changed DOUBLE PRECISION NOT NULL, PRIMARY KEY (owner, thread))"""


class Thread(TypedDict):
    """One conversation of one user."""

    id: str
    title: str
    """May be empty."""
    changed: float
    """When it was created, renamed or asked in last, in seconds since the epoch."""


@dataclass(frozen=True)
class Threads:
    """The threads of all users, and the checkpointer that holds their messages.

    Every method raises a `SettingsError` for a malformed user or thread id, and may raise a `StorageError`.
    """

    database: Database

    @property
    def saver(self) -> BaseCheckpointSaver[Any]:
        """The checkpointer that a chat is compiled with."""
        return self.database.saver

    def config(self, user: str, thread: str) -> RunnableConfig:
        """Return the config with which the chat runs on a thread; it need not have been created here."""
        return {"configurable": {"thread_id": thread_key(user, thread)}}

    def lock(self, user: str, thread: str) -> AbstractAsyncContextManager[bool]:
        """Lock a thread, while a turn runs on it, as `Database.lock` does; other processes may use the same one."""
        return self.database.lock(thread_key(user, thread))

    async def create(self, user: str, title: str = "", *, thread: str | None = None) -> str:
        """Create a thread and return its id; one that the user has already only comes first in the list."""
        thread = thread or uuid.uuid4().hex
        _check_names(user, thread)
        clean, now = _clean_title(title), time.time()
        await self.database.rows(
            "INSERT INTO hopgraph_threads VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (owner, thread) DO UPDATE SET changed = excluded.changed",
            (user, thread, clean, now, now),
        )
        return thread

    async def list_for(self, user: str) -> list[Thread]:
        """Return the user's threads, the last changed one first; empty for none."""
        _check_names(user)
        rows = await self.database.rows(
            "SELECT thread, title, changed FROM hopgraph_threads WHERE owner = ? ORDER BY changed DESC, thread",
            (user,),
        )
        return [Thread(id=row[0], title=row[1], changed=row[2]) for row in rows]

    async def rename(self, user: str, thread: str, title: str) -> None:
        """Give a thread another title; a SettingsError where the user has no such thread."""
        _check_names(user, thread)
        found = await self.database.rows(
            "UPDATE hopgraph_threads SET title = ?, changed = ? WHERE owner = ? AND thread = ? RETURNING thread",
            (_clean_title(title), time.time(), user, thread),
        )
        if not found:
            raise SettingsError(f"thread {thread!r} is unknown; it may have been deleted")

    async def delete(self, user: str, thread: str) -> None:
        """Delete a thread and its messages; nothing happens if there is none."""
        await self.saver.adelete_thread(thread_key(user, thread))
        await self.database.rows("DELETE FROM hopgraph_threads WHERE owner = ? AND thread = ?", (user, thread))

    async def prune(self, user: str, thread: str) -> None:
        """Delete the checkpoints of a thread but the latest, which has its messages and the last turn.

        Those of a turn take about a megabyte. Nothing happens while one is interrupted: it resumes from them.
        """
        key = thread_key(user, thread)
        latest = await self.saver.aget_tuple({"configurable": {"thread_id": key}})
        if latest is None:
            return
        channels = latest.checkpoint["channel_values"]
        if not any(name == START or name.startswith("branch:") for name in channels):  # no node is still to run
            await self.database.prune(key, latest.checkpoint["id"])


def thread_key(user: str, thread: str) -> str:
    """Return the id under which the checkpointer knows a user's thread; a SettingsError for a malformed name."""
    _check_names(user, thread)
    return f"{user}:{thread}"


def _check_names(user: str, thread: str | None = None) -> None:
    if not USER.fullmatch(user):
        allowed = "up to 100 letters, digits and . _ - + @, a letter or digit first"
        raise SettingsError(f"user {user!r:.80} is malformed; use {allowed}")
    if thread is not None and not _THREAD.fullmatch(thread):
        allowed = "up to 64 letters, digits, - and _, a letter or digit first"
        raise SettingsError(f"thread {thread!r:.80} is malformed; use {allowed}")


def _clean_title(text: str) -> str:
    return " ".join(text.replace("\0", "").split())[:MAX_TITLE]


def default_path() -> Path:
    """Return the file that threads are stored in when no place is named: in the user's data folder."""
    if sys.platform == "darwin":
        data = Path.home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        data = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return data / "hopgraph" / "threads.sqlite"


@asynccontextmanager
async def open_threads(place: str | Path | None = None) -> AsyncGenerator[Threads]:
    """Open the threads at a file for SQLite, by default `default_path`, or at `postgresql://USER@HOST:PORT/DATABASE`.

    Raises:
        SettingsError: a package is missing, or the place cannot be opened; one line, without the password.
        StorageError: it was opened, and failed when its table was created.
    """
    at_address = isinstance(place, str) and re.match(r"postgres(?:ql)?://", place)
    opened = open_postgres(str(place)) if at_address else open_sqlite(Path(place or default_path()))
    async with opened as database:
        async with database.setup_lock():
            await database.rows(_TABLE)
        yield Threads(database)
