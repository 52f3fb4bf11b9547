"""MIGRES end to end: a scripted model, the sample corpus, every edge of the figure."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime

from hopgraph.graphs import migres
from hopgraph.graphs.migres import extract_or_recall
from hopgraph.state import AnswerOutput, QuestionError, SpecError
from support.servers.scripted_model import ScriptedChatModel
from support.walks import FixedRetriever, Script, drawn_edges, walk

QUESTION = "Where was the director of the film Night Harbour born?"
CORPUS = {
    "film": ("Night Harbour", "Night Harbour is a 1961 film. It was directed by Ada Brink. It is set in a port."),
    "person": ("Ada Brink", "Ada Brink was a director. She was born in Tallinn. She liked ships."),
    "noise": ("Harbour", "A harbour shelters ships. Many a film is set in a harbour at night."),
}


def fixed(passages: dict[str, tuple[str, str]] = CORPUS) -> FixedRetriever:
    """Find the same passages for every query, best first."""
    return FixedRetriever(found={"": passages})


def all_but_the_person(query: str, text: str) -> float:
    """Find Ada Brink's passage only once she is asked for."""
    return -1.0 if text.startswith("Ada Brink") and query == QUESTION else 1.0


class Flat:
    """A reranker that gives each text the score that a rule says."""

    name = "flat"
    threshold: float | None = 0.0

    def __init__(self, rule: Callable[[str, str], float] = all_but_the_person) -> None:
        self.rule = rule

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [self.rule(query, text) for query, text in pairs]


def found(*statements: tuple[str, Any]) -> str:
    return json.dumps({"useful_information": [{"info": info, "support_passages": cited} for info, cited in statements]})


def decision(text: str = "unanswerable", missing: str = "", used: Sequence[int] = ()) -> str:
    return json.dumps(
        {
            "answer": {"text": text, "confidence": 5},
            "explanation": "because",
            "missing_information": missing,
            "used_information": list(used),
        }
    )


PORT = "Port scenes open it."
FILM = ("Night Harbour was directed by Ada Brink.", [1])
PERSON = ("Ada Brink was born in Tallinn.", [2])
PERSON_ALONE = (PERSON[0], [1])
"""As it is numbered where the film's passage, shown and cited before, is set aside."""


def script_of(**replies: list[str]) -> Script:
    return Script(replies)


def two_hops() -> Script:
    return script_of(
        extract=[found(FILM), found(PERSON_ALONE)],
        decide=[decision(missing="the birthplace of Ada Brink"), decision("Tallinn", used=[1, 2])],
        generate_queries=[json.dumps({"queries": ["birthplace of Ada Brink"]})],
    )


def settings(script: Script, **more: Any) -> migres.Context:
    given: dict[str, Any] = {"model": script.model(), "retriever": fixed(), "reranker": Flat(), **more}
    return migres.Context(**given)


def run(script: Script, question: str = QUESTION, **more: Any) -> AnswerOutput:
    return migres.graph.invoke({"question": question}, context=settings(script, **more))


def test_two_hops_as_in_the_figure() -> None:
    script = two_hops()
    result = run(script)
    assert script.steps == ["extract", "decide", "generate_queries", "extract", "decide"]
    assert (result["answer"], result["stop_reason"]) == ("Tallinn", "answered")
    assert [(each["passage_id"], each["quote"], each["kind"]) for each in result["citations"]] == [
        ("film", "It was directed by Ada Brink.", "passage"),
        ("person", "She was born in Tallinn.", "passage"),
    ]
    assert [passage["id"] for passage in result["passages"]] == ["film", "person", "noise"]
    assert result["usage"] == {
        "llm_calls": 5,
        "cached_calls": 0,
        "prompt_tokens": result["usage"]["prompt_tokens"],
        "completion_tokens": result["usage"]["completion_tokens"],
        "retrievals": 2,
        "passages": 4,
        "knowledge_tokens": result["usage"]["knowledge_tokens"],
        "parse_failures": 0,
        "iterations": 2,
    }
    assert set(result) == {"answer", "markdown", "explanation", "citations", "passages", "stop_reason", "usage"}


