"""What every method's graph begins and ends with, and its choices by a key of the state."""

from typing import Any

import pytest

from hopgraph.nodes.core.answer_graph import AnswerGraph
from hopgraph.state import Context, MethodState
from hopgraph.state.context import setting


class State(MethodState):
    """A state and a setting that are empty or not."""


class Asking(Context):
    """A setting that no state has."""

    often: bool = setting("Method", False, "whether to ask often")


@pytest.mark.parametrize(
    ("key", "state", "often", "label"),
    [
        ("queries", {"queries": [1]}, False, "new queries"),
        ("queries", {"queries": []}, True, "none left"),
        ("often", {}, True, "new queries"),
        ("often", {}, False, "none left"),
    ],
)
async def test_a_choice_is_by_what_the_state_or_a_setting_has_under_a_key(
    key: str, state: Any, often: bool, label: str
) -> None:
    chosen = list[str]()

    async def begin(_state: State) -> Any:
        return state

    async def yes(_state: State) -> Any:
        chosen.append("new queries")

    async def no(_state: State) -> Any:
        chosen.append("none left")

    builder = AnswerGraph(State, Asking)
    builder.add_node("begin", begin).add_node("yes", yes).add_node("no", no).add_edge("prepare", "begin")
    builder.add_branch("begin", key, {"new queries": "yes"}, {"none left": "no"})
    await builder.finish_after("yes", "no").compile().ainvoke({"question": "Who?"}, context=Asking(often=often))
    assert chosen == [label]
