"""Every reply of the rehearsal model fits its role, for every role of every method, right or wrong."""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from hopgraph.graphs import ALIASES, METHODS
from hopgraph.tools.apps.evaluation.rehearsal import make_rehearsal
from support.honest import QUESTIONS, input_for, ways
from support.walks import walk

ROLES = [(name, step) for name in sorted(METHODS.keys() - ALIASES.keys()) for step in METHODS[name].Context.steps]
SAMPLE = Path(str(files("hopgraph.tools.retrieval.sample")))
PERFECT, KNOWING, ERRING = "", "?knowledge=1", "?error=0.3&knowledge=0.5&seed=2"
PAPERS = {"migres", "blendfilter", "genground", "ra_isf", "tree_of_reviews"}
"""The others are slow."""


@cache
def asked_by(method: str, player: str) -> list[dict[str, Any]]:
    """Run a method in all ways in which its steps are asked; gives its `asked` events."""
    runs = {repr(way.settings): way for way in ways(method).values()}
    model = make_rehearsal(f"{SAMPLE}{player}")
    told: list[dict[str, Any]] = []
    for number, way in enumerate(runs.values()):
        for question in QUESTIONS[: 1 if number else None]:  # another way asks the same roles in another order
            ran = walk(METHODS[method].graph, input_for(method, question), way.context(model=model))
            told += [event["data"] for event in ran.events if event["event"] == "asked"]
    return told


@pytest.mark.parametrize(
    ("method", "step"), [pytest.param(*role, marks=[pytest.mark.long] * (role[0] not in PAPERS)) for role in ROLES]
)
def test_each_reply_is_usable_at_once(method: str, step: str) -> None:
    told = [
        data
        for each in (PERFECT, KNOWING, ERRING)
        for data in asked_by(method, each)
        if data["role"] == f"{method}/{step}"
    ]
    assert told
    assert {data["outcome"] for data in told} == {"replied"}
    assert sum(data["parse_failures"] for data in told) == 0