async def test_all_four_ways_of_running_agree() -> None:
    sync = run(two_hops())
    awaited = await migres.graph.ainvoke({"question": QUESTION}, context=settings(two_hops()))
    streamed = list(migres.graph.stream({"question": QUESTION}, context=settings(two_hops()), stream_mode="values"))
    astreamed = [
        each
        async for each in migres.graph.astream(
            {"question": QUESTION}, context=settings(two_hops()), stream_mode="values"
        )
    ]
    for other in (awaited, streamed[-1], astreamed[-1]):
        assert {key: other[key] for key in sync} == sync


async def test_sync_calls_work_inside_a_running_loop() -> None:
    assert run(two_hops())["answer"] == "Tallinn"


@pytest.mark.parametrize(("memory", "shown"), [(True, [True, True]), (False, [True, True, True])])
def test_a_passage_that_was_shown_twice_or_cited_is_not_shown_again(memory: bool, shown: list[bool]) -> None:
    script = script_of(
        extract=[found(FILM), found(PERSON_ALONE if memory else PERSON), found(("It is a port.", [1]))],
        decide=[decision(missing=each) for each in "abc"],
        generate_queries=[json.dumps({"queries": [query]}) for query in ("one", "two")],
        final_answer=[decision("Tallinn", used=[1, 2])],
    )
    result = run(script, memory=memory, verify=False, recall=False, max_iterations=3)
    extractions = [text for step, text in zip(script.steps, script.prompts, strict=True) if step == "extract"]
    assert ["A harbour shelters ships" in text for text in extractions] == shown
    assert result["answer"] == "Tallinn"


def test_memory_keeps_queries_from_being_asked_twice() -> None:
    script = script_of(
        extract=[found(FILM)],
        decide=[decision(missing="x")],
        generate_queries=[json.dumps({"queries": [QUESTION.upper(), QUESTION.strip("?").lower()]})],
        final_answer=[decision()],
    )
    result = run(script)
    assert script.steps == ["extract", "decide", "generate_queries", "final_answer"]
    assert (result["answer"], result["stop_reason"], result["citations"]) == ("", "unanswerable", [])


def test_the_last_iteration_ends_in_one_final_answer() -> None:
    script = script_of(
        extract=[found(FILM), found(PERSON_ALONE)],
        decide=[decision(missing="a"), decision(missing="b")],
        generate_queries=[json.dumps({"queries": ["one"]})],
        final_answer=[decision("Tallinn", used=[2])],
    )
    result = run(script, max_iterations=2)
    assert (result["answer"], result["stop_reason"], result["usage"]["iterations"]) == ("Tallinn", "max_iterations", 2)
    assert [each["passage_id"] for each in result["citations"]] == ["person"]


def test_a_statement_that_its_passage_does_not_entail_is_dropped() -> None:
    script = script_of(
        extract=[found(("Night Harbour was directed by Carl Moon.", [1]), FILM)], decide=[decision("x", used=[1])]
    )
    run(script)
    assert "Carl Moon" not in script.prompts[-1]
    assert "Ada Brink" in script.prompts[-1]
    script = script_of(extract=[found(("Night Harbour was directed by Carl Moon.", [1]))], decide=[decision("x")])
    run(script, verify=False)
    assert "Carl Moon" in script.prompts[-1]


def test_citations_of_passages_that_were_not_shown_are_ignored() -> None:
    script = script_of(
        extract=[found((FILM[0], "Passage 1"), ("Ada Brink was born in Tallinn.", [12]), ("Many a film.", []))],
        decide=[decision("x", used=[1, 7])],
    )
    result = run(script)
    assert [each["passage_id"] for each in result["citations"]] == ["film"]
    assert "Tallinn" not in script.prompts[-1].split("</information>")[0]


def test_twelve_is_not_one_and_two() -> None:
    many = {f"p{number}": (f"Title {number}", f"Fact number {number} is here.") for number in range(1, 13)}
    script = script_of(extract=[found(("Fact number 12 is here.", "[12]"))], decide=[decision("12", used=[1])])
    result = run(script, retriever=fixed(many), context_passages=12)
    assert [each["passage_id"] for each in result["citations"]] == ["p12"]


