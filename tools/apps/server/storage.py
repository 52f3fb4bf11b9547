"""The databases that threads are stored in: SQLite in a file, or PostgreSQL at an address.

Each holds LangGraph's own checkpointer, and adds plain SQL for the tables next to it and locks against other
processes. The tables are not LangGraph's `BaseStore`: its namespaces refuse the periods of e-mail addresses, its
values are JSON where turns are stored compressed, and without a conditional update a rename could restore a thread
that was deleted meanwhile. Every database error, the checkpointer's included, is raised as a `StorageError`.
"""

import asyncio
import hashlib
import math
import re
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple
from typing_extensions import override

from hopgraph.state import HopgraphError, SettingsError
from hopgraph.tools.io.guarded_files import HAS_LOCKS, try_lock
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.io.redact import redact

_MAX_POOL_SIZE = 20
"""Connections to PostgreSQL at most, besides the one that holds the locks."""
_CONNECT_SECONDS = 10
_SETUP_KEY = "hopgraph: tables are created"
"""The lock for creating tables; no thread's key has a space."""
_SETUP_POLL_SECONDS = 0.05
_PASSWORD = re.compile(r"(?i)(://[^/\s:@]*:)[^/\s]+(?=@)|(password=)[^&\s]+")

Row = Sequence[Any]


class StorageError(HopgraphError, RuntimeError):
    """The database of the threads failed; one line, without the password."""


class Database(ABC):
    """An open database with its checkpointer; every method may raise a StorageError."""

    def __init__(self, saver: Any, place: str, error: type[Exception]) -> None:
        """Take over the checkpointer: from now on it raises database errors as a StorageError, too."""
        self.saver: Any = saver
        self._place, self._error = place, error
        for name in ("aget_tuple", "aput", "aput_writes", "adelete_thread", "aprune"):
            setattr(saver, name, self._translated(getattr(saver, name)))
        list_checkpoints = saver.alist

        @wraps(list_checkpoints)
        async def alist(*args: Any, **kwargs: Any) -> AsyncIterator[CheckpointTuple]:
            async with self.translate_errors():
                async for each in list_checkpoints(*args, **kwargs):
                    yield each

        saver.alist = alist

    def _translated(self, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        @wraps(call)  # LangGraph looks at the signature to see what the call takes
        async def translated(*args: Any, **kwargs: Any) -> Any:
            async with self.translate_errors():
                return await call(*args, **kwargs)

        return translated

    @asynccontextmanager
    async def translate_errors(self) -> AsyncGenerator[None]:
        """Raise the database's own errors as a StorageError."""
        try:
            yield
        except self._error as error:
            line = f"threads at {_mask_password(self._place)} cannot be used: {_one_line(error)}"
            raise StorageError(f"{line}; {await self.recover(error)}") from None

    @abstractmethod
    async def recover(self, error: Exception) -> str:
        """Make the database usable again after an error; return what a person can do about it."""

    @abstractmethod
    async def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """Run a statement with `?` for each value; return its rows, none for a statement without any."""

    @asynccontextmanager
    async def setup_lock(self) -> AsyncGenerator[None]:
        """Wait until no other process creates tables: even with `IF NOT EXISTS` one of two at once fails."""
        # Polled: a lock waited for in the server would hold up the indexes that are being created there.
        while True:
            async with self.lock(_SETUP_KEY) as acquired:
                if acquired:
                    yield
                    return
            await asyncio.sleep(_SETUP_POLL_SECONDS)

    @asynccontextmanager
    async def lock(self, key: str) -> AsyncGenerator[bool]:
        """Lock a thread against other processes, until the block, the process or the connection to the server ends.

        Yields False where it is locked already; SQLite, which is for one process at a time, always True.
        """
        yield True

    @abstractmethod
    async def prune(self, key: str, checkpoint: str) -> None:
        """Delete all checkpoints of a thread but its latest, `checkpoint`; its subgraphs' older ones, too."""


class _SqliteDatabase(Database):
    @override
    async def recover(self, error: Exception) -> str:
        # A transaction left open would keep its view of the file, and no later change could be written.
        with suppress(sqlite3.Error, ValueError):
            async with self.saver.lock:
                await self.saver.conn.rollback()
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            return "another process is using the file; end it, or try again"
        return "check the file and its disk"

    @override
    async def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        async with self.translate_errors(), self.saver.lock, self.saver.conn.execute(sql, values) as cursor:
            found = list(await cursor.fetchall())
            await self.saver.conn.commit()
            return found

    @override
    async def prune(self, key: str, checkpoint: str) -> None:
        for table in ("writes", "checkpoints"):
            sql = f"DELETE FROM {table} WHERE thread_id = ? AND checkpoint_id < ?"  # noqa: S608 - the names are ours
            await self.rows(sql, (key, checkpoint))


@asynccontextmanager
async def open_sqlite(path: Path) -> AsyncGenerator[Database]:
    """Open a file that only its owner may read, created if needed; a SettingsError where it cannot be opened."""
    aiosqlite, checkpoints = require("aiosqlite", "chat"), require("langgraph.checkpoint.sqlite.aio", "chat")
    async with AsyncExitStack() as opened:
        try:
            await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True, mode=0o700)
            await asyncio.to_thread(path.touch, mode=0o600)
            lock = opened.enter_context(path.with_name(f"{path.name}.lock").open("ab"))
            if HAS_LOCKS and not try_lock(lock):
                used = f"threads at {path} are in use by another process; end it, or name another file with --threads"
                raise SettingsError(used)
            connection = await opened.enter_async_context(aiosqlite.connect(path))
            saver = checkpoints.AsyncSqliteSaver(connection)
            await saver.setup()  # with a write-ahead log
        except (OSError, aiosqlite.Error) as error:
            raise _cannot_open(str(path), error) from None
        yield _SqliteDatabase(saver, str(path), sqlite3.Error)


