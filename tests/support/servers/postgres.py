"""A PostgreSQL server from Debian's packages on a Unix socket, in its own folder."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest


def postgres_binaries() -> Path:
    """Return the path of the newest installed server, or skip the test."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    if not found:
        pytest.skip("needs a PostgreSQL server: apt-get install postgresql")
    return found[-1]


@contextmanager
def postgres_server() -> Generator[str]:
    """Run a server and yield its address; root runs it as another user, as it refuses to run as root."""
    binaries, user = postgres_binaries(), _unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="hopgraph-pg-"))
    data = folder / "data"
    if user:
        shutil.chown(folder, user)
    options = ["-D", str(data), "-w", "-s"]
    _run([str(binaries / "initdb"), "-D", str(data), "-U", "chat", "-A", "trust", "-N"], user)
    server = f"-F -c listen_addresses='' -c unix_socket_directories={folder}"
    try:
        _run([str(binaries / "pg_ctl"), *options, "-l", str(folder / "log"), "-o", server, "start"], user)
        yield f"postgresql://chat@/postgres?host={folder}"
    finally:
        if (data / "postmaster.pid").exists():
            _run([str(binaries / "pg_ctl"), *options, "-m", "immediate", "stop"], user)
        shutil.rmtree(folder)


def _unprivileged() -> str | None:
    """Return a user to run the server as; None for the current one."""
    if os.getuid() != 0:
        return None
    names = {each.pw_name for each in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _run(command: list[str], user: str | None) -> None:
    subprocess.run(command, user=user, check=True, stdout=subprocess.DEVNULL, cwd="/")
