"""What the memory sets aside of passages that were shown."""

import pytest

from hopgraph.nodes.core.excerpts import count_excerpts, sentences_left, whole_excerpt
from support.node_inputs import passage

TEXT = "The one. The two."


@pytest.mark.parametrize(
    ("text", "shown", "left"),
    [
        (TEXT, [], [(0, 8), (9, 17)]),
        (TEXT, [[0, 8], [9, 17]], [(0, 8), (9, 17)]),
        (TEXT, [[0, 8], [0, 17]], [(9, 17)]),
        (TEXT, [[0, 17], [0, 17]], []),
        ("The one.", [[0, 8]], [(0, 8)]),  # a sentence that is the whole passage counts once
        ("The one.", [[0, 8], [0, 8]], []),
        ("", [[0, 0]], []),
    ],
)
def test_a_sentence_is_left_until_it_counts_twice(
    text: str, shown: list[list[int]], left: list[tuple[int, int]]
) -> None:
    assert sentences_left(text, shown) == left


def test_excerpts_count_once_more() -> None:
    passages = {key: passage(key, TEXT) for key in "abc"}
    known = {"a": [[0, 17]]}
    compressed = {**whole_excerpt(passages["b"], 1.0), "spans": [], "text": "A summary."}
    excerpts = [whole_excerpt(passages["a"], 1.0), compressed]
    counted, excluded = count_excerpts(known, excerpts, passages)  # pyright: ignore[reportArgumentType]
    assert counted == {"a": [[0, 17], [0, 17]], "b": [[0, 17]]}
    assert excluded == ["a"]
    assert known == {"a": [[0, 17]]}
