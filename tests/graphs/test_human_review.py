"""Human in the loop in every method: each pause is paid for once, and what a person decides is what is used."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send
from typing_extensions import TypedDict

from hopgraph.graphs import METHODS, chat, migres
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.nodes.prepare import prepare_for
from hopgraph.nodes.retrieve import retrieve
from hopgraph.state import MethodState, QuestionInput, SettingsError
from support.blendfilter_script import QUESTION as BLEND_QUESTION
from support.blendfilter_script import fixed, replies
from support.every_method import NAMES, baselines_slow
from support.fake_clock import FakeClock
from support.honest import honest, input_for, model
from support.servers.scripted_model import ScriptedChatModel
from support.walks import Script

WITHOUT_SEARCH = {"direct", "cot", "cot_sc", "genread", "gold_passages", "least_to_most"}
WITHOUT_EVIDENCE = {"direct", "cot", "cot_sc", "least_to_most", "genread", "ra_isf"}
"""ra_isf finds none for this question, genread's own passage is empty."""
THREAD: Any = {"configurable": {"thread_id": "1"}}
COMPARISON = "Who was born earlier, the director of Seven Samurai or the director of Pan's Labyrinth?"


def as_shown(payload: dict[str, Any]) -> Any:
    return "approve"


def nothing(payload: dict[str, Any]) -> Any:
    return {"action": "reject"}


def other(payload: dict[str, Any]) -> Any:
    """Change every text that can be, keep one piece of evidence, and add a query."""
    if payload["kind"] == "queries":
        return [f"{each['text']} please" for each in payload["queries"]] + ["Guillermo del Toro birthplace"]
    first = payload["evidence"][0]
    return [{"id": first["id"], **({"text": f"{first['text']} Zanzibar"} if first["editable"] else {})}]


def unusable_first(payload: dict[str, Any]) -> Any:
    return "approve" if "problem" in payload else {"action": "dance"}


class Reviewed:
    """A run whose pauses are answered by a function of the payload."""

    def __init__(self, graph: Any, given: Any, context: Any, decide: Any, *, by_async: bool = False) -> None:
        self.payloads: list[dict[str, Any]] = []
        self.at_once: list[int] = []
        run: Any = graph.invoke
        if by_async:
            run = lambda *args, **options: asyncio.run(graph.ainvoke(*args, **options))  # noqa: E731
        result = run(given, THREAD, context=context)
        while "__interrupt__" in result:
            pauses = result["__interrupt__"]
            self.at_once.append(len(pauses))
            self.payloads += [each.value for each in pauses]
            assert len(self.payloads) < 100
            result = run(Command(resume={each.id: decide(each.value) for each in pauses}), THREAD, context=context)
        self.result: dict[str, Any] = result


def reviewed(name: str, setting: str, decide: Any, asked: ScriptedChatModel, **more: Any) -> Reviewed:
    graph = METHODS[name].build().compile(checkpointer=InMemorySaver(), name=name)
    return Reviewed(graph, input_for(name), METHODS[name].Context(model=asked, **{setting: True}), decide, **more)


@pytest.mark.parametrize("name", baselines_slow())
@pytest.mark.parametrize("setting", ["review_queries", "review_evidence"])
@pytest.mark.parametrize("decide", [as_shown, unusable_first])
def test_an_approved_run_is_the_run_without_review_and_costs_the_same(name: str, setting: str, decide: Any) -> None:
    plain, asked = model(), model()
    expected = METHODS[name].graph.invoke(input_for(name), context=METHODS[name].Context(model=plain))
    ran = reviewed(name, setting, decide, asked, by_async=decide is unusable_first)
    silent = WITHOUT_SEARCH if setting == "review_queries" else WITHOUT_EVIDENCE
    assert bool(ran.payloads) == (name not in silent) or name == "ra_isf"
    assert ran.result == expected
    assert len(asked.calls) == len(plain.calls) == expected["usage"]["llm_calls"]
    prompts = [Counter((call.role, call.messages[-1].text) for call in each.calls) for each in (asked, plain)]
    assert prompts[0] == prompts[1]
    for payload in ran.payloads:
        assert payload["question"]
        assert payload["instructions"]
        assert payload["hop"] >= 1
        assert payload[payload["kind"]]


def entered(graph: Any) -> tuple[set[str], dict[str, Any]]:
    """List the nodes that a thread's run entered, those of subgraphs left out, and what came of it."""
    history = list(graph.get_state_history(THREAD))
    return {name for each in history for name in each.next}, history[0].values


