"""Files of labeled questions, and the nearest of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopgraph.state import SettingsError
from hopgraph.tools.retrieval import labeled_questions
from hopgraph.tools.retrieval.labeled_questions import find_nearest, read_labels

LINES = "".join(
    f'{{"question": "{text}", "label": "{label}", "model": "m", "corpus": "c"}}\n'
    for text, label in [("Who painted it?", "helps"), ("Where was he born?", "harms"), ("Who painted it?", "harms")]
)


def written(folder: Path, text: str | bytes) -> str:
    path = folder / "labels.jsonl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_a_file_has_its_questions_in_order(tmp_path: Path) -> None:
    found = read_labels(written(tmp_path, f"\ufeff{LINES}"))
    assert [(each.label, each.model, each.corpus) for each in found] == [
        ("helps", "m", "c"),
        ("harms", "m", "c"),
        ("harms", "m", "c"),
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no question says that retrieval helps or harms; make them with `hopgraph build skr_knn"),
        ('{"question": "x", "label": "maybe"}', r"labels\.jsonl:1: .*label"),
        (f"{LINES}[1]", r"labels\.jsonl:4: "),
        ("{" * 100_000, r"labels\.jsonl:1: "),
        (b"\xff\xfe", "cannot be read: not UTF-8"),
    ],
    ids=["empty", "label", "list", "deep", "bytes"],
)
def test_a_file_that_does_not_fit_is_refused_by_its_line(text: str | bytes, problem: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=problem):
        read_labels(written(tmp_path, text))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read: No such file"):
        read_labels(str(tmp_path / "none"))


def test_of_equally_near_questions_the_first_one_counts(tmp_path: Path) -> None:
    labeled = read_labels(written(tmp_path, LINES))
    found = find_nearest("Who painted the ceiling?", labeled, 2, "lexical")
    assert [each.label for each in found] == ["helps", "harms"]
    assert len(find_nearest("Who?", labeled, 9, "lexical")) == 3


def test_an_embedding_model_compares_by_cosine_and_embeds_the_labels_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []

    class Vectors:
        def passages(self, texts: tuple[str, ...]) -> Any:
            asked.append(texts)
            return np.array([[len(each), 0.0] if "Who" in each else [0.0, 0.0] for each in texts])

    monkeypatch.setattr("hopgraph.tools.retrieval.embeddings.resolve.resolve_embeddings", lambda _spec: Vectors())
    labeled_questions.__dict__["_unit_vectors"].cache_clear()
    labeled = read_labels(written(tmp_path, LINES))
    for question in ("Who is that over there?", "Who?"):
        assert [each.question[:3] for each in find_nearest(question, labeled, 3, "st:any")] == ["Who", "Who", "Whe"]
    assert len(asked) == 3
