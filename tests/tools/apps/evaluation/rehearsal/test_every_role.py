"""Every reply of the rehearsal model, right or wrong, fits its role, for all roles of all methods."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from hopgraph.graphs import ALIASES, METHODS
from hopgraph.tools.apps.evaluation.rehearsal import make_rehearsal
from support.honest import QUESTIONS, input_for, ways
from support.walks import walk

SAMPLE = Path(str(files("hopgraph.tools.retrieval.sample")))
PERFECT, KNOWING, ERRING = "", "?knowledge=1", "?error=0.3&knowledge=0.5&seed=2"
PAPERS = {"migres", "blendfilter", "genground", "ra_isf", "tree_of_reviews"}


def asked_by(method: str, player: str) -> list[dict[str, Any]]:
    """Run a method with settings that call all its steps; return its `asked` events."""
    runs = {repr(way.settings): way for way in ways(method).values()}
    model = make_rehearsal(f"{SAMPLE}{player}")
    told: list[dict[str, Any]] = []
    for number, way in enumerate(runs.values()):
        for question in QUESTIONS[: 1 if number else None]:  # other settings call the same roles in another order
            ran = walk(METHODS[method].graph, input_for(method, question), way.context(model=model))
            told += [event["data"] for event in ran.events if event["event"] == "asked"]
    return told


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(each, marks=pytest.mark.slow if each in PAPERS else pytest.mark.long)
        for each in sorted(METHODS.keys() - ALIASES)
    ],
)
def test_every_reply_can_be_parsed_without_a_retry(method: str) -> None:
    told = [data for player in (PERFECT, KNOWING, ERRING) for data in asked_by(method, player)]
    steps = set(METHODS[method].Context.steps) - {"use_tools"}  # for models with tool calling
    for role in (f"{method}/{step}" for step in sorted(steps)):
        own = [data for data in told if data["role"] == role]
        assert {data["outcome"] for data in own} == {"replied"}, role
        assert sum(data["parse_failures"] for data in own) == 0, role
