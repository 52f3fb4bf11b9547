"""Actions, as models write them."""

import pytest

from hopgraph.nodes.hops.next_step import Action, Deduction


@pytest.mark.parametrize(
    ("written", "wish"),
    [
        ("search[a [b] c]", Deduction(question="a [b] c")),
        (" SEARCH [two\nlines]  ", Deduction(question="two lines")),
    ],
)
def test_how_a_search_may_be_written(written: str, wish: Deduction) -> None:
    assert Action(action=written).deduction() == wish
    assert Action.asking("Who?").deduction() == Deduction(question="Who?")


@pytest.mark.parametrize("written", ["search[]", "finish[ ]", "look up[x]", "search x", "finish[x] now", ""])
def test_what_is_no_action(written: str) -> None:
    with pytest.raises(ValueError, match=r"expected search\[query\]"):
        Action(action=written)