@pytest.mark.parametrize(
    "name", baselines_slow(among=sorted({*NAMES} - {"agent", "adaptive_rag", "cascade"}))
)  # inside of theirs
def test_a_review_is_a_node_that_only_a_run_with_review_enters(name: str) -> None:
    module = METHODS[name]
    graph = module.build().compile(checkpointer=InMemorySaver())
    reviews = {each for each in graph.get_graph().nodes if each.startswith("review_")}
    assert reviews or name in WITHOUT_SEARCH & WITHOUT_EVIDENCE
    graph.invoke(input_for(name), THREAD, context=module.Context(model=model()))
    plain, values = entered(graph)
    assert not plain & reviews
    assert values.get("reviewed", []) == []
    graph = module.build().compile(checkpointer=InMemorySaver())
    context = module.Context(model=model(), review_queries=True, review_evidence=True)
    Reviewed(graph, input_for(name), context, as_shown)
    seen, values = entered(graph)
    assert seen - plain == seen & reviews == set(values.get("reviewed", [])) & reviews
    assert bool(seen & reviews) == bool(reviews) or name == "ra_isf"  # most of its are in its subgraph


def test_a_breakpoint_after_the_review_shows_what_was_approved_and_sends_it() -> None:
    graph = migres.build().compile(checkpointer=InMemorySaver())
    context = migres.Context(model=model(), review_queries=True, max_iterations=1)
    paused: Any = graph.invoke(input_for("migres"), THREAD, context=context)
    assert graph.get_state(THREAD).next == ("review_queries",)
    [pause] = paused["__interrupt__"]
    given = Command(resume={pause.id: ["Pan's Labyrinth"]})
    graph.invoke(given, THREAD, context=context, interrupt_before=["retrieve"])
    state = graph.get_state(THREAD)
    assert state.next == ("retrieve",)
    assert [each["text"] for each in state.values["approved"]] == ["Pan's Labyrinth"]
    graph.invoke(None, THREAD, context=context)
    assert "Pan's Labyrinth" in graph.get_state(THREAD).values["asked"]


@pytest.mark.parametrize("by", ["send", "joined edge"])
def test_a_way_past_a_review_is_refused_before_anything_is_searched(by: str) -> None:
    builder = MethodGraph(MethodState, migres.Context, input_schema=QuestionInput)
    builder.add_node("prepare", prepare_for(MethodState))
    builder.add_node("retrieve", retrieve)
    builder.add_edge(START, "prepare")
    if by == "send":
        sent = {
            "question": "Who?",
            "queries": [{"text": "Who?", "why": ""}],
            "asked": [],
            "excluded": [],
            "iteration": 1,
        }
        builder.add_conditional_edges(
            "prepare", lambda state: [Send("retrieve", {**sent, "settings": state["settings"]})], ["retrieve"]
        )
    else:
        builder.add_edge(["prepare"], "retrieve")
    graph = builder.compile(checkpointer=InMemorySaver())
    assert graph.invoke({"question": "Who?"}, THREAD, context=migres.Context())["candidates"]
    with pytest.raises(SettingsError, match=r"^review_queries: retrieve was reached without review_queries"):
        graph.invoke({"question": "Who?"}, THREAD, context=migres.Context(review_queries=True))


@pytest.mark.parametrize("name", baselines_slow())
@pytest.mark.parametrize("setting", ["review_queries", "review_evidence"])
def test_what_is_rejected_is_not_used(name: str, setting: str) -> None:
    asked = model()
    ran = reviewed(name, setting, nothing, asked)
    assert len(asked.calls) == ran.result["usage"]["llm_calls"]
    if ran.payloads:
        assert ran.result["citations"] == []
    if setting == "review_queries" and ran.payloads:
        assert ran.result["usage"]["retrievals"] == 0
        assert ran.result["passages"] == []


@pytest.mark.parametrize("name", baselines_slow())
@pytest.mark.parametrize("setting", ["review_queries", "review_evidence"])
def test_what_is_edited_is_used_and_citations_stay_true(name: str, setting: str) -> None:
    asked = model()
    ran = reviewed(name, setting, other, asked)
    assert len(asked.calls) == ran.result["usage"]["llm_calls"]
    texts = {each["id"]: each["text"] for each in ran.result["passages"]}
    said = [f"{item['text']} Zanzibar" for payload in ran.payloads for item in payload.get("evidence", ())]
    for citation in ran.result["citations"]:
        if citation["kind"] == "passage":
            text = texts[citation["passage_id"]]
            assert text[citation["start"] : citation["end"]] == citation["quote"] != ""
            assert "Zanzibar" not in citation["quote"]
        elif citation["kind"] == "reviewer":
            assert any(citation["quote"] in text for text in said)


def test_an_edited_query_is_the_one_that_is_sent_and_the_proposed_one_is_not_asked_again() -> None:
    asked = model()
    graph = migres.build().compile(checkpointer=InMemorySaver())
    context = migres.Context(model=asked, review_queries=True)
    ran = Reviewed(graph, input_for("migres"), context, other)
    state = graph.get_state(THREAD).values
    first = ran.payloads[0]["queries"][0]["text"]
    assert state["asked"] == [first, f"{first} please", "Guillermo del Toro birthplace"]
    assert ran.result["usage"]["retrievals"] == 2


