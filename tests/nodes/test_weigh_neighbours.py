"""The vote of the nearest training questions."""

from pathlib import Path
from typing import Any

import pytest

from hopgraph.nodes.self_knowledge import needs_retrieval, vote_of_neighbours
from hopgraph.state.baselines import SkrKnnContext
from support.baselines_script import QUESTION, labels_in
from support.node_inputs import node_runtime


@pytest.mark.parametrize(("label", "retrieves"), [("helps", True), ("harms", False)])
async def test_it_writes_the_decision(label: str, retrieves: bool, tmp_path: Path) -> None:
    state: Any = {"question": QUESTION}
    settings = SkrKnnContext(labels=labels_in(tmp_path, label), model="offline:extractive", retriever="sample")
    assert await vote_of_neighbours(state, node_runtime(settings)) == {"needs_retrieval": retrieves}


@pytest.mark.parametrize(
    ("votes", "labels", "retrieves"),
    [
        ((4, 1), (60, 40, 0), True),  # a margin of 1
        ((3, 2), (90, 10, 0), False),  # of 4
        ((3, 2), (90, 10, 400), True),  # of 0: most questions are the same either way
        ((2, 2), (50, 50, 0), False),
        ((2, 3), (10, 90, 0), True),
        ((0, 5), (10, 90, 0), False),
        ((1, 4), (40, 60, 740), False),
        ((2, 2), (40, 60, 740), True),
    ],
)
def test_the_vote_is_by_the_authors_margin(
    votes: tuple[int, int], labels: tuple[int, int, int], retrieves: bool
) -> None:
    neighbours: dict[str, int] = dict(zip(("helps", "harms"), votes, strict=True))
    every: dict[str, int] = dict(zip(("helps", "harms", "same"), labels, strict=True))
    assert needs_retrieval(neighbours, every) == retrieves
