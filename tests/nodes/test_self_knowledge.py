"""Whether a passage is needed, by a vote of the nearest training questions."""

import pytest

from hopgraph.nodes.self_knowledge import needs_retrieval


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
    neighbors: dict[str, int] = dict(zip(("helps", "harms"), votes, strict=True))
    every: dict[str, int] = dict(zip(("helps", "harms", "same"), labels, strict=True))
    assert needs_retrieval(neighbors, every) == retrieves
