"""Citation recall and precision by ALCE's definition, from an answer to the table."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hopgraph.tools.apps.evaluation.citation_metrics import CitationScores, cited_sentences, score_citations
from support.evaluation_runs import citation
from support.paths import SAMPLE


class Checker:
    """Entails a sentence if the premise has all its letters."""

    name, threshold = "letters", 0.5

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [float(set(said.split()) <= set(premise.split())) for premise, said in pairs]


TEXTS = {"1": "a b", "2": "c", "3": "a b c", "4": "z"}
CITED = [*(citation(key, text) for key, text in TEXTS.items()), citation("", "known", kind="model")]


@pytest.mark.parametrize(
    ("answer", "recall", "precision"),
    [
        ("a b [1].", 1.0, 1.0),
        ("a b c [1][2].", 1.0, 1.0),  # together only
        ("a b c [3][1].", 1.0, 0.5),  # only the first suffices
        ("a b [1][3].", 1.0, 1.0),  # each one suffices
        ("a b [4].", 0.0, 0.0),
        ("a b. c [2].", 0.5, 1.0),  # a missing citation lowers only recall
        ("a b [1]. c [4].", 0.5, 0.5),
        ("a b.", 0.0, 0.0),
        ("a b [5].", 0.0, 0.0),  # the model's own knowledge does not count
        ("a b [1][9].", 1.0, 1.0),
        ("", 0.0, 0.0),
    ],
)
def test_recall_and_precision(answer: str, recall: float, precision: float) -> None:
    given = answer.replace(".", " .")  # so that words are letters
    assert score_citations(given, CITED, {key: f"{text} ." for key, text in TEXTS.items()}, Checker()) == (
        CitationScores(recall, precision)
    )


def test_marks_belong_to_the_preceding_sentence() -> None:
    found = cited_sentences("Ada Brink was born in Larvik. [1][2] She died in Oslo [3], they say.")
    assert [(each.text, each.cited) for each in found] == [
        ("Ada Brink was born in Larvik.", (1, 2)),
        ("She died in Oslo, they say.", (3,)),
    ]
    markdown = cited_sentences("## Her life\n\nShe was born in Larvik [1].\n\n- She died in Oslo [2].\n- She sang.")
    assert [(each.text, each.cited) for each in markdown] == [
        ("She was born in Larvik.", (1,)),
        ("She died in Oslo.", (2,)),
        ("She sang.", ()),
    ]


def test_answers_in_sentences_have_citation_scores(run: Callable[..., Any], tmp_path: Path) -> None:
    settings = ["--methods", "one_step", "--set", "answer_type=sentence", "--model", "rehearsal"]
    ran = run("eval", str(SAMPLE), *settings, "--limit", "3", "--out", str(tmp_path / "run"))
    assert ran.code == 0, ran.err
    lines = (tmp_path / "run" / "results" / "one_step.jsonl").read_text().splitlines()
    answered = [each for each in map(json.loads, lines) if each["answer"]]
    assert answered
    assert all({"citation_recall", "citation_precision"} <= each.keys() for each in answered)
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())["one_step"]
    assert {"citation_recall", "citation_precision"} <= summary["ci95"].keys()
    assert "citation R" in run("compare", str(tmp_path / "run")).out
