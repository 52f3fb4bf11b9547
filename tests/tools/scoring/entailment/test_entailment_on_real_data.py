"""What the lexical check is worth on human judgements; README and the module's docstring state these figures."""

import json
import re
from pathlib import Path

import pytest

from hopgraph.tools.scoring.entailment.lexical import LexicalEntailment
from support.paths import ROOT

SETS = {
    "WiCE dev": ("wice/oracle_chunks_claim_dev.jsonl", "supported"),
    "FEVER-symmetric": ("fever_symmetric/dev.jsonl", "SUPPORTS"),
}


def measured(path: Path, positive: str) -> tuple[float, float, float, float]:
    """Accuracy, precision, recall and F1 of "supported" against the rest."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    evidence = [
        " ".join(each["evidence"]) if isinstance(each["evidence"], list) else each["evidence"] for each in records
    ]
    checker = LexicalEntailment()
    scores = checker.score([(premise, each["claim"]) for premise, each in zip(evidence, records, strict=True)])
    found = [score >= checker.threshold for score in scores]
    right = [each["label"] == positive for each in records]
    both = sum(a and b for a, b in zip(found, right, strict=True))
    precision, recall = both / sum(found), both / sum(right)
    same = sum(a == b for a, b in zip(found, right, strict=True))
    return same / len(right), precision, recall, 2 * precision * recall / (precision + recall)


def stated(text: str, name: str) -> list[float] | None:
    """Read the figures below 1 of a set's row in a table; None for no such row."""
    row = re.search(rf"^\W*{re.escape(name)}\b.*$", text, re.MULTILINE)
    return [float(each) for each in re.findall(r"\b0?\.\d{3}\b", row[0])] if row else None


@pytest.mark.parametrize("name", [pytest.param("WiCE dev", marks=pytest.mark.long), "FEVER-symmetric"])
def test_figures_are_as_stated(name: str, shared_data: Path) -> None:
    file, positive = SETS[name]
    if not (shared_data / file).is_file():
        pytest.skip(f"needs {file}")
    found = measured(shared_data / file, positive)
    print(f"\n{name}: accuracy {found[0]:.3f}, precision {found[1]:.3f}, recall {found[2]:.3f}, F1 {found[3]:.3f}")  # noqa: T201
    in_guide = stated((ROOT / "docs" / "models.md").read_text(encoding="utf-8"), name)
    assert in_guide is not None
    assert found == pytest.approx(in_guide, abs=0.0006)
