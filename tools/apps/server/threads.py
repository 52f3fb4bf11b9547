"""Storage of chat threads, their owners and titles.

A thread belongs to a user. LangGraph's checkpointer knows it as `USER:THREAD`; neither part can contain a colon, so
that no user can name another's thread.

The default is SQLite, in one file, for one process at a time: two processes could answer on the same thread, and lose
one of the questions. PostgreSQL allows several processes: `Threads.lock` reserves a thread for one.

Titles are in a table next to the checkpoints, in plain SQL. LangGraph's `BaseStore` is not used: its namespaces do not
allow the periods of e-mail addresses, its values are JSON, while turns are stored compressed, and without a conditional
update a rename could restore a thread that was deleted meanwhile.
"""

import asyncio
import hashlib
import math
import re
import sqlite3
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.constants import START
from typing_extensions import TypedDict, override

from hopgraph.state import HopgraphError, SettingsError
from hopgraph.tools.apps.server.caller_settings import read_limit
from hopgraph.tools.io.guarded_files import HAS_LOCKS, try_lock
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.io.redact import redact
from hopgraph.tools.io.user_folders import user_folder

USER = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9@_+-]|\.(?!\.)){0,99}")
"""A user's name or e-mail address; no slashes, colons or double dots."""
_THREAD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
MAX_TITLE = 200  # characters

_TABLE = """CREATE TABLE IF NOT EXISTS hopgraph_threads (
    owner TEXT NOT NULL, thread TEXT NOT NULL, title TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL, changed DOUBLE PRECISION NOT NULL, PRIMARY KEY (owner, thread))"""
_TURNS_TABLE = """CREATE TABLE IF NOT EXISTS hopgraph_turns (
    owner TEXT NOT NULL, thread TEXT NOT NULL, turn TEXT NOT NULL, kept BYTEA NOT NULL,
    PRIMARY KEY (owner, thread, turn))"""
_DOCUMENTS_TABLE = """CREATE TABLE IF NOT EXISTS hopgraph_thread_documents (
    owner TEXT NOT NULL, thread TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (owner, thread, name))"""
_BYTES = """SELECT COALESCE(SUM({size}), 0) FROM {table} WHERE thread_id IN
    (SELECT owner || ':' || thread FROM hopgraph_threads WHERE owner = ?)"""

_MAX_POOL_SIZE = 20  # not counting the connection that holds the locks
_CONNECT_SECONDS, _SETUP_POLL_SECONDS = 10, 0.05
_SETUP_KEY = "hopgraph: tables are created"  # differs from thread keys, which have no spaces
_PASSWORD = re.compile(r"(?i)(://[^/\s:@]*:)[^/\s]+(?=@)|(password=)[^&\s]+")

ThreadRow = Sequence[Any]


class StorageError(HopgraphError, RuntimeError):
    """The threads' database failed; the message has one line, without the password."""


class NoRoomError(StorageError):
    """A user has reached the storage limit, or the disk is full; stored data can still be read."""


class Thread(TypedDict):
    """One conversation of one user."""

    id: str
    title: str  # may be empty
    changed: float  # when it was last created, renamed or asked in, in seconds since the epoch


