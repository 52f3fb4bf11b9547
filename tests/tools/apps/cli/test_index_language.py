from collections.abc import Callable
from pathlib import Path
from typing import Any

from hopgraph.tools.retrieval import open_index


def test_an_index_is_built_for_a_language(run: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "dom.txt").write_text("Die Türme des Kölner Doms wurden 1880 vollendet.", encoding="utf-8")
    built = run("index", str(tmp_path / "dom.txt"), "--out", str(tmp_path / "index"), "--language", "de")
    assert (built.code, built.err) == (0, "")
    index = open_index(tmp_path / "index")
    assert index.analyser.language == "german"
    assert len(index.search("Turm", 5)) == 1


def test_an_unknown_language_is_one_line(run: Callable[..., Any], tmp_path: Path) -> None:
    refused = run("index", str(tmp_path), "--out", str(tmp_path / "index"), "--language", "tlh")
    assert refused.code != 0
    assert "language 'tlh' is unknown; known: ar" in " ".join(refused.err.split())
