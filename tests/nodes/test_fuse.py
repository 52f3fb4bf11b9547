"""What a reader falls back on when the search has ended, and the paragraphs of a large tree, ranked by the answer."""

from typing import Any

import pytest

from hopgraph.nodes.fuse import rank_passages, within
from hopgraph.state.tree_of_reviews import TreeOfReviewsContext
from hopgraph.tools.models.tokens import count_tokens
from support.node_inputs import evidence, node_runtime, passage


@pytest.mark.parametrize(("most", "chosen"), [(100, [0, 1, 2]), (2, [0, 2]), (0, [0])])
def test_texts_are_chosen_while_they_fit_and_the_first_always(most: int, chosen: list[int]) -> None:
    texts = ["one", "one two three four", "two"]
    assert [count_tokens(text) for text in texts] == [1, 4, 1]
    assert within([{text: text} for text in texts], most) == chosen
    assert within([], most) == []


def test_what_pieces_share_is_counted_once_and_equal_texts_are_not() -> None:
    own = ("three", "four", "five six")
    assert within([{"a": "one two", text: text} for text in own], 4) == [0, 1]
    assert within([{str(number): "one two"} for number in range(3)], 4) == [0, 1]


def ranking(*used: str) -> Any:
    return {
        "answer": "Lima",
        "explanation": "Lima is in Peru.",
        "evidence": [evidence(1, "Cats purr.", "c", "d"), evidence(2, "Lima is in Peru.", "b")],
        "used": list(used),
        "passages": [passage(key, text) for key, text in {"a": "x", "b": "Lima", "c": "Cats", "d": "Dogs"}.items()],
    }


@pytest.mark.parametrize(
    ("used", "most", "ids"),
    [
        (["1.1.2"], 3, ["b", "c", "d"]),
        (["1.1.2"], 1, ["b"]),
        (["1.1.1"], 1, ["c", "d"]),
        (["1.1.1", "1.1.2"], 3, ["b", "c", "d"]),
    ],
)
async def test_what_the_answer_rests_on_comes_first_and_is_never_left_out(
    used: list[str], most: int, ids: list[str]
) -> None:
    update = await rank_passages(ranking(*used), node_runtime(TreeOfReviewsContext(recall_passages=most)))
    assert [each["id"] for each in update["passages"].value] == ids


async def test_few_paragraphs_stay_as_they_are() -> None:
    assert await rank_passages(ranking(), node_runtime(TreeOfReviewsContext(recall_passages=4))) == {"passages": []}