class Threads(ABC):
    """The threads of all users in an open database, and the checkpointer with their messages.

    Every method may raise a `StorageError`, and a `SettingsError` for a malformed user or thread id.
    """

    sizes: ClassVar[Mapping[str, str]]
    """The checkpointer's tables → the size of a row in bytes, in SQL."""

    def __init__(self, saver: Any, place: str, error: type[Exception]) -> None:
        """Wrap the checkpointer, so that it raises database errors as a StorageError, too."""
        self.saver = saver
        self._place, self._error = place, error
        for name in ("aget_tuple", "aput", "aput_writes", "adelete_thread", "aprune"):
            # With the same signature, which LangGraph inspects.
            setattr(saver, name, self.translate_errors()(getattr(saver, name)))
        list_checkpoints = saver.alist

        @wraps(list_checkpoints)
        async def alist(*args: Any, **kwargs: Any) -> AsyncIterator[CheckpointTuple]:
            async with self.translate_errors():
                async for each in list_checkpoints(*args, **kwargs):
                    yield each

        saver.alist = alist

    @asynccontextmanager
    async def translate_errors(self) -> AsyncGenerator[None]:
        """Raise the database's own errors as a StorageError."""
        try:
            yield
        except self._error as error:
            advice = await self.recover(error)
            if self.is_full(error):
                raise NoRoomError("the disk with the threads is full; they can be read, but not continued") from None
            line = f"threads at {_mask_password(self._place)} cannot be used: {_one_line(error)}"
            raise StorageError(f"{line}; {advice}") from None

    @abstractmethod
    async def recover(self, error: Exception) -> str:
        """Make the database usable again after an error; return advice for the user."""

    @abstractmethod
    def is_full(self, error: Exception) -> bool:
        """Return whether a database error means that there is no space left."""

    @abstractmethod
    async def rows(self, sql: str, values: Sequence[object] = ()) -> list[ThreadRow]:
        """Run a statement with `?` for each value; return its rows, if any."""

    async def create_table(self, sql: str) -> None:
        """Run a `CREATE TABLE IF NOT EXISTS`."""
        async with self.setup_lock():
            await self.rows(sql)

    @asynccontextmanager
    async def setup_lock(self) -> AsyncGenerator[None]:
        """Wait until no other process creates tables: with two at once, one fails even with `IF NOT EXISTS`."""
        # Polled, as waiting for the lock in the server would block the creation of indexes there.
        while True:
            async with self.lock_key(_SETUP_KEY) as acquired:
                if acquired:
                    yield
                    return
            await asyncio.sleep(_SETUP_POLL_SECONDS)

    @asynccontextmanager
    async def lock_key(self, key: str) -> AsyncGenerator[bool]:
        """Lock a key against other processes until the block, the process or the connection ends.

        Yields False if it is locked already. SQLite, which is for one process, always yields True.
        """
        yield True

    @abstractmethod
    async def drop_checkpoints(self, key: str, checkpoint: str) -> None:
        """Delete the checkpoints of a thread and its subgraphs that are older than its latest, `checkpoint`."""

    def config(self, user: str, thread: str) -> RunnableConfig:
        """Return the config to run the chat on a thread, which need not exist yet."""
        return {"configurable": {"thread_id": thread_key(user, thread)}}

    def lock(self, user: str, thread: str) -> AbstractAsyncContextManager[bool]:
        """Lock a thread against turns in other processes, as `lock_key` does."""
        return self.lock_key(thread_key(user, thread))

    async def create(self, user: str, title: str = "", *, thread: str | None = None) -> str:
        """Create a thread and return its id; an existing one only moves to the top of the list."""
        thread = thread or uuid.uuid4().hex
        _check_names(user, thread)
        now = time.time()
        await self.rows(
            "INSERT INTO hopgraph_threads VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (owner, thread) DO UPDATE SET changed = excluded.changed",
            (user, thread, _clean_title(title), now, now),
        )
        return thread

    async def check_room(self, user: str, thread: str) -> None:
        """Raise a NoRoomError if the thread would be one too many, or the user's threads are at the byte limit."""
        _check_names(user, thread)
        others = "SELECT COUNT(*) FROM hopgraph_threads WHERE owner = ? AND thread <> ?"
        most = read_limit("HOPGRAPH_THREADS_PER_USER")
        if (await self.rows(others, (user, thread)))[0][0] >= most:
            raise NoRoomError(f"you have {most:,} conversations, which is the limit; delete some on the page")
        used = (await self.rows("SELECT COALESCE(SUM(LENGTH(kept)), 0) FROM hopgraph_turns WHERE owner = ?", (user,)))[
            0
        ][0]
        for table, size in self.sizes.items():
            used += (await self.rows(_BYTES.format(table=table, size=size), (user,)))[0][0]
        if used >= (most := read_limit("HOPGRAPH_THREAD_BYTES")):
            raise NoRoomError(f"your conversations use {used:,} of {most:,} bytes; delete some on the page")

    async def list_for(self, user: str) -> list[Thread]:
        """Return the user's threads, last changed first."""
        _check_names(user)
        sql = "SELECT thread, title, changed FROM hopgraph_threads WHERE owner = ? ORDER BY changed DESC, thread"
        rows = await self.rows(sql, (user,))
        return [Thread(id=row[0], title=row[1], changed=row[2]) for row in rows]

    async def list_old(self, before: float) -> list[tuple[str, str]]:
        """Return (user, thread id) of all threads that were last changed before a time."""
        rows = await self.rows("SELECT owner, thread FROM hopgraph_threads WHERE changed < ?", (before,))
        return [(str(row[0]), str(row[1])) for row in rows]

    async def is_older(self, user: str, thread: str, before: float) -> bool:
        """Return whether a thread exists and was last changed before a time."""
        sql = "SELECT 1 FROM hopgraph_threads WHERE owner = ? AND thread = ? AND changed < ?"
        return bool(await self.rows(sql, (user, thread, before)))

    async def rename(self, user: str, thread: str, title: str) -> None:
        """Rename a thread; a SettingsError if the user has no such thread."""
        _check_names(user, thread)
        found = await self.rows(
            "UPDATE hopgraph_threads SET title = ?, changed = ? WHERE owner = ? AND thread = ? RETURNING thread",
            (_clean_title(title), time.time(), user, thread),
        )
        if not found:
            raise SettingsError(f"thread {thread!r} is unknown; it may have been deleted")

    async def delete(self, user: str, thread: str) -> None:
        """Delete a thread, its messages and its turns, if it exists."""
        await self.saver.adelete_thread(thread_key(user, thread))
        for table in ("hopgraph_turns", "hopgraph_thread_documents", "hopgraph_threads"):
            await self.rows(f"DELETE FROM {table} WHERE owner = ? AND thread = ?", (user, thread))  # noqa: S608 - ours

    async def note_documents(self, user: str, thread: str, names: Sequence[str]) -> None:
        """Remember which document sets a thread's questions searched."""
        for name in names:
            row = "INSERT INTO hopgraph_thread_documents VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
            await self.rows(row, (user, thread, name))

    async def documents_of(self, user: str, thread: str) -> set[str]:
        """Return the names of all document sets that a thread's questions searched."""
        sql = "SELECT name FROM hopgraph_thread_documents WHERE owner = ? AND thread = ?"
        return {str(row[0]) for row in await self.rows(sql, (user, thread))}

    async def prune(self, user: str, thread: str) -> None:
        """Delete a thread's checkpoints except the latest, which has its messages and the last turn.

        The checkpoints of a turn take about a megabyte. An interrupted turn keeps them, to resume from.
        """
        key = thread_key(user, thread)
        latest = await self.saver.aget_tuple({"configurable": {"thread_id": key}})
        if latest is None:
            return
        channels = latest.checkpoint["channel_values"]
        if not any(name == START or name.startswith("branch:") for name in channels):  # no node is pending
            await self.drop_checkpoints(key, latest.checkpoint["id"])


