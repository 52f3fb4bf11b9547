"""The databases that checkpoints are kept in: SQLite in a file, PostgreSQL at an address.

Each is LangGraph's own checkpointer with some things added: plain statements, dropping the checkpoints that a
finished thread no longer needs, and locks against other processes. Whatever the database raises, the checkpointer's
errors too, comes out as a `StorageError`.
"""

import asyncio
import hashlib
import re
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from typing_extensions import override

from hopgraph.state import HopgraphError, SettingsError
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.io.redact import redact

_POOL = 20
"""Connections to PostgreSQL at most."""
_CONNECT_SECONDS = 10
_SET_UP = "hopgraph: tables are made"
"""What is locked while they are; no thread's key has a space."""
_SET_UP_PAUSE = 0.05
_PASSWORD = re.compile(r"(?i)(://[^/\s:@]*:)[^/\s]+(?=@)|(password=)[^&\s]+")

Row = Sequence[Any]


class StorageError(HopgraphError, RuntimeError):
    """The database of the threads failed; one line, without the password."""


class Database(Protocol):
    """An open database with a checkpointer; everything may raise a StorageError."""

    @property
    def saver(self) -> BaseCheckpointSaver[Any]:
        """The checkpointer."""
        ...

    async def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """Run a statement with `?` for each value, and give its rows; none for a statement without any."""
        ...

    async def make_table(self, sql: str) -> None:
        """Run a `CREATE TABLE IF NOT EXISTS`; processes that do so at once wait for each other."""
        ...

    def held(self, key: str) -> AbstractAsyncContextManager[bool]:
        """Hold a thread against other processes, as far as the database can.

        Yields:
            False where it is held already. SQLite knows nothing of other processes: always True.
        """
        ...

    async def drop_before(self, key: str, checkpoint: str) -> None:
        """Drop all checkpoints of a thread, its subgraphs' too, that are older than one of its own."""
        ...


class _Telling(BaseCheckpointSaver[Any]):
    """Goes before a checkpointer's own class, so that what its database raises comes out as a StorageError."""

    failures: Callable[[], AbstractAsyncContextManager[None]]

    @override
    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        async with self.failures():
            return await super().aget_tuple(config)

    @override
    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        async with self.failures():
            async for each in super().alist(config, filter=filter, before=before, limit=limit):
                yield each

    @override
    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        async with self.failures():
            return await super().aput(config, checkpoint, metadata, new_versions)

    @override
    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        async with self.failures():
            await super().aput_writes(config, writes, task_id, task_path)

    @override
    async def adelete_thread(self, thread_id: str) -> None:
        async with self.failures():
            await super().adelete_thread(thread_id)


def _telling(saver: type[Any]) -> type[Any]:
    return type(saver.__name__, (_Telling, saver), {})


@dataclass(frozen=True)
class _Sqlite:
    saver: Any
    path: Path

    @asynccontextmanager
    async def failures(self) -> AsyncGenerator[None]:
        try:
            yield
        except sqlite3.Error as error:
            # What was begun would hold its view of the file, and with it no later change could be written.
            with suppress(sqlite3.Error, ValueError):
                async with self.saver.lock:
                    await self.saver.conn.rollback()
            busy = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
            todo = "another process is using the file; end it, or try again" if busy else "see to the file and its disk"
            raise _failed(str(self.path), error, todo) from None

    async def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        async with self.failures(), self.saver.lock, self.saver.conn.execute(sql, values) as cursor:
            found = list(await cursor.fetchall())
            await self.saver.conn.commit()
            return found

    async def make_table(self, sql: str) -> None:
        await self.rows(sql)

    @asynccontextmanager
    async def held(self, key: str) -> AsyncGenerator[bool]:
        yield True

    async def drop_before(self, key: str, checkpoint: str) -> None:
        for table in ("writes", "checkpoints"):
            sql = f"DELETE FROM {table} WHERE thread_id = ? AND checkpoint_id < ?"  # noqa: S608 - the names are ours
            await self.rows(sql, (key, checkpoint))


