"""A method's steps are those that its graph asks, no more and no fewer, and each has a prompt."""

import pytest

from hopgraph.graphs import ALIASES, METHODS
from hopgraph.tools.prompts import read_prompt
from support.paths import ROOT

NAMES = sorted(METHODS.keys() - ALIASES.keys())


@pytest.mark.parametrize("name", NAMES)
def test_every_step_has_a_prompt(name: str) -> None:
    steps = METHODS[name].Context.steps
    assert steps
    for step in steps:
        assert read_prompt(f"{name}/{step}").instructions


def test_every_prompt_belongs_to_a_method() -> None:
    common = {path.stem for path in (ROOT / "nodes" / "prompts" / "common").glob("*.md")}
    assert common == {step for name in NAMES for step in METHODS[name].Context.all_steps()}