class _SqliteThreads(Threads):
    sizes: ClassVar[Mapping[str, str]] = {
        "checkpoints": "LENGTH(checkpoint) + LENGTH(metadata)",
        "writes": "LENGTH(value)",
    }

    def __init__(self, saver: Any, place: str, error: type[Exception], connection: Any) -> None:
        super().__init__(saver, place, error)
        self._connection = connection

    @override
    async def recover(self, error: Exception) -> str:
        # An open transaction would keep its snapshot of the file, and later writes would fail.
        with suppress(sqlite3.Error, ValueError):
            async with self.saver.lock:
                await self._connection.rollback()
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            return "another process is using the file; stop it, or try again"
        return "check the file and its disk"

    @override
    def is_full(self, error: Exception) -> bool:
        return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL

    @override
    async def rows(self, sql: str, values: Sequence[object] = ()) -> list[ThreadRow]:
        async with self.translate_errors(), self.saver.lock, self._connection.execute(sql, values) as cursor:
            found = list(await cursor.fetchall())
            await self._connection.commit()
            return found

    @override
    async def drop_checkpoints(self, key: str, checkpoint: str) -> None:
        for table in ("writes", "checkpoints"):
            sql = f"DELETE FROM {table} WHERE thread_id = ? AND checkpoint_id < ?"  # noqa: S608 - the names are ours
            await self.rows(sql, (key, checkpoint))


@asynccontextmanager
async def open_sqlite(path: Path) -> AsyncGenerator[Threads]:
    """Open a file, created if needed and readable only by its owner; a SettingsError if that fails."""
    aiosqlite, checkpoints = require("aiosqlite", "chat"), require("langgraph.checkpoint.sqlite.aio", "chat")
    async with AsyncExitStack() as opened:
        try:
            await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True, mode=0o700)
            await asyncio.to_thread(path.touch, mode=0o600)
            lock = opened.enter_context(path.with_name(f"{path.name}.lock").open("ab"))
            if HAS_LOCKS and not try_lock(lock):
                why = "are in use by another process; stop it, or name another file"
                raise SettingsError(f"threads at {path} {why}")
            connection = await opened.enter_async_context(aiosqlite.connect(path))
            saver = checkpoints.AsyncSqliteSaver(connection)
            await saver.setup()  # with a write-ahead log
        except (OSError, aiosqlite.Error) as error:
            raise _cannot_open(str(path), error) from None
        yield _SqliteThreads(saver, str(path), sqlite3.Error, connection)


