"""Files written so that no reader finds half of one, and read though others may have replaced them.

Pipes and devices are refused, and links where hopgraph writes, by an OSError. What is made here is its owner's alone.
"""

import errno
import os
import shutil
import stat
import sys
import tempfile
import uuid
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal

_LINK = "is a link, which is not followed here; put what it leads to in its place"
_SPECIAL = "this is a pipe, a socket or a device, not a file"
_NO_WAIT, _NO_LINK = getattr(os, "O_NONBLOCK", 0), getattr(os, "O_NOFOLLOW", 0)
"""Windows has neither."""


def open_source(path: Path, *, pipe: bool = False) -> BinaryIO:
    """Open a regular file that the user names; anything that would keep its reader waiting is refused at once.

    With `pipe`, for what is read once, it may be a pipe of the shell's: /dev/stdin, or <(…) as /dev/fd/N.
    """
    return open(path, "rb", opener=partial(_open, pipe=pipe and path.is_relative_to("/dev")))


def read_source(path: Path, *, pipe: bool = False) -> bytes:
    """Read a file as `open_source` opens it."""
    with open_source(path, pipe=pipe) as file:
        return file.read()


def open_inside(folder: Path, name: str, mode: Literal["rb", "r+b", "wb", "ab", "xb"] = "rb") -> BinaryIO:
    """Open a regular file in a folder that hopgraph writes; `name` may lead through sub-folders, but no links."""
    if os.open not in os.supports_dir_fd:  # Windows, where only administrators make links
        return (folder / name).open(mode)
    *folders, last = name.split("/")
    with ExitStack() as opened:
        place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        opened.callback(os.close, place)
        for part in folders:
            place = _open(part, os.O_RDONLY | os.O_DIRECTORY | _NO_LINK, place)
            opened.callback(os.close, place)
        return open(folder / name, mode, opener=lambda _, flags: _open(last, flags | _NO_LINK, place))


def _open(name: str, flags: int, place: int | None = None, *, pipe: bool = False) -> int:
    try:
        number = os.open(name, flags | (0 if pipe else _NO_WAIT), 0o600, dir_fd=place)
    except OSError as error:
        link = flags & _NO_LINK and stat.S_ISLNK(os.stat(name, dir_fd=place, follow_symlinks=False).st_mode)
        reason = f"this {_LINK}" if link else _SPECIAL if error.errno == errno.ENXIO else error.strerror
        raise OSError(error.errno, reason, name) from None
    kind = stat.S_IFMT(os.fstat(number).st_mode)
    if kind not in {stat.S_IFREG, stat.S_IFDIR} and not (pipe and kind == stat.S_IFIFO):
        os.close(number)
        raise OSError(errno.ENXIO, _SPECIAL, name)
    return number


def write_inside(folder: Path, name: str, content: bytes) -> None:
    """Write a file as `open_inside` opens it, so that no reader finds half of it; a failure leaves nothing behind."""
    part = f"{name}.{uuid.uuid4().hex}.part"
    make_private((folder / name).parent)
    try:
        with open_inside(folder, part, "xb") as file:
            file.write(content)
        (folder / part).replace(folder / name)
    except OSError:
        (folder / part).unlink(missing_ok=True)
        raise


def make_private(folder: Path) -> None:
    """Make a folder that only its owner may enter; one that is there keeps its rights."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def make_cache(folder: Path) -> None:
    """Make the folder of a cache; OSError where it cannot be written, or one of its sub-folders is a link."""
    make_private(folder)
    refuse_links(folder, deep=False)
    with tempfile.TemporaryFile(dir=folder):
        pass


def refuse_links(folder: Path, *, deep: bool = True) -> None:
    """Raise OSError for a link in a folder, and with `deep` in its sub-folders."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink():
                raise OSError(errno.ELOOP, f"{entry.name!r} in it {_LINK}", str(folder))
            if deep and entry.is_dir():
                refuse_links(Path(entry.path))


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
