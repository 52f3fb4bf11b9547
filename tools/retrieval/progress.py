"""Progress reports of an index build."""

from collections.abc import Callable

Progress = Callable[[str, int, int | None], None]
"""Called with the stage, how much is done, and of how much.

The stages are `read` in bytes, `score` and `save` of None, then, with vectors, `embed` and `faiss` in
passages. The first report of `embed` says how many passages an interrupted build had embedded.
"""


def ignore_progress(_stage: str, _done: int, _total: int | None) -> None:
    """Do nothing."""
