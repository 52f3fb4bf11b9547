"""BlendFilter's filter: passages weighed, then named."""

import pytest
from pydantic import ValidationError

from hopgraph.nodes.filter_passages import Relevance


@pytest.mark.parametrize(
    ("said", "numbers"),
    [
        ([2, 1], [2, 1]),
        ("[12]", [12]),
        (3, [3]),
        ("none", []),
        ("No.", []),
        (False, []),
        ([], []),
        (["Passage 4"], [4]),
    ],
)
def test_relevant_passages_are_read_as_numbers(said: object, numbers: list[int]) -> None:
    assert Relevance.model_validate({"relevant": said}).relevant == numbers


@pytest.mark.parametrize("said", ["yes", True, {"a": 1}, None])
def test_what_names_no_passage_is_not_taken_for_none(said: object) -> None:
    with pytest.raises(ValidationError):
        Relevance.model_validate({"relevant": said})
