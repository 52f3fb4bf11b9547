"""How the answers of a draft are sampled."""

import pytest

from hopgraph.nodes.draft_answers import sampling_at


@pytest.mark.parametrize(
    ("top_p", "temperature", "expected"),
    [
        (0, 0.7, {"temperature": 0.0}),
        (0.5, 0.0, {"temperature": 1.0, "top_p": 0.5}),
        (0.5, None, {"temperature": 1.0, "top_p": 0.5}),
        (1, 0.7, {"temperature": 0.7, "top_p": 1}),
    ],
)
def test_sampling_at_a_share_of_the_probability(
    top_p: float, temperature: float | None, expected: dict[str, float]
) -> None:
    assert sampling_at(top_p, temperature) == expected
