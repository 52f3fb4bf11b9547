"""Building a folder aside and moving it into place in one step, so that no reader sees half of one; its progress, too.

A build works in `.NAME.building-XXXX` beside its goal and holds a lock there while it lives. What a killed build leaves
behind has no lock: the next one removes it, and restores an old folder that was already moved aside.
"""

import shutil
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path

from hopgraph.state import CorpusError
from hopgraph.tools.io.guarded_files import try_lock

Progress = Callable[[str, int, int | None], None]
"""Called with the stage, how much is done, and of how much.

The stages are those of `STAGES`: `read` in bytes, `score`, `save` and `links` of None, then, with vectors, `embed`,
`faiss` and `encode` in passages. The first report of `embed` says how many passages an interrupted build had embedded.
"""

STAGES = {
    "read": "reading",
    "score": "scoring",
    "save": "saving",
    "links": "linking",
    "embed": "embedding",
    "faiss": "ordering vectors",
    "encode": "encoding",
}
"""The labels that people see."""


def ignore_progress(_stage: str, _done: int, _total: int | None) -> None:
    """Do nothing."""


LOCK = "lock"
"""A file in each folder of a build; one without it has nothing of use."""
_NEW, _OLD, _BUILDING = "new", "old", ".building-"


@contextmanager
def stage_folder(goal: Path) -> Generator[Path]:
    """Yield a new empty folder, which replaces `goal` when the block succeeds; CorpusError where another build runs."""
    goal.parent.mkdir(parents=True, exist_ok=True)
    recover_stages(goal)
    if _stages(goal):
        raise CorpusError(f"{goal}: another build of it is running; wait for it, or choose another folder")
    stage = Path(tempfile.mkdtemp(prefix=_prefix(goal), dir=goal.parent))
    try:
        with (stage / LOCK).open("wb") as lock:
            try_lock(lock)
            try:
                new = stage / _NEW
                new.mkdir()
                yield new
                if goal.exists():
                    goal.rename(stage / _OLD)
                new.rename(goal)
            finally:
                _bring_back(goal, stage)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def recover_stages(goal: Path) -> None:
    """Remove what killed builds of `goal` left, and restore an old folder that one had moved aside."""
    for stage in _stages(goal):
        with suppress(FileNotFoundError), (stage / LOCK).open("rb+") as lock:  # its builder may be done by now
            if try_lock(lock):  # without such locks every other stage is left alone
                _bring_back(goal, stage)
                shutil.rmtree(stage, ignore_errors=True)


def recover_stages_in(folder: Path) -> None:
    """Do the same for all goals in a folder."""
    for goal in {path.name[1:].rpartition(_BUILDING)[0] for path in folder.glob(f".*{_BUILDING}*")}:
        recover_stages(folder / goal)


def is_being_built(goal: Path) -> bool:
    """Return whether a build is on its way to a goal, or one that was killed left its folder."""
    return bool(_stages(goal.absolute()))


def _bring_back(goal: Path, stage: Path) -> None:
    if (stage / _OLD).is_dir() and not goal.exists():
        (stage / _OLD).rename(goal)


def _prefix(goal: Path) -> str:
    return f".{goal.name}{_BUILDING}"


def _stages(goal: Path) -> list[Path]:
    return [path for path in goal.parent.glob(f"{escape(_prefix(goal))}*") if (path / LOCK).is_file()]
