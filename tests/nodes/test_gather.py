"""What a reader falls back on when the search has ended."""

import pytest

from hopgraph.nodes.fuse import within
from hopgraph.tools.models.tokens import count_tokens


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
