"""Excerpts of passages as prompts show them."""

from hypothesis import given
from hypothesis import strategies as st

from hopgraph.nodes.core.excerpts import excerpt_text, truncated_excerpt
from hopgraph.state import Passage
from hopgraph.tools.models.tokens import count_tokens, token_offset


@given(st.text(max_size=200), st.integers(1, 50))
def test_a_cut_passage_has_at_most_so_many_tokens(text: str, tokens: int) -> None:
    passage = Passage(id="a", title="A", text=text, score=1.0, source="s", hop=1)
    shown = excerpt_text(truncated_excerpt(passage, 1.0, tokens), passage)
    assert text.startswith(shown)
    assert count_tokens(shown) == min(tokens, count_tokens(text))
    assert excerpt_text(truncated_excerpt(passage, 1.0, None), passage) == text
    assert token_offset(text, tokens) == len(shown)
