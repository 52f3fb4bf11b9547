"""Finding, placing and loading models: what errors say about a mistyped spec, and how fast."""

import json
import os
import pickle
import socket
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the models extra")
pytest.importorskip("transformers", reason="needs the models extra")

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from hopgraph.state import SpecError
from hopgraph.tools.scoring.resolve import resolve_reranker
from hopgraph.tools.scoring.weights.model_specs import locate, parse_spec, placement_of, wanted_files
from support import tiny_models
from support.servers.loopback import LoopbackServer


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub: Any = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    for name in ("HOPGRAPH_DEVICE", "HOPGRAPH_DTYPE", "HF_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.xlm_roberta(tmp_path_factory.mktemp("model"))


def test_a_missing_folder_is_named() -> None:
    with pytest.raises(SpecError, match=r"^'bge:\./models/none': there is no folder \./models/none$"):
        resolve_reranker("bge:./models/none")


def test_a_folder_without_a_model_is_refused(tmp_path: Path, model: Path) -> None:
    with pytest.raises(SpecError, match=r"contains no model: it has no config\.json"):
        resolve_reranker(f"bge:{tmp_path}")
    (tmp_path / "config.json").write_text((model / "config.json").read_text())
    with pytest.raises(SpecError, match="contains no weights"):
        resolve_reranker(f"bge:{tmp_path}")
    weights = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(weights))
    (tmp_path / "model-00001-of-00002.safetensors").touch()  # an interrupted download
    with pytest.raises(SpecError, match="contains no weights"):
        resolve_reranker(f"bge:{tmp_path}")


def test_an_unreachable_hub_is_reported_at_once_with_what_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail(f"it waits {seconds} s to try again"))
    with pytest.raises(SpecError) as raised:
        resolve_reranker("bge:BAAI/bge-reranker-base")
    said = str(raised.value)
    assert "\n" not in said
    for tried in ("tried the folder", "the cache", "http://127.0.0.1:9/BAAI/bge-reranker-base"):
        assert tried in said


def hub_with(folder: Path, gone: bool = False) -> Starlette:
    """Serve a model as the hub does: about it, its files, and nothing else."""
    sha = "a" * 40

    async def about(_: Request) -> Response:
        if gone:
            return JSONResponse({"error": "Repository not found"}, 404, {"X-Error-Code": "RepoNotFound"})
        names = [*(path.name for path in folder.iterdir()), "pytorch_model.bin", "modeling.py"]
        return JSONResponse({"id": "owner/tiny", "sha": sha, "siblings": [{"rfilename": name} for name in names]})

    async def tree(_: Request) -> Response:
        return JSONResponse(
            [
                {"type": "file", "path": path.name, "size": path.stat().st_size, "oid": path.name}
                for path in folder.iterdir()
            ]
        )

    async def file(request: Request) -> Response:
        body = (folder / request.path_params["name"]).read_bytes()
        headers = {"ETag": f'"{len(body)}"', "X-Repo-Commit": sha, "Content-Length": str(len(body))}
        return Response(b"" if request.method == "HEAD" else body, headers=headers)

    handlers: list[tuple[str, Callable[[Request], Awaitable[Response]]]] = [
        ("/api/models/owner/tiny", about),
        ("/api/models/owner/tiny/revision/{revision}", about),
        (f"/api/models/owner/tiny/tree/{sha}", tree),
        (f"/owner/tiny/resolve/{sha}/{{name}}", file),
    ]
    return Starlette(routes=[Route(path, handler, methods=["GET", "HEAD"]) for path, handler in handlers])


def test_a_model_comes_from_the_hub_once(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = parse_spec("bge:owner/tiny")
    with LoopbackServer(hub_with(model)) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        folder = locate(named)
    assert {path.name for path in folder.iterdir()} == {path.name for path in model.iterdir()}  # no .bin, no code
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("it asks the hub again"))
    assert locate(named) == folder