def test_queries_without_passages_get_recalled_knowledge_each_for_itself() -> None:
    script = script_of(
        extract=[found(FILM), found(("Ada Brink was born in Tallinn.", [1]))],
        decide=[decision(missing="a"), decision("Tallinn", used=[1, 2])],
        generate_queries=[json.dumps({"queries": ["one", "two"]})],
        recall_knowledge=[
            json.dumps({"knowledge": "Ada Brink was born in Tallinn, in 1920."}),
            json.dumps({"knowledge": "I don't know."}),
        ],
    )
    rule = Flat(lambda query, _text: 1.0 if query == QUESTION else -1.0)
    result = run(script, reranker=rule, extraction="per_query")
    assert script.steps.count("recall_knowledge") == 2
    assert script.steps.count("extract") == 2
    assert [(each["passage_id"], each["kind"], each["quote"]) for each in result["citations"]] == [
        ("film", "passage", "It was directed by Ada Brink."),
        ("model:2.1", "model", "Ada Brink was born in Tallinn, in 1920."),
    ]
    assert all(passage["source"] != "model" for passage in result["passages"])


def test_per_query_one_query_without_passages_is_enough_to_recall() -> None:
    state: Any = {"knowledge": [{"query": "q", "excerpts": [None]}, {"query": "r", "excerpts": []}]}
    assert extract_or_recall(state, Runtime(context=migres.Context(extraction="per_query"))) == "to recall"
    assert extract_or_recall(state, Runtime(context=migres.Context())) == "to extract"


def test_without_recall_nothing_left_means_no_extraction() -> None:
    script = script_of(decide=[decision()], final_answer=[decision()])
    run(script, recall=False, max_iterations=1, reranker=Flat(lambda *_: -1.0))
    assert script.steps == ["decide", "final_answer"]


@pytest.mark.parametrize(
    ("rule", "shown"),
    [
        (
            lambda _q, text: 1.0 if "directed" in text else -1.0,
            "Night Harbour is a 1961 film. It was directed by Ada Brink.",  # "It" points back
        ),
        (lambda _q, text: 1.0 if "1961" in text else -1.0, "Night Harbour is a 1961 film."),
        (lambda _q, text: 2.0 if text.count(".") > 1 else 1.0, f"{CORPUS['film'][1]} {PORT}"),
        (
            lambda _q, text: 1.0 if "directed" in text or "port" in text else -1.0,
            CORPUS["film"][1],
        ),
        (
            lambda _q, text: 1.0 if "1961" in text or "Port" in text else -1.0,
            f"Night Harbour is a 1961 film. … {PORT}",
        ),
    ],
    ids=["what it points to", "one sentence", "whole passage", "neighbors", "a gap"],
)
def test_sentences_are_kept_by_their_score(rule: Callable[[str, str], float], shown: str) -> None:
    script = script_of(extract=[found(FILM)], decide=[decision("x")])
    title, text = CORPUS["film"]
    run(script, reranker=Flat(rule), retriever=fixed({**CORPUS, "film": (title, f"{text} {PORT}")}))
    assert re.search(r'id="1" title="Night Harbour">\n' + re.escape(shown) + r"\n</passage>", script.prompts[0])


def test_at_most_k_passages_are_shown_best_first() -> None:
    script = script_of(extract=[found(FILM)], decide=[decision("x")])
    run(script, context_passages=1, reranker=Flat(lambda _q, text: 2.0 if text.startswith("Ada") else 1.0))
    assert "She was born" in script.prompts[0]
    assert "1961" not in script.prompts[0]


@pytest.mark.parametrize(("compression", "step"), [("summary", "summarize"), ("snippet", "snippet")])
def test_compression_by_the_model_in_place_of_the_sentence_filter(compression: str, step: str) -> None:
    texts = [json.dumps({"text": text}) for text in ("Brink directed it.", "Irrelevant.")]
    extraction = [found(("Brink directed it.", [1]))]
    script = script_of(**{step: texts}, extract=extraction, decide=[decision("Brink", used=[1])])
    result = run(script, compression=compression, verify=False)
    assert script.steps == [step, step, "extract", "decide"]
    assert "Brink directed it." in script.prompts[2]
    assert "harbour" not in script.prompts[2].split("</passages>")[0].replace("Night Harbour", "")
    assert result["citations"][0]["quote"] == "It was directed by Ada Brink."


def test_two_retrievers_make_a_mixture() -> None:
    one, two = {"film": CORPUS["film"]}, {"film": CORPUS["film"], "person": CORPUS["person"]}
    script = script_of(extract=[found(FILM, PERSON)], decide=[decision("Tallinn", used=[1, 2])])
    result = run(script, retriever=fixed(one), second_retriever=fixed(two))
    assert [passage["id"] for passage in result["passages"]] == ["film", "person"]
    assert result["usage"]["retrievals"] == 2


