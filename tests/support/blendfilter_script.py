"""Scripted replies for BlendFilter: eleven calls, one film, its director and her town."""

import json
import re
from collections.abc import Mapping
from typing import Any

from support.walks import FixedRetriever

QUESTION = "Where was the director of the film Night Harbour born?"
FILM = ("Night Harbour", "Night Harbour is a 1961 film. It was directed by Ada Brink.")
PERSON = ("Ada Brink", "Ada Brink was a director. She was born in Tallinn.")
TOWN = ("Tallinn", "Tallinn is a town on the Baltic Sea.")
NOISE = ("Harbour", "A harbour shelters ships. Many a film is set in a harbour at night.")
FOUND: dict[str, dict[str, tuple[str, str]]] = {
    r"^Brink was": {"person": PERSON, "town": TOWN},
    r"^Ada Brink directed": {"film": FILM, "person": PERSON},
    "": {"film": FILM, "noise": NOISE},
}
A_EX = "Brink was its director."
A_IN = "Ada Brink directed Night Harbour."
LIMIT = 11


def block(name: str, prompt: str) -> str:
    found = re.search(rf"<{name}>\n(.*)\n</{name}>", prompt, re.DOTALL)
    return found[1] if found else ""


def titles(prompt: str) -> list[str]:
    return re.findall(r'title="([^"]*)"', prompt)


def relevant(prompt: str) -> str:
    kept = [number for number, title in enumerate(titles(prompt), start=1) if title not in {"Harbour", "Tallinn"}]
    return json.dumps({"relevant": kept})


def reason(_prompt: str) -> str:
    """Reason over the first passages."""
    return json.dumps({"reasoning": A_EX, "answer": "", "used_passages": [1]})


def read(prompt: str) -> str:
    """Answer from the kept passages, one of which should be the director's."""
    shown = titles(prompt)
    if "Ada Brink" not in shown:
        return json.dumps({"reasoning": A_EX, "answer": "her home town", "used_passages": [1]})
    used = [shown.index("Ada Brink") + 1]
    said = "Ada Brink directed Night Harbour and was born in Tallinn."
    return json.dumps({"reasoning": said, "answer": "the town of Tallinn", "used_passages": used})


def replies(**other: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {
        "reason": reason,
        "answer_step_by_step": read,
        "write_passage": lambda _: json.dumps({"passage": A_IN}),
        "name_topic": lambda _: json.dumps({"topic": "film directors"}),
        "judge_passages": lambda prompt: json.dumps({"judgement": f"Of {titles(prompt)} some help."}),
        "select_passages": relevant,
        "shorten": lambda _: json.dumps({"answer": "Tallinn"}),
    }
    return {**usual, **other}


def fixed(found: Mapping[str, Any] = FOUND) -> FixedRetriever:
    return FixedRetriever(found=dict(found))
