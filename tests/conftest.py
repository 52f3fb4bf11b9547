"""Fixtures of the whole suite; no test reaches the network beyond loopback."""

import gc
import ipaddress
import os
import signal
import socket
import uuid
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest
import trustme
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from support.paths import ROOT

# Hypothesis would draw from the constants of all local modules, and take a minute in each process to collect them.
providers.__dict__["is_local_module_file"] = lambda path: False
# No example fails for the time that a busy machine takes; each run draws other ones, and `make attacks` many.
examples = int(os.environ.get("HOPGRAPH_EXAMPLES", "30"))
settings.register_profile(
    "any-machine", deadline=None, max_examples=examples, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any-machine")

# What is imported and collected stays to the end: it is not searched for garbage again and again.
gc.disable()

# SKR-knn cannot do without; whatever is asked, and of whichever model.
os.environ["HOPGRAPH_LABELS"] = str(ROOT / "tests" / "support" / "labels.jsonl")


def pytest_collection_finish() -> None:
    gc.enable()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


_LONGEST = (
    "tests/graphs/test_many_questions",
    "tests/tools/apps/server/page/",
    "tests/test_embedding",
    "tests/graphs/test_real_questions",
    "tests/tools/apps/server/",
    "tests/tools/apps/evaluation/",
    "tests/graphs/test_s",
    "tests/test_notebooks",
    "tests/attacks/",
    "tests/tools/apps/cli/",
)
"""Where tests have a browser, a server or a process of their own, or many questions."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put first what takes longest, so that no process waits for another at the end."""
    items.sort(key=lambda item: next((i for i, part in enumerate(_LONGEST) if item.nodeid.startswith(part)), 99))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Let Ctrl-C reach the processes that a test starts.

    A suite that runs in the background hands it down ignored, and a server in an earlier test may have left it so.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_loopback(address: Any) -> bool:
    if not isinstance(address, tuple):
        return True  # a Unix socket
    host = str(address[0])
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@pytest.fixture(scope="session", autouse=True)
def only_loopback() -> Iterator[None]:
    """Refuse every connection and every name look-up that leaves this machine."""
    connect, connect_ex, getaddrinfo = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: Any) -> None:
        if not _is_loopback(address):
            raise AssertionError(f"a test tried to reach {address!r}")
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        if not _is_loopback(address):
            raise AssertionError(f"a test tried to reach {address!r}")
        return connect_ex(self, address)

    def guarded_getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host is not None and not _is_loopback((host if isinstance(host, str) else host.decode(),)):
            raise AssertionError(f"a test tried to look up {host!r}")
        return getaddrinfo(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
        patch.setattr(socket, "getaddrinfo", guarded_getaddrinfo)
        yield


@contextmanager
def _environment_as_before() -> Generator[None]:
    """Keep what an app in this process sets in the environment from the next one, and from processes of later tests."""
    before = dict(os.environ)
    yield
    after = dict(os.environ)
    for name in after.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before.items() - after.items())


@pytest.fixture(scope="module", autouse=True)
def environment_of_file() -> Iterator[None]:
    with _environment_as_before():
        yield


@pytest.fixture(scope="session", autouse=True)
def caches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keep replies in a temporary folder instead of the user's cache, each test in a folder of its own."""
    os.environ["XDG_CACHE_HOME"] = str(folder := tmp_path_factory.mktemp("caches"))
    return folder


@pytest.fixture(scope="session", autouse=True)
def authority(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let clients trust one authority, of no server: to read all that this machine trusts takes each of them 20 ms."""
    trustme.CA().cert_pem.write_to_path(str(file := tmp_path_factory.mktemp("authority") / "authority.pem"))
    os.environ["SSL_CERT_FILE"] = str(file)


@pytest.fixture(autouse=True)
def clean_environment(caches: Path) -> Iterator[None]:
    """Take away the settings and keys of whoever runs the suite, and keep LangSmith silent."""
    with _environment_as_before():
        os.environ["XDG_CACHE_HOME"] = str(caches / uuid.uuid4().hex)
        for name in ("HOPGRAPH_MODEL", "HOPGRAPH_RETRIEVER", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
            os.environ.pop(name, None)
        os.environ["LANGSMITH_TRACING"] = "false"
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real training questions beside the checkout; a user's clone does not have them."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"needs the training samples in {folder}")
    return folder


@pytest.fixture
def only_hook() -> Iterator[ContextVar[Any]]:
    """Give the variable of a handler that LangChain adds to every call, but not to what that calls.

    The hooks of apps that ran in this process before are set aside: they watch every call.
    """
    from langchain_core.tracers import context

    hooks = context._configure_hooks  # pyright: ignore[reportPrivateUsage]
    before, hook = list(hooks), ContextVar[Any]("hook", default=None)
    hooks.clear()
    context.register_configure_hook(hook, inheritable=False)
    yield hook
    hooks[:] = before
