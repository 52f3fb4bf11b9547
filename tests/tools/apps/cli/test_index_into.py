from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hopgraph.tools.retrieval import open_index, resolve_retriever
from support.servers.elasticsearch_server import ElasticsearchServer


def write(folder: Path) -> str:
    source = folder / "corpus.jsonl"
    source.write_text('{"_id": "1", "title": "Fox", "text": "A fox runs."}\n{"_id": "2", "text": "A hen sits."}\n{}\n')
    return str(source)


def test_a_corpus_is_streamed_into_a_server_and_searched_there(run: Callable[..., Any], tmp_path: Path) -> None:
    pytest.importorskip("elasticsearch")
    with ElasticsearchServer() as server:
        target = f"elasticsearch:{server.url}#foxes"
        sent = run("index", write(tmp_path), "--to", target, "--skip-invalid")
        assert sent.code == 0
        said = " ".join(sent.out.split())
        assert "Sent 2 passages (beir format) in" in said
        assert "1 invalid file or record skipped." in said
        assert "has 2 passages now." in said
        again = run("index", str(tmp_path), "--format", "beir", "--to", target, "--dry-run")
        assert "Dry run: 0 files added, 0 changed, 0 removed, 1 unchanged." in " ".join(again.out.split())
        assert "--corpus" in said
        assert "corpus.jsonl:3:_idismissing" in "".join(sent.err.split())  # the terminal wraps a long path
        retriever = resolve_retriever(target)
        assert retriever is resolve_retriever(f" {target}")
        assert [document.id for document in retriever.invoke("foxes")] == ["1"]
        answered = run("ask", "What runs?", "--corpus", target, "--json")
        assert answered.code == 0
        assert '"1"' in answered.out


def test_a_dry_run_without_changes_prints_no_table(run: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "fox.md").write_text("# Fox\nA fox runs.\n", encoding="utf-8")
    arguments = ["index", str(tmp_path / "notes"), "--out", str(tmp_path / "index")]
    assert "passages" in run(*arguments, "--dry-run").out
    assert run(*arguments).code == 0
    assert run(*arguments, "--dry-run").out.strip() == "Dry run: 0 files added, 0 changed, 0 removed, 1 unchanged."


def test_milvus_lite_is_a_local_file(run: Callable[..., Any], tmp_path: Path) -> None:
    pytest.importorskip("pymilvus")
    target = f"milvus:{tmp_path / 'lite.db'}#foxes"
    assert run("index", write(tmp_path), "--to", target, "--skip-invalid").code == 0
    assert [document.id for document in resolve_retriever(target).invoke("foxes")] == ["1"]


def test_an_index_is_built_for_a_language(run: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "dom.txt").write_text("Die Türme des Kölner Doms wurden 1880 vollendet.", encoding="utf-8")
    built = run("index", str(tmp_path / "dom.txt"), "--out", str(tmp_path / "index"), "--language", "de")
    assert (built.code, built.err) == (0, "")
    index = open_index(tmp_path / "index")
    assert index.analyzer.language == "german"
    assert len(index.search("Turm", 5)) == 1
