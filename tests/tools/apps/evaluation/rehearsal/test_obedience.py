"""With obey=strict, prohibitions in the prompt override the gold annotations."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from hopgraph.nodes.decide import Decision
from hopgraph.tools.apps.evaluation.rehearsal import make_rehearsal
from hopgraph.tools.prompts.delimit import Value, format_block
from hopgraph.tools.prompts.prompt_files import read_prompt
from support.musique_record import musique_record

QUESTION = "Which of Ada Brink and Tomas Weil won more prizes?"
PEOPLE = {"Ada Brink": "won the Larvik Prize", "Tomas Weil": "lived in Graz and never took part in a contest"}
BOTH = "A comparison needs both sides."
EXCEPTION = "Only where no record means none does a record for one of two described sides decide it."


@pytest.fixture
def comparison(tmp_path: Path) -> Path:
    """A comparison in MuSiQue's format in which one side has no record."""
    texts = [(name, f"{name} {said}.") for name, said in PEOPLE.items()]
    answers = zip(PEOPLE, ("Larvik Prize", "none"), strict=True)
    steps = [(f"Which prize did {name} win?", answer, place) for place, (name, answer) in enumerate(answers)]
    record = musique_record("2hop__1_2", QUESTION, texts, steps, "Ada Brink")
    path = tmp_path / "comparison.jsonl"
    path.write_text(json.dumps(record), encoding="utf-8")
    return path


def decide(path: Path, obey: str, instructions: str, information: Sequence[str], step: str = "decide") -> Any:
    blocks: dict[str, Value] = {"information": [*information], "question": QUESTION}
    said = "\n\n".join(format_block(name, value) for name, value in blocks.items())
    messages: list[BaseMessage] = [SystemMessage(f"Role: any/{step}\n{instructions}"), HumanMessage(said)]
    return json.loads(make_rehearsal(f"{path}?obey={obey}").reply_to(messages))


@pytest.mark.parametrize(
    ("obey", "instructions", "named"),
    [
        ("strict", "Name only the one to look up first.", 1),
        ("strict", "Name every missing thing.", 2),
        ("gold", "Name only the one to look up first.", 2),
        ("strict", read_prompt("migres/decide").instructions, 2),
    ],
)
def test_it_names_one_missing_item_if_the_prompt_forbids_more(
    comparison: Path, obey: str, instructions: str, named: int
) -> None:
    missing = Decision.model_validate(decide(comparison, obey, instructions, [])).missing_information
    assert sum(name in missing for name in PEOPLE) == named


@pytest.mark.parametrize(
    ("obey", "instructions", "answered"),
    [("gold", BOTH, True), ("strict", BOTH, False), ("strict", f"{BOTH} {EXCEPTION}", True)],
)
def test_a_side_without_a_record_decides_only_if_the_prompt_allows_it(
    comparison: Path, obey: str, instructions: str, answered: bool
) -> None:
    known = ["Which prize did Ada Brink win: Larvik Prize.", "Which prize did Tomas Weil win: none."]
    decision = Decision.model_validate(decide(comparison, obey, instructions, known))
    assert decision.answer.text == ("Ada Brink" if answered else "unanswerable")
