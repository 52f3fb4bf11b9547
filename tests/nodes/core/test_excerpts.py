"""Excerpts of passages as prompts show them."""

from hypothesis import given
from hypothesis import strategies as st

from hopgraph.nodes.core.excerpts import excerpt_text, passages_by_id, prompt_passages, truncated_excerpt, with_title
from hopgraph.state import Excerpt, Passage
from hopgraph.tools.models.tokens import count_tokens, token_offset
from support.node_inputs import passage


def test_an_excerpt_shows_its_gaps_and_nothing_twice() -> None:
    text = "One. Two. Three."
    assert excerpt_text(Excerpt(passage_id="a", spans=[[0, 4], [10, 16]], text="", score=0), passage("a", text)) == (
        "One. … Three."
    )
    assert excerpt_text(Excerpt(passage_id="a", spans=[[0, 4], [5, 9]], text="", score=0), passage("a", text)) == (
        "One. Two."
    )
    written = Excerpt(passage_id="a", spans=[], text="Short.", score=0)
    assert prompt_passages([written], passages_by_id([passage("a", text)])) == [{"title": "A", "text": "Short."}]
    assert with_title(passage("a", "x")) == "A\nx"
    assert with_title(passage("a", "x", title="")) == "x"


@given(st.text(max_size=200), st.integers(1, 50))
def test_a_cut_passage_has_at_most_so_many_tokens(text: str, tokens: int) -> None:
    passage = Passage(id="a", title="A", text=text, score=1.0, source="s", hop=1)
    shown = excerpt_text(truncated_excerpt(passage, 1.0, tokens), passage)
    assert text.startswith(shown)
    assert count_tokens(shown) == min(tokens, count_tokens(text))
    assert excerpt_text(truncated_excerpt(passage, 1.0, None), passage) == text
    assert token_offset(text, tokens) == len(shown)
