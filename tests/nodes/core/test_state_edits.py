"""What a person writes into a thread's state by `update_state`."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, Overwrite, StateUpdate

from hopgraph.graphs import genground, migres, tree_of_reviews
from hopgraph.state import HopgraphError, SettingsError

QUESTION: Any = {"question": "In which city was the director of the film Pan's Labyrinth born?"}
THREAD: Any = {"configurable": {"thread_id": "1"}}
BORN = "Guillermo del Toro was born in Guadalajara."


@pytest.fixture
def graph() -> Any:
    """A run of MIGRES that stands before its first decision."""
    compiled = migres.build().compile(checkpointer=InMemorySaver())
    compiled.invoke(QUESTION, THREAD, interrupt_before=["decide"])
    return compiled


def values(graph: Any) -> Any:
    return graph.get_state(THREAD).values


@pytest.mark.parametrize("query", ["Who was he?", {"text": "Who was he?"}, {"text": "Who was he?", "why": ""}])
def test_a_query_in_its_natural_forms(graph: Any, query: Any) -> None:
    graph.update_state(THREAD, {"queries": [query]}, as_node="generate_queries")
    assert values(graph)["queries"] == [{"text": "Who was he?", "why": ""}]
    graph.invoke(None, THREAD)
    assert "Who was he?" in values(graph)["asked"]


async def test_evidence_in_its_natural_form(graph: Any) -> None:
    passage = values(graph)["passages"][0]
    statement = {"statement": BORN, "passage_ids": [passage["id"]]}
    await graph.aupdate_state(THREAD, {"evidence": [statement, {**statement, "statement": "He was."}]})
    first, second = (each for each in values(graph)["evidence"] if each["id"].startswith("1.0."))
    assert (first["id"], first["statement"], first["verified"]) == ("1.0.1", BORN, False)
    assert first["quote"] in passage["text"]
    assert first["quote"]
    assert second["id"] == "1.0.2"
    await graph.aupdate_state(THREAD, {"evidence": [{**statement, "statement": "He lived."}]})
    assert "1.0.3" in {each["id"] for each in values(graph)["evidence"]}
    assert (await graph.ainvoke(None, THREAD))["answer"]


def test_a_passage_may_come_with_the_evidence_that_rests_on_it(graph: Any) -> None:
    text = "Guillermo del Toro was born in Guadalajara. He makes films."
    passage = {"id": "mine", "title": "", "text": text, "score": 1.0, "source": "notes", "hop": 1}
    directed = {"statement": "Pan's Labyrinth was directed by Guillermo del Toro.", "passage_ids": ["pans-labyrinth"]}
    evidence = [directed, {"statement": BORN, "passage_ids": ["mine"]}]
    graph.update_state(THREAD, {"evidence": Overwrite(evidence), "passages": [passage]})
    assert values(graph)["evidence"][1]["quote"] == BORN
    assert "mine" in {each["passage_id"] for each in graph.invoke(None, THREAD)["citations"]}


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"queries": "Who?"}, r"^queries: expected a list, got 'Who\?'"),
        ({"queries": [3]}, r"^queries\[0\]: expected an object with text, why, got 3"),
        ({"queries": [{"tex": "Who?"}]}, r"^queries\[0\]: 'tex' is unknown; did you mean 'text'"),
        ({"queries": [{"text": None}]}, r"^queries\[0\]: text: .*got None"),
        ({"evidence": ["He was."]}, r"^evidence\[0\]: expected an object"),
        ({"evidence": [{"statment": "He was."}]}, r"'statment' is unknown; did you mean 'statement'"),
        ({"evidence": [{"statement": "He was."}]}, r"^evidence\[0\]: passage_ids: Field required"),
        ({"evidence": [{"statement": "He was.", "passage_ids": []}]}, "passage_ids is empty"),
        ({"evidence": [{"statement": "He was.", "passage_ids": ["nowhere"]}]}, "no passage has the id 'nowhere'"),
        ({"evidence": [{"id": "mine", "statement": "He was.", "passage_ids": ["pans-labyrinth"]}]}, "got 'mine'"),
        ({"evidence": Overwrite([{"statement": 3, "passage_ids": []}])}, r"^evidence\[0\]: statement: .*got 3"),
        ({"passages": [{"id": "mine", "text": "…"}]}, r"^passages\[0\]: title: Field required"),
        ({"iteration": "2"}, "^iteration: .* got '2'"),
        ({"asked": Overwrite("Who?")}, r"^asked: .* got 'Who\?'"),
        ({"candidates": [3]}, "^candidates: 0: .* got 3"),
        (
            {"candidates": [{"query": "Who?", "passage_ids": ["nowhere"], "scores": [1.0]}]},
            "^candidates: no passage has the id 'nowhere'",
        ),
        ({"calls": {"x": {"kind": "model"}}}, "^calls: x.role: Field required"),
        ({"missin": "where"}, "^'missin': the state has no such key; did you mean 'missing'"),
        ({"passages": Overwrite([])}, r"^\w+: no passage has the id"),
    ],
)
async def test_what_cannot_be_read_is_named_in_one_line(graph: Any, written: Any, said: str) -> None:
    before = values(graph)
    with pytest.raises(SettingsError, match=said) as caught:
        graph.update_state(THREAD, written)
    assert "\n" not in str(caught.value)
    with pytest.raises(SettingsError, match=said):
        await graph.aupdate_state(THREAD, written)
    with pytest.raises(SettingsError, match=said):
        graph.bulk_update_state(THREAD, [[StateUpdate(written, "nli_verify")]])
    assert values(graph) == before


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (Command(update={"missin": "where"}), "'missin': the state has no such key"),
        (Command(update=[("missing", "when"), ("missin", "where")]), "'missin': the state has no such key"),
        (Command(goto="decidee"), "goto: the graph has no node 'decidee'; did you mean 'decide'"),
    ],
)
def test_a_command_names_keys_and_nodes_of_the_graph(graph: Any, command: Any, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        graph.invoke(command, THREAD)


def test_what_does_not_fit_together_is_one_line() -> None:
    compiled = genground.build().compile(checkpointer=InMemorySaver())
    compiled.invoke(QUESTION, THREAD, interrupt_before=["ground"])
    compiled.update_state(THREAD, {"hops": []})
    with pytest.raises(HopgraphError, match=r"^node ground: it cannot work on this state"):
        compiled.invoke(None, THREAD)


def test_other_updates_are_written_as_they_are(graph: Any) -> None:
    graph.update_state(THREAD, {"question": "Who painted Guernica?"})
    graph.update_state(THREAD, None, as_node="nli_verify")
    assert values(graph)["question"] == "Who painted Guernica?"


def test_it_is_the_same_in_a_method_with_a_tree() -> None:
    compiled = tree_of_reviews.build().compile(checkpointer=InMemorySaver())
    compiled.invoke(QUESTION, THREAD, interrupt_before=["finish"])
    passage = values(compiled)["passages"][0]["id"]
    compiled.update_state(THREAD, {"evidence": [{"statement": BORN, "passage_ids": [passage]}]})
    assert any(each["statement"] == BORN for each in values(compiled)["evidence"])
    assert compiled.invoke(None, THREAD)["answer"]