def test_an_unknown_model_is_refused(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LoopbackServer(hub_with(model, gone=True)) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        with pytest.raises(SpecError, match=r"'bge:owner/tiny': the model cannot be found; .*Repository Not Found"):
            locate(parse_spec("bge:owner/tiny"))


def test_only_tensors_are_downloaded() -> None:
    names = ["config.json", "model.safetensors", "pytorch_model.bin", "tf_model.h5", "code.py", "onnx/model.bin"]
    assert wanted_files(names) == ["config.json", "model.safetensors"]
    assert wanted_files(["colbert_linear.pt", "other.pt", "sparse_linear.pt"]) == [
        "colbert_linear.pt",
        "sparse_linear.pt",
    ]
    assert wanted_files(["config.json", "pytorch_model.bin", "2_Dense/model.safetensors"]) == [
        "config.json",
        "pytorch_model.bin",
        "2_Dense/model.safetensors",
    ]


def copy_without_weights(model: Path, folder: Path) -> Path:
    folder.mkdir()
    for path in model.iterdir():
        if path.suffix != ".safetensors":
            (folder / path.name).write_bytes(path.read_bytes())
    return folder


class Harmful:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os.mkdir, (str(self.mark),)


@pytest.mark.filterwarnings("ignore:Detected pickle protocol:UserWarning")
@pytest.mark.parametrize("kind", ["bge", "cross-encoder"])
@pytest.mark.parametrize("archive", [True, False])
def test_a_pickle_is_never_executed(kind: str, archive: bool, model: Path, tmp_path: Path) -> None:
    folder, mark = copy_without_weights(model, tmp_path / "pickled"), tmp_path / "executed"
    if archive:
        tiny_models.torch.save({"weight": Harmful(mark)}, folder / "pytorch_model.bin")
    else:
        (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"weight": Harmful(mark)}))
    with pytest.raises(SpecError, match=r"pickle|cannot be loaded") as raised:
        resolve_reranker(f"{kind}:{folder}")
    assert "\n" not in str(raised.value)
    assert not mark.exists()


def test_tensors_in_a_bin_file_are_read(model: Path, tmp_path: Path) -> None:
    folder = copy_without_weights(model, tmp_path / "bin")
    whole = tiny_models.transformers.AutoModelForSequenceClassification.from_pretrained(model)
    tiny_models.torch.save(whole.state_dict(), folder / "pytorch_model.bin")
    some = [("Who?", "Ed Wood"), ("Where?", "in Paris")]
    assert resolve_reranker(f"bge:{folder}").score(some) == pytest.approx(resolve_reranker(f"bge:{model}").score(some))


def test_code_of_a_model_is_never_run(model: Path, tmp_path: Path) -> None:
    folder = copy_without_weights(model, tmp_path / "remote")
    (folder / "model.safetensors").write_bytes((model / "model.safetensors").read_bytes())
    config = json.loads((folder / "config.json").read_text())
    config["model_type"] = "own"
    config["auto_map"] = {"AutoConfig": "own.Own", "AutoModelForSequenceClassification": "own.Own"}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "own.py").write_text(f"import os\nos.mkdir({str(tmp_path / 'executed')!r})\n")
    for kind in ("bge", "cross-encoder"):
        with pytest.raises(SpecError, match="cannot be loaded"):
            resolve_reranker(f"{kind}:{folder}")
    assert not (tmp_path / "executed").exists()


def test_a_damaged_or_headless_model_is_refused(model: Path, tmp_path: Path) -> None:
    damaged = copy_without_weights(model, tmp_path / "damaged")
    whole = (model / "model.safetensors").read_bytes()
    (damaged / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SpecError, match=r"'bge:.*damaged': the model in .*damaged cannot be loaded: "):
        resolve_reranker(f"bge:{damaged}")
    headless = copy_without_weights(model, tmp_path / "headless")
    safetensors: Any = pytest.importorskip("safetensors.torch")
    weights = {k: v for k, v in safetensors.load(whole).items() if not k.startswith("classifier")}
    safetensors.save_file(weights, headless / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(SpecError, match=r"lacks weights, such as classifier"):
        resolve_reranker(f"bge:{headless}")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("device=tpu", "device 'tpu' is unknown; use auto, cpu, cuda, cuda:NUMBER or mps"),
        ("device=cuda:77", "device 'cuda:77' is not available: torch sees"),
        ("device=cpu&dtype=fp16", "fp16 needs a GPU"),
        ("dtype=int3", "precision 'int3' is unknown; use one of: fp32, fp16, bf16"),
    ],
)
def test_a_device_or_precision_that_is_not_there_is_refused(query: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        placement_of(parse_spec(f"bge:x?{query}"))


def test_the_environment_gives_defaults_and_the_spec_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPGRAPH_DEVICE", "cpu")
    monkeypatch.setenv("HOPGRAPH_DTYPE", "bf16")
    assert placement_of(parse_spec("bge:x")).dtype == "bf16"
    assert placement_of(parse_spec("bge:x?dtype=fp32")).dtype == "fp32"
    monkeypatch.setenv("HOPGRAPH_DTYPE", "half")
    with pytest.raises(SpecError, match="HOPGRAPH_DTYPE: precision 'half' is unknown"):
        placement_of(parse_spec("bge:x"))


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5", ""])
def test_numbers_are_checked(value: str, model: Path) -> None:
    with pytest.raises(SpecError, match=r"option 'batch_tokens' of .* must be a whole number of at least 1"):
        resolve_reranker(f"bge:{model}?batch_tokens={value}")
