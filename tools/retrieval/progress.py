"""How the building of an index tells how far it is."""

from collections.abc import Callable

Progress = Callable[[str, int, int | None], None]
"""Called with the stage, how much is done, and of how much.

The stages are `read` in bytes, `score` and `save` of None, then, with vectors, `embed` and `faiss` in
passages. The first report of `embed` says how many passages a build that was broken off had embedded.
"""


def ignore_progress(_stage: str, _done: int, _total: int | None) -> None:
    """Show no progress."""
