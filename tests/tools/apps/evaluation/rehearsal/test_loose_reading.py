"""With reads=loose the rehearsal model recognizes reworded facts and questions."""

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, SystemMessage

from hopgraph.tools.apps.evaluation.rehearsal import make_rehearsal

QUESTION = "Where was the director of Night Harbour born?"
FILM = "Night Harbour is a drama film that won several prizes. Its director was Ada Brink. It ran for a year."


def said(films: Path, role: str, blocks: str, question: str = QUESTION, *, reads: str = "loose") -> dict[str, Any]:
    asked = HumanMessage(f"{blocks}\n\n<question>\n{question}\n</question>")
    return json.loads(make_rehearsal(f"{films}?reads={reads}").reply_to([SystemMessage(f"Role: {role}"), asked]))


def information(*facts: str) -> str:
    items = "\n".join(f'<item id="{n}">{fact}</item>' for n, fact in enumerate(facts, 1))
    return f"<information>\n{items}\n</information>"


def test_reworded_facts_are_recognized(films: Path) -> None:
    facts = information(
        "Ada Brink made Night Harbour, of which she was the director.", "Brink, Ada, was born in Larvik."
    )
    assert said(films, "migres/decide", facts)["answer"]["text"] == "Larvik"
    assert said(films, "migres/decide", facts, reads="exact")["answer"]["text"] == "unanswerable"


@pytest.mark.parametrize(
    "facts",
    [
        ["Tomas Weil made Night Harbour, of which he was the director.", "Brink, Ada, was born in Larvik."],
        ["Ada Brink made Night Harbour, of which she was the director.", "Larvik is an old town."],
        ["Ada Brink is a person.", "Larvik is in Norway."],
    ],
)
def test_facts_that_lack_a_name_or_differ_are_not_recognized(films: Path, facts: list[str]) -> None:
    assert said(films, "migres/decide", information(*facts))["answer"]["text"] == "unanswerable"


def test_a_reworded_question_is_recognized(films: Path) -> None:
    shown = f'<passages>\n<passage id="1" title="Night Harbour">\n{FILM}\n</passage>\n</passages>'
    asked = "Who was the director that made Night Harbour?"
    assert said(films, "genground/ground", shown, asked)["revise"] == "Ada Brink"
    assert said(films, "genground/ground", shown, asked, reads="exact")["revise"] == ""
    assert said(films, "genground/ground", shown, "Who was the director that made it?")["revise"] == ""
    assert said(films, "genground/ground", shown, "Who stars in Copper Sky?")["revise"] == ""
