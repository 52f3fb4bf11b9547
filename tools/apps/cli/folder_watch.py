"""Keep the index of a folder of documents up to date while the folder changes."""

import asyncio
import logging
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from hashlib import blake2b
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.io.user_folders import user_folder

_STEPS: dict[str, Any] = {"step": 500, "debounce": 10_000, "rust_timeout": 2_000, "yield_on_timeout": True}
"""Milliseconds: files are considered complete once none has changed for `step`."""
_PAUSE = 60.0  # seconds until watching is tried again
_UPDATE = "from hopgraph.tools.apps.cli import main; raise SystemExit(main())"
_log = logging.getLogger("hopgraph.documents")


def kept_index(source: Path) -> Path:
    """Return where the index of a file or folder of documents is kept: in the user's cache."""
    place = source.expanduser().resolve()
    return user_folder("cache") / "indexes" / f"{place.name}-{blake2b(os.fsencode(place), digest_size=6).hexdigest()}"


def watch(source: Path) -> Iterator[None]:
    """Yield once at the start, for earlier changes, and then after each change of a file."""
    place, how = _watched(source)
    is_due = _due_steps()
    for changes in require("watchfiles", "chat").watch(place, **how):
        if is_due(changes):
            yield


async def keep_up_to_date(source: Path, index: Path) -> None:
    """Update an index whenever a file of its source changes, until cancelled.

    Each update is a process, so that it does not delay answers. An update that fails is logged, and the index stays as
    it is; if watching fails, that is logged and tried again.
    """
    while True:
        try:
            await _follow(source, index)
        except (OSError, RuntimeError) as error:  # missing, or the system has too many watches
            _log.warning("the documents cannot be watched; trying again in a minute: %s", error)
            await asyncio.sleep(_PAUSE)


async def _follow(source: Path, index: Path) -> None:
    """Run `keep_up_to_date` until another folder replaces the watched one."""
    place, how = _watched(source)
    is_due, inode = _due_steps(), place.stat().st_ino
    async for changes in require("watchfiles", "chat").awatch(place, **how):
        if place.stat().st_ino != inode:
            return
        if is_due(changes):
            await _update(source, index)


def _watched(source: Path) -> tuple[Path, dict[str, Any]]:
    """Return the path to watch and the options: for a file its folder, since editors replace files."""
    if not source.is_file():
        return source, _STEPS
    file = source.resolve()

    def is_the_file(_change: object, path: str) -> bool:
        return Path(path).name == file.name

    return file.parent, {**_STEPS, "recursive": False, "watch_filter": is_the_file}


def _due_steps() -> Callable[[Collection[object]], bool]:
    """Return a predicate for steps of a watch: the first one is due, and later ones with changes."""
    first = chain((True,), repeat(False))
    return lambda changes: next(first) or bool(changes)


async def _update(source: Path, index: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-c", _UPDATE, "index", str(source), "--out", str(index), "--skip-invalid"),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        start_new_session=True,  # Ctrl-C goes to the server, which then kills this process
    )
    try:
        said, problem = await process.communicate()
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()
        raise
    if process.returncode:
        _log.warning("the documents were not updated: %s", problem.decode(errors="replace").strip().rpartition("\n")[2])
    elif not said.startswith(b"0 files added, 0 changed, 0 removed"):
        _log.info("documents: %s", said.decode(errors="replace").partition("\n")[0])
