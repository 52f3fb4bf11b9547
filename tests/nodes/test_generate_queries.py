"""Queries for missing information, none of them asked before."""

from hopgraph.nodes.generate_queries import NewQueries, new_queries


def test_repeated_empty_and_endless_queries_are_dropped() -> None:
    said = NewQueries(queries=["where", " When\n was  it? ", "when was it", "…", "x" * 20_000])
    assert new_queries(said, known=["Where?"], why="w") == [{"text": "When was it?", "why": "w"}]
    assert NewQueries.model_validate({"queries": "When?"}).queries == ["When?"]