class _PostgresDatabase(Database):
    """A server; its locks are advisory locks on one connection, and end with it at the latest."""

    def __init__(self, saver: Any, place: str, error: type[Exception], lock_pool: Any) -> None:
        super().__init__(saver, place, error)
        self._lock_pool, self._locked = lock_pool, set[str]()

    @override
    async def recover(self, error: Exception) -> str:
        return "check whether the server is up, and try again"

    @override
    async def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        async with self.translate_errors(), self.saver.conn.connection() as connection, connection.cursor() as cursor:
            await cursor.execute(sql.replace("?", "%s"), values)
            return [tuple(row.values()) for row in await cursor.fetchall()] if cursor.description else []

    @override
    @asynccontextmanager
    async def lock(self, key: str) -> AsyncGenerator[bool]:
        if key in self._locked:  # the server would grant it to the same connection again
            yield False
            return
        self._locked.add(key)
        acquired = True  # also where the call fails: the server may have granted it
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
    async def prune(self, key: str, checkpoint: str) -> None:
        await self.saver.aprune([key], strategy="keep_latest")


@asynccontextmanager
async def open_postgres(address: str) -> AsyncGenerator[Database]:
    """Connect to a server with a pool, which outlives its restart; a SettingsError without the password if it fails."""
    psycopg, pools = require("psycopg", "postgres"), require("psycopg_pool", "postgres")
    checkpoints = require("langgraph.checkpoint.postgres.aio", "postgres")
    common = {"check": pools.AsyncConnectionPool.check_connection, "timeout": _CONNECT_SECONDS, "open": False}
    parameters = {"autocommit": True, "prepare_threshold": 0, "row_factory": psycopg.rows.dict_row}
    pool = pools.AsyncConnectionPool(address, min_size=1, max_size=_MAX_POOL_SIZE, kwargs=parameters, **common)
    # One connection for good: a lock ends with the connection that holds it.
    lock_pool = pools.AsyncConnectionPool(
        address, min_size=1, max_size=1, max_lifetime=math.inf, kwargs={"autocommit": True}, **common
    )
    async with AsyncExitStack() as opened:
        try:
            # First, so that a wrong address is reported at once; the pools would try it again and again.
            await (await psycopg.AsyncConnection.connect(address, connect_timeout=_CONNECT_SECONDS)).close()
            for each in (pool, lock_pool):
                await opened.enter_async_context(each)
            saver = checkpoints.AsyncPostgresSaver(pool)
            database = _PostgresDatabase(saver, address, psycopg.Error, lock_pool)
            async with database.setup_lock():
                await saver.setup()
        except psycopg.Error as error:
            raise _cannot_open(address, error) from None
        yield database


def _cannot_open(place: str, error: Exception) -> SettingsError:
    return SettingsError(f"threads at {_mask_password(place)} cannot be opened: {_one_line(error)}")


def _one_line(error: Exception) -> str:
    return _mask_password(" ".join(str(error).split()) or type(error).__name__)


def _mask_password(text: str) -> str:
    return redact(_PASSWORD.sub(lambda found: f"{found[1] or found[2]}[key]", text))
