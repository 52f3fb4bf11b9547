"""Build a folder aside and move it into place in one step, so that no reader sees half of one; and its progress.

A build works in `.NAME.building-XXXX` beside its target and holds a lock there while it lives. What a killed build
leaves has no lock: the next build removes it, and restores an old folder that was already moved aside.
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
"""Called with the stage, the amount done and the total.

The stages are those of `STAGES`: `read` in bytes; `score`, `save` and `links` with None; then, with vectors, `embed`,
`faiss` and `encode` in passages. The first report of `embed` has the number embedded by an interrupted build.
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
"""Labels shown to users."""


def ignore_progress(_stage: str, _done: int, _total: int | None) -> None:
    """Do nothing."""


LOCK = "lock"
"""A file in each build folder; a folder without it has nothing of use."""
_NEW, _OLD, _BUILDING = "new", "old", ".building-"


@contextmanager
def stage_folder(target: Path) -> Generator[Path]:
    """Yield an empty folder that replaces `target` if the block succeeds; CorpusError if another build is running."""
    target.parent.mkdir(parents=True, exist_ok=True)
    recover_stages(target)
    if _stages(target):
        raise CorpusError(f"{target}: another build of it is running; wait for it, or choose another folder")
    stage = Path(tempfile.mkdtemp(prefix=_prefix(target), dir=target.parent))
    try:
        with (stage / LOCK).open("wb") as lock:
            try_lock(lock)
            try:
                new = stage / _NEW
                new.mkdir()
                yield new
                if target.exists():
                    target.rename(stage / _OLD)
                new.rename(target)
            finally:
                _restore(target, stage)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def recover_stages(target: Path) -> None:
    """Remove what killed builds of `target` left, and restore an old folder that one had moved aside."""
    for stage in _stages(target):
        with suppress(FileNotFoundError), (stage / LOCK).open("rb+") as lock:  # its build may have just finished
            if try_lock(lock):  # never on Windows, where other stages are left alone
                _restore(target, stage)
                shutil.rmtree(stage, ignore_errors=True)


def recover_stages_in(folder: Path) -> None:
    """Call `recover_stages` for all targets in a folder."""
    for target in {path.name[1:].rpartition(_BUILDING)[0] for path in folder.glob(f".*{_BUILDING}*")}:
        recover_stages(folder / target)


def is_being_built(target: Path) -> bool:
    """Return whether a build of `target` is running, or was killed."""
    return bool(_stages(target.absolute()))


def _restore(target: Path, stage: Path) -> None:
    if (stage / _OLD).is_dir() and not target.exists():
        (stage / _OLD).rename(target)


def _prefix(target: Path) -> str:
    return f".{target.name}{_BUILDING}"


def _stages(target: Path) -> list[Path]:
    return [path for path in target.parent.glob(f"{escape(_prefix(target))}*") if (path / LOCK).is_file()]