def test_yes_no_answers_are_yes_or_no() -> None:
    script = script_of(extract=[found(FILM)], decide=[decision("Yes, because it was.", used=[1])])
    assert run(script, answer_type="yes_no")["answer"] == "yes"
    assert "yes_no" in script.prompts[-1]


def test_demonstrations_stand_between_instructions_and_question() -> None:
    seen: list[list[str]] = []
    script = script_of(extract=[found(FILM)], decide=[decision("x")])

    def reply(role: str, messages: list[BaseMessage]) -> str:
        seen.append([message.type for message in messages])
        return script(role, messages)

    run(script, model=ScriptedChatModel(replies=reply), demonstrations="multi_hop")
    assert seen == [["system", "human", "ai", "human", "ai", "human"]] * 2


def test_unusable_replies_take_the_declared_way_and_are_counted() -> None:
    script = script_of(extract=["what?"] * 3, decide=["?"] * 3, generate_queries=["?"] * 3, final_answer=["?"] * 3)
    result = run(script)
    assert (result["answer"], result["stop_reason"]) == ("", "unanswerable")
    assert result["usage"]["parse_failures"] == 12


@pytest.mark.parametrize(("limit", "steps"), [(1, ["final_answer"]), (2, ["extract", "final_answer"])])
def test_a_small_budget_keeps_its_last_call_for_an_answer(limit: int, steps: list[str]) -> None:
    script = script_of(extract=[found(FILM)], decide=[decision()], final_answer=[decision("Brink", used=[1])])
    result = run(script, max_llm_calls=limit, parse_retries=0)
    assert script.steps == steps
    assert (result["stop_reason"], result["answer"]) == ("budget", "Brink")
    assert result["usage"]["llm_calls"] == limit


@pytest.mark.parametrize("question", ["", "  \n\t", "\u200b\x00", "x" * 100_000])
def test_a_question_that_cannot_be_asked_is_refused_before_anything_is_spent(question: str) -> None:
    script = script_of()
    with pytest.raises(QuestionError):
        run(script, question)
    assert script.steps == []


@pytest.mark.parametrize(
    "wrong",
    [{"model": "openai"}, {"model": "offline:gpt"}, {"retriever": "bm52:x"}, {"reranker": "best"}, {"entailment": "x"}],
)
def test_a_bad_spec_is_refused_before_anything_is_spent(wrong: dict[str, Any]) -> None:
    script = script_of()
    with pytest.raises(SpecError, match=next(iter(wrong.values()))[:4]):
        run(script, **wrong)
    assert script.steps == []


def test_every_edge_of_the_drawing_is_walked() -> None:
    missing, answer = decision(missing="more"), decision("x", used=[1])
    queries, none = json.dumps({"queries": ["one"]}), json.dumps({"queries": []})
    summary, known = json.dumps({"text": "Brink directed it."}), json.dumps({"knowledge": "Brink directed it."})
    shared: dict[str, Any] = {"verify": False, "max_iterations": 2}

    def hidden(query: str, _text: str) -> float:
        return -1.0 if query == "one" else 1.0

    scenarios: list[tuple[dict[str, list[str]], dict[str, Any]]] = [
        (
            {"extract": [found(FILM), found(PERSON_ALONE)], "decide": [missing, answer], "generate_queries": [queries]},
            {},
        ),
        (
            {
                "extract": [found(FILM), found(("Brink directed it.", [1]))],
                "decide": [missing, missing],
                "generate_queries": [queries],
                "final_answer": [answer],
                "recall_knowledge": [known],
            },
            {"reranker": Flat(hidden)},
        ),
        ({"extract": [found(FILM)], "decide": [missing], "generate_queries": [none], "final_answer": [answer]}, {}),
        (
            {
                "summarize": [summary, summary, '{"text": "irrelevant"}', '{"text": "irrelevant"}'],
                "extract": [found(FILM), found(("Brink directed it.", [1]))],
                "decide": [missing, answer],
                "generate_queries": [queries],
                "recall_knowledge": [known],
            },
            {
                "compression": "summary",
                "memory": False,
                "retriever": fixed({key: CORPUS[key] for key in ("film", "noise")}),
            },
        ),
    ]
    walked = {
        edge
        for replies, more in scenarios
        for edge in walk(migres.graph, {"question": QUESTION}, settings(Script(replies), **shared, **more)).edges
    }
    assert walked == drawn_edges(migres.graph)