@asynccontextmanager
async def open_sqlite(path: Path) -> AsyncGenerator[Database]:
    """Open a file that only its owner may read; it and its folder are made if they are not there.

    Raises:
        SpecError: a package is missing. SettingsError: the file cannot be opened.
    """
    aiosqlite, checkpoints = require("aiosqlite", "chat"), require("langgraph.checkpoint.sqlite.aio", "chat")
    try:
        await asyncio.to_thread(_make_private, path)
        connection = await aiosqlite.connect(path)
    except (OSError, aiosqlite.Error) as error:
        raise _unopened(str(path), error) from None
    try:
        saver = _telling(checkpoints.AsyncSqliteSaver)(connection)
        try:
            await saver.setup()  # with a write-ahead log
        except aiosqlite.Error as error:
            raise _unopened(str(path), error) from None
        database = _Sqlite(saver, path)
        saver.failures = database.failures
        yield database
    finally:
        await connection.close()


def _make_private(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.touch(mode=0o600)


class _Server:
    """A PostgreSQL server: connections beside the pool's, for locks, and its errors."""

    def __init__(self, address: str) -> None:
        psycopg = require("psycopg", "postgres")
        self._address = address
        self._open: Callable[..., Awaitable[Any]] = psycopg.AsyncConnection.connect
        self.error: type[Exception] = psycopg.Error

    async def connect(self) -> Any:
        return await self._open(self._address, autocommit=True, connect_timeout=_CONNECT_SECONDS)

    @asynccontextmanager
    async def failures(self) -> AsyncGenerator[None]:
        try:
            yield
        except self.error as error:
            raise _failed(self._address, error, "see whether the server is up, and try again") from None

    @asynccontextmanager
    async def setting_up(self) -> AsyncGenerator[None]:
        """Let no other process make tables meanwhile: with `IF NOT EXISTS`, too, one of two at once fails."""
        connection = await self.connect()
        try:
            # A lock that is waited for in the server would hold up the indexes that are made there meanwhile.
            while not await _locked(connection, _SET_UP):  # noqa: ASYNC110 - the server tells nobody
                await asyncio.sleep(_SET_UP_PAUSE)
            yield
        finally:
            await connection.close()


class _Locks:
    """What this process holds on a server: advisory locks, on one connection; they end with it at the latest."""

    def __init__(self, server: _Server) -> None:
        self._server = server
        self._connection: Any = None
        self._connecting = asyncio.Lock()
        self._held = set[str]()

    @asynccontextmanager
    async def held(self, key: str) -> AsyncGenerator[bool]:
        """Hold a key; gives False where this or another process holds it."""
        if key in self._held:  # the server would give it to the same connection again
            yield False
            return
        self._held.add(key)
        taken: bool | None = None
        try:
            async with self._server.failures():
                taken = await self._taken(key)
            yield taken
        finally:
            try:
                if taken is not False:
                    await self._let_go(key)
            finally:
                self._held.discard(key)

    async def close(self) -> None:
        """End the connection, and with it all locks."""
        if self._connection:
            await self._connection.close()

    async def _taken(self, key: str) -> bool:
        async with self._connecting:
            if self._connection and not self._connection.closed:
                try:
                    return await _locked(self._connection, key)
                except self._server.error:
                    if not self._connection.closed:
                        raise
            self._connection = await self._server.connect()
            return await _locked(self._connection, key)

    async def _let_go(self, key: str) -> None:
        """Give a key up, also one of which it is not known whether it was taken; with the connection it is gone."""
        if self._connection and not self._connection.closed:
            with suppress(self._server.error):
                await self._connection.execute("SELECT pg_advisory_unlock(%s::bigint)", (_number(key),))


async def _locked(connection: Any, name: str) -> bool:
    cursor = await connection.execute("SELECT pg_try_advisory_lock(%s::bigint)", (_number(name),))
    return bool((await cursor.fetchone())[0])


def _number(name: str) -> int:
    """Make the number by which a server knows a lock."""
    digest = hashlib.blake2b(name.encode(), digest_size=8, person=b"hopgraph").digest()
    return int.from_bytes(digest, signed=True)


@dataclass(frozen=True)
class _Postgres:
    saver: Any
    server: _Server
    locks: _Locks

    async def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        async with self.server.failures(), self.saver.conn.connection() as connection, connection.cursor() as cursor:
            await cursor.execute(sql.replace("?", "%s"), values)
            return [tuple(row.values()) for row in await cursor.fetchall()] if cursor.description else []

    async def make_table(self, sql: str) -> None:
        async with self.server.failures(), self.server.setting_up():
            await self.rows(sql)

    def held(self, key: str) -> AbstractAsyncContextManager[bool]:
        return self.locks.held(key)

    async def drop_before(self, key: str, checkpoint: str) -> None:
        # A new turn may begin meanwhile: what it writes is newer, and what it refers to is not older.
        older = "thread_id = ? AND checkpoint_id < ?"
        await self.rows(f"DELETE FROM checkpoint_writes WHERE {older}", (key, checkpoint))  # noqa: S608 - `older` is ours
        dropped = await self.rows(f"DELETE FROM checkpoints WHERE {older} RETURNING checkpoint_ns", (key, checkpoint))  # noqa: S608
        await self.rows(
            "DELETE FROM checkpoint_blobs WHERE thread_id = ? AND checkpoint_ns = ANY(?)",
            (key, [row[0] for row in dropped if row[0]]),
        )
        await self.rows(
            "DELETE FROM checkpoint_blobs b USING checkpoints c, jsonb_each_text(c.checkpoint -> 'channel_versions') v "
            "WHERE b.thread_id = ? AND b.checkpoint_ns = '' AND c.thread_id = b.thread_id AND c.checkpoint_ns = '' "
            "AND c.checkpoint_id = ? AND v.key = b.channel AND b.version < v.value",
            (key, checkpoint),
        )


@asynccontextmanager
async def open_postgres(address: str) -> AsyncGenerator[Database]:
    """Connect to a server with a pool of connections, which outlives a restart of the server.

    Raises:
        SpecError: a package is missing. SettingsError: the server cannot be reached; without the password.
    """
    psycopg, pools = require("psycopg", "postgres"), require("psycopg_pool", "postgres")
    checkpoints = require("langgraph.checkpoint.postgres.aio", "postgres")
    pool = pools.AsyncConnectionPool(
        address,
        min_size=1,
        max_size=_POOL,
        kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": psycopg.rows.dict_row},
        check=pools.AsyncConnectionPool.check_connection,
        open=False,
    )
    server = _Server(address)
    locks = _Locks(server)
    try:
        try:
            # This connects first, so that a wrong address is told at once; the pool would try it again and again.
            async with server.setting_up():
                await pool.open(wait=True, timeout=_CONNECT_SECONDS)
                saver = _telling(checkpoints.AsyncPostgresSaver)(pool)
                await saver.setup()
        except psycopg.Error as error:
            raise _unopened(address, error) from None
        saver.failures = server.failures
        yield _Postgres(saver, server, locks)
    finally:
        await locks.close()
        await pool.close()


def _unopened(place: str, error: Exception) -> SettingsError:
    return SettingsError(f"threads at {_shown(place)} cannot be opened: {_said(error)}")


def _failed(place: str, error: Exception, todo: str) -> StorageError:
    return StorageError(f"threads at {_shown(place)} cannot be used: {_said(error)}; {todo}")


def _said(error: Exception) -> str:
    return _shown(" ".join(str(error).split()) or type(error).__name__)


def _shown(text: str) -> str:
    """Write a place, or what is said of it, without passwords."""
    return redact(_PASSWORD.sub(lambda found: f"{found[1] or found[2]}[key]", text))
