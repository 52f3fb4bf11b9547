"""The vote of the nearest training questions."""

from pathlib import Path
from typing import Any

import pytest

from hopgraph.nodes.weigh_neighbours import weigh_neighbours
from hopgraph.state.baselines import SkrKnnContext
from support.baselines_script import QUESTION, labels_in
from support.node_inputs import node_runtime


@pytest.mark.parametrize(("label", "retrieves"), [("helps", True), ("harms", False)])
async def test_it_writes_the_decision(label: str, retrieves: bool, tmp_path: Path) -> None:
    state: Any = {"question": QUESTION}
    settings = SkrKnnContext(labels=labels_in(tmp_path, label), model="offline:extractive", retriever="sample")
    assert await weigh_neighbours(state, node_runtime(settings)) == {"needs_retrieval": retrieves}
