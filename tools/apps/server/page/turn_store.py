"""The store of each turn's steps and picture: the checkpointer has only the messages.

A table next to the threads', with a row for each turn. It is written when a turn starts and when it ends, so that a
turn whose process was killed is still found, without its steps.
"""

from dataclasses import dataclass

from hopgraph.tools.apps.server.page.page_turns import PageTurn, unpack_turn
from hopgraph.tools.apps.server.storage import Database

_TABLE = """CREATE TABLE IF NOT EXISTS hopgraph_turns (
    owner TEXT NOT NULL, thread TEXT NOT NULL, turn TEXT NOT NULL, kept BYTEA NOT NULL,
    PRIMARY KEY (owner, thread, turn))"""


@dataclass(frozen=True)
class TurnStore:
    """The turns of all users' threads, in the threads' own database."""

    database: Database

    async def prepare(self) -> None:
        """Create the table if it does not exist."""
        await self.database.create_table(_TABLE)

    async def save(self, owner: str, thread: str, turn: PageTurn) -> None:
        """Write a turn, replacing what was written of it before."""
        await self.database.rows(
            "INSERT INTO hopgraph_turns VALUES (?, ?, ?, ?) "
            "ON CONFLICT (owner, thread, turn) DO UPDATE SET kept = excluded.kept",
            (owner, thread, turn.id, turn.pack()),
        )

    async def load(self, owner: str, thread: str) -> dict[str, PageTurn]:
        """Return a thread's turns by their ids; empty for none."""
        rows = await self.database.rows(
            "SELECT turn, kept FROM hopgraph_turns WHERE owner = ? AND thread = ?", (owner, thread)
        )
        return {row[0]: unpack_turn(bytes(row[1])) for row in rows}

    async def delete(self, owner: str, thread: str) -> None:
        """Delete a thread's turns; nothing happens if there are none."""
        await self.database.rows("DELETE FROM hopgraph_turns WHERE owner = ? AND thread = ?", (owner, thread))
