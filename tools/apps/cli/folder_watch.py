"""Keeping the index of a folder of documents up to date while the folder changes."""

import asyncio
import logging
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.io.user_folders import user_folder

_WATCHING: dict[str, Any] = {"step": 500, "debounce": 10_000, "rust_timeout": 2_000, "yield_on_timeout": True}
"""Milliseconds: files count as written once none has changed for `step`."""
_UPDATE = "from hopgraph.tools.apps.cli import main; raise SystemExit(main())"
_log = logging.getLogger("hopgraph.documents")


def kept_index(source: Path) -> Path:
    """Return where the index of a file or folder of documents is kept, in the user's cache."""
    place = source.expanduser().resolve()
    return user_folder("cache") / "indexes" / f"{place.name}-{blake2b(os.fsencode(place), digest_size=6).hexdigest()}"


def watch(source: Path) -> Iterator[None]:
    """Yield once at the start, for what has changed before, and then after each change of a file."""
    started = False
    for changes in require("watchfiles", "chat").watch(source, **_WATCHING):
        if changes or not started:
            started = True
            yield


async def keep_up_to_date(source: Path, index: Path) -> None:
    """Update an index whenever a file of its source changes, until cancelled.

    Each update is a process, so that it holds up no answer; what is wrong with one is logged, and the index stays.
    """
    started = False
    async for changes in require("watchfiles", "chat").awatch(source, **_WATCHING):
        if changes or not started:
            started = True
            await _update(source, index)


async def _update(source: Path, index: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-c", _UPDATE, "index", str(source), "--out", str(index), "--skip-invalid"),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        start_new_session=True,  # Ctrl-C is for the server, which then ends this one
    )
    try:
        said, problem = await process.communicate()
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            process.kill()
        raise
    if process.returncode:
        _log.warning("the documents were not updated: %s", problem.decode(errors="replace").strip().rpartition("\n")[2])
    elif not said.startswith(b"0 files added, 0 changed, 0 removed"):
        _log.info("documents: %s", said.decode(errors="replace").partition("\n")[0])
