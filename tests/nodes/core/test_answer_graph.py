"""What every method's graph begins and ends with, and its choices by a key of the state."""

from typing import Any

import pytest

from hopgraph.nodes.core.answer_graph import AnswerGraph
from hopgraph.state import Context, MethodState


@pytest.mark.parametrize(
    ("state", "label"),
    [
        ({"queries": [1]}, "new queries"),
        ({"queries": []}, "none left"),
        ({"settings": {"queries": True}}, "new queries"),
        ({"settings": {"queries": False}, "queries": [1]}, "new queries"),
    ],
)
async def test_a_choice_is_by_what_the_state_or_a_setting_has_under_a_key(state: dict[str, Any], label: str) -> None:
    builder = AnswerGraph(MethodState, Context)
    builder.add_choice("prepare", "queries", {"new queries": "prepare"}, {"none left": "finish"})
    [branch] = builder.branches["prepare"].values()
    assert await branch.path.ainvoke(state) == label
    assert branch.ends == {"new queries": "prepare", "none left": "finish"}


def test_other_edges_may_lead_to_the_end() -> None:
    builder = AnswerGraph(MethodState, Context)
    builder.add_choice("prepare", "queries", {"again": "prepare"}, {"done": "finish"})
    drawn: Any = builder.end().compile().get_graph()
    assert {(edge.source, edge.target) for edge in drawn.edges} == {
        ("__start__", "prepare"),
        ("prepare", "prepare"),
        ("prepare", "finish"),
        ("finish", "__end__"),
    }