class _PostgresThreads(Threads):
    sizes: ClassVar[Mapping[str, str]] = {
        "checkpoints": "pg_column_size(checkpoint) + pg_column_size(metadata)",
        **dict.fromkeys(("checkpoint_blobs", "checkpoint_writes"), "pg_column_size(blob)"),
    }

    def __init__(self, saver: Any, place: str, error: type[Exception], pool: Any, lock_pool: Any) -> None:
        super().__init__(saver, place, error)
        self._pool, self._lock_pool, self._locked = pool, lock_pool, set[str]()

    @override
    async def recover(self, error: Exception) -> str:
        return "check whether the server is up, and try again"

    @override
    def is_full(self, error: Exception) -> bool:
        return getattr(error, "sqlstate", "") == "53100"

    @override
    async def rows(self, sql: str, values: Sequence[object] = ()) -> list[ThreadRow]:
        async with self.translate_errors(), self._pool.connection() as connection, connection.cursor() as cursor:
            await cursor.execute(sql.replace("?", "%s"), values)
            return [tuple(row.values()) for row in await cursor.fetchall()] if cursor.description else []

    @override
    @asynccontextmanager
    async def lock_key(self, key: str) -> AsyncGenerator[bool]:
        if key in self._locked:  # the server would grant the same connection the lock again
            yield False
            return
        self._locked.add(key)
        acquired = True  # even if the call fails, as the server may have granted it
        try:
            async with self.translate_errors():
                acquired = await self._call_lock_function("pg_try_advisory_lock", key)
            yield acquired
        finally:
            self._locked.discard(key)
            if acquired:
                with suppress(self._error):
                    await self._call_lock_function("pg_advisory_unlock", key)

    async def _call_lock_function(self, function: str, key: str) -> bool:
        digest = hashlib.blake2b(key.encode(), digest_size=8, person=b"hopgraph").digest()
        async with self._lock_pool.connection() as connection:
            cursor = await connection.execute(f"SELECT {function}(%s::bigint)", (int.from_bytes(digest, signed=True),))
            return bool((await cursor.fetchone())[0])

    @override
    async def drop_checkpoints(self, key: str, checkpoint: str) -> None:
        await self.saver.aprune([key], strategy="keep_latest")


@asynccontextmanager
async def open_postgres(address: str) -> AsyncGenerator[Threads]:
    """Connect with a pool, which survives server restarts; a SettingsError, without the password, if that fails."""
    psycopg, pools = require("psycopg", "postgres"), require("psycopg_pool", "postgres")
    checkpoints = require("langgraph.checkpoint.postgres.aio", "postgres")
    common = {"check": pools.AsyncConnectionPool.check_connection, "timeout": _CONNECT_SECONDS, "open": False}
    parameters = {"autocommit": True, "prepare_threshold": 0, "row_factory": psycopg.rows.dict_row}
    pool = pools.AsyncConnectionPool(address, min_size=1, max_size=_MAX_POOL_SIZE, kwargs=parameters, **common)
    # One permanent connection, because an advisory lock ends with its connection.
    lock_pool = pools.AsyncConnectionPool(
        address, min_size=1, max_size=1, max_lifetime=math.inf, kwargs={"autocommit": True}, **common
    )
    async with AsyncExitStack() as opened:
        try:
            # First, so that a wrong address is reported at once; the pools would keep retrying.
            await (await psycopg.AsyncConnection.connect(address, connect_timeout=_CONNECT_SECONDS)).close()
            for each in (pool, lock_pool):
                await opened.enter_async_context(each)
            saver = checkpoints.AsyncPostgresSaver(pool)
            threads = _PostgresThreads(saver, address, psycopg.Error, pool, lock_pool)
            async with threads.setup_lock():
                await saver.setup()
        except psycopg.Error as error:
            raise _cannot_open(address, error) from None
        yield threads


def _cannot_open(place: str, error: Exception) -> SettingsError:
    return SettingsError(f"threads at {_mask_password(place)} cannot be opened: {_one_line(error)}")


def _one_line(error: Exception) -> str:
    return _mask_password(" ".join(str(error).split()) or type(error).__name__)


def _mask_password(text: str) -> str:
    return redact(_PASSWORD.sub(lambda found: f"{found[1] or found[2]}[key]", text))


def thread_key(user: str, thread: str) -> str:
    """Return the checkpointer's id of a user's thread; a SettingsError for a malformed name."""
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
    """Return the default file for threads, in the user's data folder."""
    return user_folder("data") / "threads.sqlite"


@asynccontextmanager
async def open_threads(place: str | Path | None = None) -> AsyncGenerator[Threads]:
    """Open the threads in an SQLite file (default: `default_path`), or at `postgresql://USER@HOST:PORT/DATABASE`.

    A SettingsError, without the password, if a package is missing or the place cannot be opened; a StorageError if the
    tables cannot be created.
    """
    at_address = isinstance(place, str) and re.match(r"postgres(?:ql)?://", place)
    opened = open_postgres(str(place)) if at_address else open_sqlite(Path(place or default_path()))
    async with opened as threads:
        await threads.create_table(_TABLE)
        await threads.create_table(_TURNS_TABLE)
        await threads.create_table(_DOCUMENTS_TABLE)
        yield threads
