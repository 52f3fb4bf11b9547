"""The steps of question trees at their edges: reading replies, sharing a budget, one order for a trace."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send
from pydantic import ValidationError
from typing_extensions import TypedDict

from hopgraph.nodes.core.ask import AskResult
from hopgraph.nodes.core.budget import calls_left, reserved_call, share_among_branches, tokens_left
from hopgraph.nodes.core.excerpts import excerpt_text, truncated_excerpt
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.judge_relevance import Relevance
from hopgraph.nodes.question_tree.branch import parts_of, path_to
from hopgraph.nodes.question_tree.decomposition import SubQuestions, decomposition_ask, read_sub_questions
from hopgraph.nodes.question_tree.settlement import evidence_under
from hopgraph.nodes.self_knowledge import SelfKnowledge
from hopgraph.state import Context, Passage, Spent, StepEvent
from hopgraph.state.events import Event, event_order
from hopgraph.state.question_tree import QuestionNode
from hopgraph.state.reducers import merge_ids
from hopgraph.tools.models.tokens import count_tokens, token_offset


def node(key: str, **fields: Any) -> QuestionNode:
    made: Any = {
        "id": key,
        "parent": key.rpartition(".")[0],
        "depth": key.count("."),
        "question": f"question {key}?",
        "status": "open",
        "answer": "",
        "how": "",
        "explanation": "",
        "passage_ids": [],
        **fields,
    }
    return made


def spent(attempts: int = 0, tokens: int = 0) -> Spent:
    return Spent(calls={"a": reserved_call(attempts, tokens)}, started_at=0.0)


# decompose


def answered(said: Any) -> AskResult[SubQuestions]:
    return AskResult(SubQuestions.model_validate({"sub_questions": said}), "replied", "id", reserved_call())


@pytest.mark.parametrize(
    ("said", "read"),
    [
        (["Who?", "Where?"], ["Who?", "Where?"]),
        ("1. Who?\n2) Where?\n\n- When?", ["Who?", "Where?", "When?"]),
        ([{"question": "Who?"}], ["Who?"]),
        (["Who?", "who", "  WHO ?! "], ["Who?"]),
        (["the whole?", "...", "", "x" * 20_000], []),
        (["3 men in which boat?", "(2) Who?"], ["3 men in which boat?", "Who?"]),
    ],
)
def test_sub_questions_are_read_as_models_write_them(said: Any, read: list[str]) -> None:
    assert read_sub_questions(answered(said), most=5, known=["The whole?"]) == read


def test_only_so_many_sub_questions_are_taken() -> None:
    assert read_sub_questions(answered(["a", "b", "c"]), most=2) == ["a", "b"]
    assert decomposition_ask("q", most=2).variables == {"question": "q", "max_sub_questions": 2}
    assert decomposition_ask("q", most=2).fallback.sub_questions == []


# self_knowledge, judge_relevance


@pytest.mark.parametrize(("said", "known"), [(True, True), ("Yes.", True), ("no", False), ("Unknown", False)])
def test_self_knowledge_is_yes_or_no(said: object, known: bool) -> None:
    assert SelfKnowledge.model_validate({"known": said}).known is known


@pytest.mark.parametrize("said", ["perhaps", "", 7, [], {}, None])
def test_anything_else_is_no_self_knowledge(said: object) -> None:
    with pytest.raises(ValidationError):
        SelfKnowledge.model_validate({"known": said})


@pytest.mark.parametrize(
    ("said", "numbers"),
    [
        ([2, 1], [2, 1]),
        ("[12]", [12]),
        (3, [3]),
        ("none", []),
        ("No.", []),
        (False, []),
        ([], []),
        (["Passage 4"], [4]),
    ],
)
def test_relevant_passages_are_read_as_numbers(said: object, numbers: list[int]) -> None:
    assert Relevance.model_validate({"relevant": said}).relevant == numbers


@pytest.mark.parametrize("said", ["yes", True, {"a": 1}, None])
def test_what_names_no_passage_is_not_taken_for_none(said: object) -> None:
    with pytest.raises(ValidationError):
        Relevance.model_validate({"relevant": said})


@given(st.text(max_size=200), st.integers(1, 50))
def test_a_cut_passage_has_at_most_so_many_tokens(text: str, tokens: int) -> None:
    passage = Passage(id="a", title="A", text=text, score=1.0, source="s", hop=1)
    shown = excerpt_text(truncated_excerpt(passage, 1.0, tokens), passage)
    assert text.startswith(shown)
    assert count_tokens(shown) == min(tokens, count_tokens(text))
    assert excerpt_text(truncated_excerpt(passage, 1.0, None), passage) == text
    assert token_offset(text, tokens) == len(shown)


# the tree


def test_paths_parts_and_evidence_of_a_tree() -> None:
    tree = {
        each["id"]: each
        for each in (
            node("0", status="answered", how="composed"),
            node("0.1", status="answered", how="composed"),
            node("0.1.1", status="answered", how="known", passage_ids=["model:0.1.1"]),
            node("0.2", status="unknown", how="unsolved"),
            node("0.2.1", status="answered", how="passages", passage_ids=["p"]),
            node("0.3", status="answered", how="passages", passage_ids=["q"]),
        )
    }
    assert [each["id"] for each in path_to(tree, "0.1.1")] == ["0", "0.1", "0.1.1"]
    assert [each["id"] for each in parts_of(tree, "0")] == ["0.1", "0.2", "0.3"]
    assert evidence_under(tree, "0") == ["0.1.1", "0.3"]
    assert evidence_under(tree, "0.2") == []


# the budget of branches


@given(
    st.integers(0, 40),
    st.integers(0, 20),
    st.lists(st.tuples(st.integers(0, 2), st.integers(2, 8)), max_size=5),
    st.integers(0, 2),
    st.integers(0, 3),
)
def test_branches_together_never_get_more_than_is_left(
    limit: int, attempts: int, needs: list[tuple[int, int]], keep: int, retries: int
) -> None:
    settings = Context(max_llm_calls=limit + 1, parse_retries=retries)
    reserved = share_among_branches(settings, spent(attempts), needs, reserve_calls=keep)
    lefts = [calls_left(settings, Spent(calls={"r": each}, started_at=0.0)) or 0 for each in reserved]
    assert sum(lefts) <= max(0, limit + 1 - attempts - keep)
    assert len(reserved) <= len(needs)
    for left, (least, most) in zip(lefts, needs, strict=False):
        assert min(least, most) <= left <= most * (1 + retries)
    for left, (_, most) in list(zip(lefts, needs, strict=False))[1:]:
        assert left >= most


def test_without_a_limit_every_branch_starts_and_sees_what_was_spent() -> None:
    reserved = share_among_branches(Context(), spent(7, 100), [(2, 8)] * 3)
    assert [(each["attempts"], each["prompt_tokens"]) for each in reserved] == [(7, 100)] * 3


@pytest.mark.parametrize("keep", [0, 1])
def test_tokens_before_the_final_answers_share_are_shared_evenly(keep: int) -> None:
    settings = Context(max_tokens=10_000)
    for each in share_among_branches(settings, spent(0, 1000), [(2, 8)] * 3, reserve_calls=keep):
        left = tokens_left(settings, Spent(calls={"r": each}, started_at=0.0), answer_follows=True)
        assert left == (7500 - 1000) // 3


# one order for a trace


@dataclass(frozen=True, kw_only=True)
class Told(Event):
    event: ClassVar[str] = "told"
    name: str


class InnerState(TypedDict):
    name: str
    told: Annotated[list[str], merge_ids]


class InnerOutput(TypedDict):
    told: Annotated[list[str], merge_ids]


async def tell(state: InnerState, runtime: Runtime[Context]) -> dict[str, Any]:
    emit(runtime, Told(name=state["name"]))
    return {"told": [state["name"]]}


async def begin(_state: InnerState, runtime: Runtime[Context]) -> dict[str, Any]:
    emit(runtime, Told(name="begin"))
    return {}


async def end(_state: InnerState, runtime: Runtime[Context]) -> dict[str, Any]:
    emit(runtime, Told(name="end"))
    return {}


def nested() -> Any:
    inner = MethodGraph(InnerState, Context, output_schema=InnerOutput)
    inner.add_node("first", tell)
    inner.add_node("second", tell)
    inner.add_edge(START, "first")
    inner.add_edge("first", "second")
    inner.add_edge("second", END)
    outer = MethodGraph(InnerState, Context)
    outer.add_node("begin", begin)
    outer.add_node("inner", inner.compile(name="inner"))
    outer.add_node("end", end)
    outer.add_edge(START, "begin")
    outer.add_conditional_edges(
        "begin", lambda _: [Send("inner", {"name": f"n{number}"}) for number in range(12)], ["inner"]
    )
    outer.add_edge("inner", "end")
    outer.add_edge("end", END)
    return outer.compile(name="outer")


async def test_steps_of_parallel_subgraphs_stand_together_and_between_those_around_them() -> None:
    names = [f"n{number}" for number in range(12) for _ in range(2)]
    expected = ["begin", *names, "end"]
    given_: Any = {"name": "x", "told": []}
    sync: list[StepEvent] = [event for _, event in nested().stream(given_, stream_mode="custom", subgraphs=True)]
    awaited: list[StepEvent] = [
        event async for _, event in nested().astream(given_, stream_mode="custom", subgraphs=True)
    ]
    for events in (sync, awaited):
        ordered = sorted(events, key=event_order)
        assert [event["data"]["name"] for event in ordered] == expected
        assert len({event_order(event) for event in ordered}) == len(ordered)
    assert sorted(map(event_order, sync)) == sorted(map(event_order, awaited))


def test_the_order_holds_inside_somebody_elses_graph() -> None:
    host: Any = StateGraph(InnerState)
    host.add_node("before", lambda _: {})
    host.add_node("ours", nested())
    host.add_edge(START, "before")
    host.add_edge("before", "ours")
    host.add_edge("ours", END)
    events: list[StepEvent] = [
        event for _, event in host.compile().stream({"name": "x", "told": []}, stream_mode="custom", subgraphs=True)
    ]
    names = [event["data"]["name"] for event in sorted(events, key=event_order)]
    assert names == ["begin", *(f"n{number}" for number in range(12) for _ in range(2)), "end"]
