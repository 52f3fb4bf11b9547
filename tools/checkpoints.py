"""The databases that checkpoints are kept in: SQLite in a file, PostgreSQL at an address.

Each is LangGraph's own checkpointer with two things added over the same connections: plain statements, and
dropping the checkpoints that a finished thread no longer needs.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from langgraph.checkpoint.base import BaseCheckpointSaver

from hopgraph.state import SettingsError
from hopgraph.tools.loading.errors import require
from hopgraph.tools.models import redact

_POOL = 20
"""Connections to PostgreSQL at most."""
_CONNECT_SECONDS = 10

Row = Sequence[Any]


class Database(Protocol):
    """An open database with a checkpointer."""

    @property
    def saver(self) -> BaseCheckpointSaver[Any]:
        """The checkpointer."""
        ...

    async def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """Run a statement with `?` for each value, and give its rows; none for a statement without any."""
        ...

    async def drop_before(self, key: str, checkpoint: str) -> None:
        """Drop all checkpoints of a thread, its subgraphs' too, that are older than one of its own."""
        ...


@dataclass(frozen=True)
class _Sqlite:
    saver: Any

    async def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        async with self.saver.lock, self.saver.conn.execute(sql, values) as cursor:
            found = list(await cursor.fetchall())
            await self.saver.conn.commit()
            return found

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
        saver = checkpoints.AsyncSqliteSaver(connection)
        try:
            await saver.setup()  # with a write-ahead log
        except aiosqlite.Error as error:
            raise _unopened(str(path), error) from None
        yield _Sqlite(saver)
    finally:
        await connection.close()


def _make_private(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.touch(mode=0o600)


@dataclass(frozen=True)
class _Postgres:
    saver: Any

    async def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        async with self.saver.conn.connection() as connection, connection.cursor() as cursor:
            await cursor.execute(sql.replace("?", "%s"), values)
            return [tuple(row.values()) for row in await cursor.fetchall()] if cursor.description else []

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
    try:
        try:
            # A wrong address is told at once; the pool would try it again and again.
            await (await psycopg.AsyncConnection.connect(address, connect_timeout=_CONNECT_SECONDS)).close()
            await pool.open(wait=True, timeout=_CONNECT_SECONDS)
            saver = checkpoints.AsyncPostgresSaver(pool)
            await saver.setup()
        except (psycopg.Error, pools.PoolTimeout) as error:
            raise _unopened(address, error) from None
        yield _Postgres(saver)
    finally:
        await pool.close()


def _unopened(place: str, error: Exception) -> SettingsError:
    told = " ".join(str(error).split()) or type(error).__name__
    return SettingsError(f"threads at {redact(place)} cannot be opened: {redact(told)}")
