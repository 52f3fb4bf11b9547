import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from hopgraph.state import BadRecordError, CorpusError
from hopgraph.tools.retrieval.engines.engine_index import resolve_engine
from hopgraph.tools.retrieval.engines.fill import index_into
from hopgraph.tools.retrieval.passage_retriever import IndexRetriever
from support.hashed_words import HashedWords

pytest.importorskip("pymilvus")
pytest.importorskip("milvus_lite")
MODEL = HashedWords()


@pytest.fixture
def target(tmp_path: Path) -> str:
    return f"milvus:{tmp_path / 'lite.db'}#passages"


def found(retriever: IndexRetriever, query: str, k: int = 10) -> list[tuple[str | None, float]]:
    return [(document.id, document.metadata["score"]) for document in retriever.invoke(query, k=k)]


def test_terms_with_marks_stay_whole(target: str, tmp_path: Path) -> None:
    source = tmp_path / "corpus.jsonl"
    texts = ["कमल का फूल तालाब में", "काम की किताब", "किताबें पढ़ना"]
    source.write_text("".join(json.dumps({"_id": str(n), "text": text}) + "\n" for n, text in enumerate(texts)))
    index_into(target, source, language="hi")
    retriever: Any = resolve_engine(target, MODEL)
    assert retriever.index.analyzer.language == "hindi"
    assert sorted(key or "" for key, _ in found(retriever, "किताब")) == ["1", "2"]
    assert [key for key, _ in found(retriever, "कमल")] == ["0"]


FILL = """
import sys
from pathlib import Path
from hopgraph.tools.retrieval.engines.fill import index_into
index_into(sys.argv[1], Path(sys.argv[2]))
"""


def test_another_process_finds_it_and_only_one_has_it_open(target: str, tmp_path: Path) -> None:
    source = tmp_path / "corpus.jsonl"
    source.write_text('{"_id": "1", "text": "one fox"}\n')
    command = [sys.executable, "-c", FILL, target, str(source)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    assert [key for key, _ in found(resolve_engine(target, MODEL), "fox")] == ["1"]
    second = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert "CorpusError" in second.stderr.splitlines()[-1]
    assert "one process at a time" in second.stderr.splitlines()[-1]


def test_a_foreign_collection_is_left_alone(target: str, tmp_path: Path) -> None:
    pymilvus: Any = import_module("pymilvus")
    pymilvus.MilvusClient(target.removeprefix("milvus:").partition("#")[0]).create_collection("passages", dimension=4)
    source = tmp_path / "corpus.jsonl"
    source.write_text('{"_id": "1", "text": "one fox"}\n')
    for use in (lambda: resolve_engine(target, MODEL), lambda: index_into(target, source)):
        with pytest.raises(CorpusError, match="not made by `hopgraph index`"):
            use()


def test_records_that_milvus_cannot_hold(target: str, tmp_path: Path) -> None:
    source = tmp_path / "corpus.jsonl"
    source.write_text(json.dumps({"_id": "1", "text": "é" * 40_000}) + '\n{"_id": "2", "text": "two hens"}\n')
    with pytest.raises(BadRecordError, match=r"corpus.jsonl:1: .*its text has more than 65,535 bytes"):
        index_into(target, source)
    assert index_into(target, source, skip_invalid=True).total == 1


def test_what_cannot_be_reached_is_told_in_one_line(
    target: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CorpusError, match=r"milvus:http://127.0.0.1:9#x: cannot be opened") as caught:
        resolve_engine("milvus:http://127.0.0.1:9#x", MODEL)
    assert "\n" not in str(caught.value)
    with pytest.raises(CorpusError, match="there is no folder"):
        resolve_engine(f"milvus:{tmp_path}/none/lite.db#x", MODEL)
    assert capfd.readouterr() == ("", "")
