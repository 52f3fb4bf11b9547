"""Whether the model knows the answer: yes or no, or by a vote of the nearest training questions."""

import pytest
from pydantic import ValidationError

from hopgraph.nodes.self_knowledge import SelfKnowledge, needs_retrieval


@pytest.mark.parametrize(("said", "known"), [(True, True), ("Yes.", True), ("no", False), ("Unknown", False)])
def test_self_knowledge_is_yes_or_no(said: object, known: bool) -> None:
    assert SelfKnowledge.model_validate({"known": said}).known is known


@pytest.mark.parametrize("said", ["perhaps", "", 7, [], {}, None])
def test_anything_else_is_no_self_knowledge(said: object) -> None:
    with pytest.raises(ValidationError):
        SelfKnowledge.model_validate({"known": said})


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
