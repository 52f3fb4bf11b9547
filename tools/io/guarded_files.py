"""Files that are written whole or not at all, for their owner alone; and sources, which may be no pipes or devices."""

import errno
import os
import shutil
import stat
import sys
import tempfile
import uuid
from collections.abc import Mapping
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, Literal

_SPECIAL = "this is a pipe, a socket or a device, not a file"
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
"""Windows does not have it."""


def open_source(path: Path, *, pipe: bool = False) -> BufferedReader:
    """Open a regular file that the user names; OSError for anything that would keep its reader waiting.

    With `pipe`, for what is read once, it may be a pipe of the shell's: /dev/stdin, or <(…) as /dev/fd/N.
    """
    return open(path, "rb", opener=partial(_open, pipe=pipe and path.is_relative_to("/dev")))


def read_source(path: Path, *, pipe: bool = False) -> bytes:
    """Read a file as `open_source` opens it."""
    with open_source(path, pipe=pipe) as file:
        return file.read()


def _open(name: str, flags: int, *, pipe: bool) -> int:
    try:
        number = os.open(name, flags | (0 if pipe else _NO_WAIT), 0o600)
    except OSError as error:
        raise OSError(error.errno, _SPECIAL if error.errno == errno.ENXIO else error.strerror, name) from None
    kind = stat.S_IFMT(os.fstat(number).st_mode)
    if kind not in {stat.S_IFREG, stat.S_IFDIR} and not (pipe and kind == stat.S_IFIFO):
        os.close(number)
        raise OSError(errno.ENXIO, _SPECIAL, name)
    return number


def open_private(path: Path, mode: Literal["wb", "ab", "xb"]) -> BinaryIO:
    """Open a regular file to write it; where it is new, only its owner may read it. OSError as in `open_source`."""
    return open(path, mode, opener=partial(_open, pipe=False))


def write_private(path: Path, content: bytes) -> None:
    """Write a file for its owner alone, so that no reader finds half of it; a failure leaves nothing behind."""
    make_private(path.parent)
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    try:
        with open_private(part, "xb") as file:
            file.write(content)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def make_private(folder: Path) -> None:
    """Make a folder that only its owner may enter; one that is there keeps its rights."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def make_cache(folder: Path) -> None:
    """Make the folder of a cache; OSError if it cannot be written."""
    make_private(folder)
    with tempfile.TemporaryFile(dir=folder):
        pass


if sys.platform != "win32":
    import fcntl

_ASIDE = ".hopgraph-"
HAS_LOCKS = sys.platform != "win32"


def try_lock(file: BinaryIO) -> bool:
    """Lock an open file; False where another process has it, and where there are no such locks."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def write_files(contents: Mapping[Path, bytes], *, private: bool = False) -> None:
    """Write files, `private` to their owner, in place of those that are there, once all could be written aside.

    An OSError names the place that cannot be written; no file has changed then.
    """
    if not contents:
        return
    first = next(iter(contents))
    base = Path(os.path.commonpath([path.absolute().parent for path in contents]))
    stage: Path | None = None
    try:
        existing = next(folder for folder in (base, *base.parents) if folder.is_dir())
        stage = Path(tempfile.mkdtemp(prefix=_ASIDE, dir=existing))
        staged = {path: stage / str(number) for number, path in enumerate(contents)}
        for path, aside in staged.items():
            aside.write_bytes(contents[path])
            if private:
                aside.chmod(0o600)
        for path in contents:
            path.parent.mkdir(parents=True, exist_ok=True)
        for path, aside in staged.items():
            aside.replace(path)
    except OSError as error:
        # The temporary place means nothing to users.
        place = first if _ASIDE in str(error.filename) else error.filename or first
        raise OSError(error.errno, f"cannot be written: {error.strerror}", str(place)) from None
    finally:
        if stage:
            shutil.rmtree(stage, ignore_errors=True)
