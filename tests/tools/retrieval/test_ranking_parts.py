"""The scores are computed for a block of passages at a time; where it ends must not matter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopgraph.tools.retrieval import index
from hopgraph.tools.text import DEFAULT_ANALYSER

TEXTS = st.lists(
    st.lists(st.sampled_from(["fox", "hen", "owl", "cat", "dog", "cow", "the"]), max_size=9), min_size=1, max_size=9
)


def found(texts: list[list[str]], words: list[str]) -> list[list[tuple[int, float]]]:
    term_ids = index.TermIds(DEFAULT_ANALYSER)
    for text in texts:
        term_ids.add(" ".join(text))
    best = index.compute_ranking(term_ids, [str(number) for number in range(len(texts))]).search
    return [best([word], len(texts)) for word in words]


@given(texts=TEXTS.filter(lambda texts: any(set(text) - {"the"} for text in texts)), rows=st.integers(1, 4))
def test_blocks_of_any_size_give_the_same_scores(texts: list[list[str]], rows: int) -> None:
    words = ["fox", "hen", "owl", "cat", "dog", "cow"]
    whole = found(texts, words)
    assert any(whole)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "_ROWS", rows)
        assert found(texts, words) == whole
