"""`hopgraph index --dense` and `--add` on the command line, with a model behind real HTTP."""

from collections.abc import Generator
from pathlib import Path

import pytest

from hopgraph.tools.apps.cli import main
from hopgraph.tools.retrieval.dense import STEP
from support.servers.embedding_app import EmbeddingApp
from support.servers.loopback import LoopbackServer

pytest.importorskip("faiss", reason="needs the models extra")
_SAID_AT_THE_START = 1
"""The request that makes the model known, before the passages."""


@pytest.fixture
def served() -> EmbeddingApp:
    return EmbeddingApp()


@pytest.fixture
def model(served: EmbeddingApp) -> Generator[str]:
    with LoopbackServer(served.app()) as server:
        yield f"openai:any?base_url={server.url}/v1&batch=256"


def write_corpus(path: Path, names: range) -> Path:
    path.write_text("".join(f'{{"_id": "fox{n}", "text": "fox number {n}"}}\n' for n in names))
    return path


def test_an_interrupted_build_says_what_is_kept_and_the_next_one_resumes(
    served: EmbeddingApp, model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = write_corpus(tmp_path / "corpus.jsonl", range(4 * STEP + 30)), tmp_path / "index"
    served.good_for = _SAID_AT_THE_START + 4
    assert main(["index", str(source), "--out", str(out), "--dense", model]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "run the same command to resume" in said
    assert "HTTP 400: out of order" in said
    assert not out.exists()
    served.good_for = None
    before = len(served.asked)
    assert main(["index", str(source), "--out", str(out), "--dense", model]) == 0
    shown = capsys.readouterr()
    assert f"hybrid:{out}" in "".join(shown.out.split())
    sent = [text for body in served.asked[before:] for text in body["input"] if "fox" in text]
    assert len(sent) == len(set(sent)) == 30


def test_passages_are_added_with_the_model_that_the_index_names(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "index")
    assert main(["index", str(write_corpus(tmp_path / "one.jsonl", range(20))), "--out", out, "--dense", model]) == 0
    assert main(["index", str(write_corpus(tmp_path / "two.jsonl", range(15, 30))), "--out", out, "--add"]) == 0
    assert "1 file added, 0 changed, 0 removed, 0 unchanged (30 passages, 20 before)" in capsys.readouterr().out
    assert main(["index", str(tmp_path / "two.jsonl"), "--out", out, "--faiss", "tree"]) == 2
    assert "'tree' is unknown; use one of: flat, hnsw, ivfpq" in " ".join(capsys.readouterr().err.split())
