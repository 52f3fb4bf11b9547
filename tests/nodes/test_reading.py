"""An answer with its evidence, read from a reply."""

from hopgraph.nodes.reading import excerpts_of_all_queries
from support.node_inputs import knowledge


def test_a_passage_is_shown_once_at_its_first_place() -> None:
    entries = [knowledge("q1", "b"), knowledge("q2"), knowledge("q3", "a", "b")]
    assert [each["passage_id"] for each in excerpts_of_all_queries(entries)] == ["b", "a"]
