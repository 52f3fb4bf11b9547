"""Where the steps and the picture of each turn are kept: the checkpointer holds only what was said.

A table beside the threads', with a row for each turn. It is written when a turn begins and when it ends, so that
a turn whose process was killed is still found, without its steps.
"""

from dataclasses import dataclass

from hopgraph.tools.apps.server.page.page_turns import Turn, unpacked
from hopgraph.tools.apps.server.storage import Database

_TABLE = """CREATE TABLE IF NOT EXISTS hopgraph_turns (
    owner TEXT NOT NULL, thread TEXT NOT NULL, turn TEXT NOT NULL, kept BYTEA NOT NULL,
    PRIMARY KEY (owner, thread, turn))"""


@dataclass(frozen=True)
class TurnStore:
    """The turns of all users' threads."""

    database: Database
    """The threads' own."""

    async def prepare(self) -> None:
        """Make the table if it is not there."""
        await self.database.create_table(_TABLE)

    async def keep(self, owner: str, thread: str, turn: Turn) -> None:
        """Write a turn down, in place of what was written of it before."""
        await self.database.rows(
            "INSERT INTO hopgraph_turns VALUES (?, ?, ?, ?) "
            "ON CONFLICT (owner, thread, turn) DO UPDATE SET kept = excluded.kept",
            (owner, thread, turn.id, turn.packed()),
        )

    async def of(self, owner: str, thread: str) -> dict[str, Turn]:
        """Get a thread's turns by their ids; empty for none."""
        rows = await self.database.rows(
            "SELECT turn, kept FROM hopgraph_turns WHERE owner = ? AND thread = ?", (owner, thread)
        )
        return {row[0]: unpacked(bytes(row[1])) for row in rows}

    async def delete(self, owner: str, thread: str) -> None:
        """Forget a thread's turns; nothing happens if there are none."""
        await self.database.rows("DELETE FROM hopgraph_turns WHERE owner = ? AND thread = ?", (owner, thread))