def test_a_statement_of_the_reviewers_is_cited_as_such() -> None:
    def correct(payload: dict[str, Any]) -> Any:
        first = payload["evidence"][0]
        return {"action": "edit", "evidence": [{"id": first["id"], "text": "Guillermo del Toro was born in Oslo."}]}

    def reply(role: str, messages: Any) -> str:
        if role.endswith("/decide"):
            return '{"answer": {"text": "Oslo", "confidence": 5}, "used_information": [1]}'
        return honest(role, messages)

    graph = migres.build().compile(checkpointer=InMemorySaver())
    context = migres.Context(model=ScriptedChatModel(replies=reply), review_evidence=True)
    ran = Reviewed(graph, input_for("migres"), context, correct)
    assert ran.result["answer"] == "Oslo"
    [citation] = ran.result["citations"]
    assert (citation["kind"], citation["quote"]) == ("reviewer", "Guillermo del Toro was born in Oslo.")
    assert all(each["source"] != "reviewer" for each in ran.result["passages"])


@pytest.mark.parametrize(
    ("statement", "carried"),
    [
        ("Guillermo del Toro directed Pan's Labyrinth.", True),
        ("Pan's Labyrinth was not directed by Guillermo del Toro.", False),
    ],
)
def test_a_changed_statement_cites_the_passage_if_that_says_it(statement: str, carried: bool) -> None:
    def shorter(payload: dict[str, Any]) -> Any:
        return [
            {"id": each["id"], "text": statement}
            for each in payload["evidence"]
            if each["titles"] == ["Pan's Labyrinth"]
        ][:1] or True

    graph = migres.build().compile(checkpointer=InMemorySaver())
    Reviewed(graph, input_for("migres"), migres.Context(model=model(), review_evidence=True, max_iterations=1), shorter)
    [evidence] = graph.get_state(THREAD).values["evidence"]
    assert evidence["statement"] == statement
    assert (evidence["passage_ids"] == ["pans-labyrinth"]) is carried
    assert ("written and directed by Guillermo del Toro" in evidence["quote"]) is carried
    assert evidence["verified"] is False


@pytest.mark.parametrize("setting", ["review_queries", "review_evidence"])
def test_parallel_branches_pause_together_and_each_is_resumed_by_its_id(setting: str) -> None:
    plain, asked = model(), model()
    graph = METHODS["ra_isf"].build().compile(checkpointer=InMemorySaver())
    context = METHODS["ra_isf"].Context(model=asked, **{setting: True})
    ran = Reviewed(graph, {"question": COMPARISON}, context, as_shown)
    expected = METHODS["ra_isf"].graph.invoke({"question": COMPARISON}, context=METHODS["ra_isf"].Context(model=plain))
    assert max(ran.at_once) >= 2
    assert ran.result == expected
    assert len(asked.calls) == len(plain.calls)


def test_one_of_several_pauses_can_be_answered_first() -> None:
    graph = METHODS["ra_isf"].build().compile(checkpointer=InMemorySaver())
    context = METHODS["ra_isf"].Context(model=model(), review_queries=True)
    result = graph.invoke({"question": COMPARISON}, THREAD, context=context)
    [first] = result["__interrupt__"]
    result = graph.invoke(Command(resume={first.id: True}), THREAD, context=context)
    one, other = result["__interrupt__"]
    result = graph.invoke(Command(resume={one.id: True}), THREAD, context=context)
    assert [each.id for each in result["__interrupt__"]] == [other.id]
    result = graph.invoke(Command(resume={other.id: True}), THREAD, context=context)
    assert {one.id, other.id}.isdisjoint(each.id for each in result.get("__interrupt__", ()))


