"""The paragraphs of a large tree, ranked by the answer."""

from typing import Any

import pytest

from hopgraph.nodes.fuse import rank_passages
from hopgraph.state.tree_of_reviews import TreeOfReviewsContext
from support.node_inputs import evidence, node_runtime, passage


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