def test_blended_queries_are_reviewed_together_and_a_rejected_one_finds_nothing() -> None:
    script = Script(replies())
    graph = METHODS["blendfilter"].build().compile(checkpointer=InMemorySaver())
    context = METHODS["blendfilter"].Context(model=script.model(), retriever=fixed(), review_queries=True)
    ran = Reviewed(
        graph,
        {"question": BLEND_QUESTION},
        context,
        lambda payload: [each["text"] for each in payload["queries"]][-1:],
    )
    assert [len(payload["queries"]) for payload in ran.payloads] == [1, 2]
    assert [payload["hop"] for payload in ran.payloads] == [1, 2]
    assert script.steps.count("judge_passages") == 2  # of the question itself, and of the query that was kept
    assert ran.result["answer"] == "Tallinn"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("later", "expected "),
        (None, "expected "),
        ({"action": "edit"}, 'the new list under "queries"'),
        ([7], "must be a string"),
        (["  "], "must be a string"),
        (["x" * 10_001], "10,001 characters"),
        ([f"q{number}" for number in range(51)], "at most 50"),
        ({"queries": ["a"]}, "expected "),
    ],
)
def test_what_cannot_be_used_pauses_again_and_says_why(given: Any, problem: str) -> None:
    def decide(payload: dict[str, Any]) -> Any:
        return True if "problem" in payload else given

    ran = reviewed("one_step", "review_queries", decide, model())
    assert problem in ran.payloads[1]["problem"]
    assert ran.result["stop_reason"] == "answered"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (["nowhere"], "no evidence has the id 'nowhere'"),
        ([{"text": "x"}], "no evidence has the id None"),
        ([{"id": "pans-labyrinth", "text": "It was made in Oslo."}], "its text cannot be changed"),
        ([{"id": "pans-labyrinth", "text": 5}], "its text must be"),
    ],
)
def test_evidence_that_was_not_shown_is_refused(given: Any, problem: str) -> None:
    def decide(payload: dict[str, Any]) -> Any:
        return True if "problem" in payload else given

    ran = reviewed("one_step", "review_evidence", decide, model())
    assert problem in ran.payloads[1]["problem"]
    assert ran.result["stop_reason"] == "answered"


@pytest.mark.parametrize("setting", ["review_queries", "review_evidence"])
@pytest.mark.parametrize("name", ["migres", "chat"])
def test_without_a_checkpointer_a_review_is_refused_before_anything_is_spent(name: str, setting: str) -> None:
    asked = model()
    module: Any = {"migres": migres, "chat": chat}[name]
    given: Any = {"messages": [("user", "Who painted Guernica?")]} if name == "chat" else input_for(name)
    with pytest.raises(SettingsError, match=f"^{setting} pauses the run and needs a checkpointer"):
        module.graph.invoke(given, context=module.Context(model=asked, **{setting: True}))
    assert asked.calls == []


class Host(TypedDict):
    question: str
    answer: str


@pytest.mark.parametrize("keeps", [True, False])
def test_inside_another_graph_its_checkpointer_counts(keeps: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPGRAPH_REVIEW_QUERIES", "true")
    builder: Any = StateGraph(Host)
    builder.add_node("look_up", migres.graph)
    builder.add_edge(START, "look_up")
    app = builder.compile(checkpointer=InMemorySaver() if keeps else None)
    if keeps:
        assert Reviewed(app, input_for("migres"), None, as_shown).result["answer"] == "Guadalajara"
    else:
        with pytest.raises(SettingsError, match="needs a checkpointer"):
            app.invoke(input_for("migres"), THREAD)


def test_a_chat_pauses_in_its_method_and_goes_on(clock: FakeClock) -> None:
    app = chat.build().compile(checkpointer=InMemorySaver())
    context = chat.Context(model=model(), use_method="migres", review_queries=True, deadline_seconds=30)
    ran = Reviewed(app, {"messages": [("user", input_for("migres")["question"])]}, context, as_shown)
    assert [each["kind"] for each in ran.payloads] == ["queries", "queries"]
    assert ran.result["messages"][-1].text.startswith("Guadalajara [1]")


@pytest.mark.parametrize("name", ["migres", "ra_isf", "chat"])
def test_the_time_that_a_person_takes_is_no_part_of_the_deadline(name: str, clock: FakeClock) -> None:
    def slowly(payload: dict[str, Any]) -> Any:
        clock.now += 3600
        return True

    module: Any = chat if name == "chat" else METHODS[name]
    more: dict[str, Any] = {"use_method": "migres"} if name == "chat" else {}
    graph = module.build().compile(checkpointer=InMemorySaver())
    context = module.Context(model=model(), review_queries=True, deadline_seconds=60, **more)
    question = input_for("migres")["question"] if name != "ra_isf" else COMPARISON
    given: Any = {"messages": [("user", question)]} if name == "chat" else {"question": question}
    ran = Reviewed(graph, given, context, slowly)
    assert len(ran.at_once) >= 2
    final = ran.result["messages"][-1].additional_kwargs if name == "chat" else ran.result
    assert final["stop_reason"] != "budget"
    assert name == "ra_isf" or final["answer"] == "Guadalajara"


def test_a_resumed_run_must_be_reviewed_as_it_began() -> None:
    graph = migres.build().compile(checkpointer=InMemorySaver())
    graph.invoke(input_for("migres"), THREAD, context=migres.Context(model=model(), review_queries=True))
    with pytest.raises(SettingsError, match="started with review_queries = True"):
        graph.invoke(Command(resume=True), THREAD, context=migres.Context(model=model()))
