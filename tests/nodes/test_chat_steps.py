"""The steps of a chat one by one: the history, the reply's text, the rule that chooses a method, the limits left."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from hopgraph.nodes.chat.message_history import LONGEST_SHOWN, MOST_SOURCES, MessageTurn, history_lines, pair_turns
from hopgraph.nodes.chat.reply import ReplyState, escape_markup, reply_text
from hopgraph.nodes.chat.route import MULTI_HOP_CALLS, MULTI_HOP_TOKENS, RouteReply, method_for
from hopgraph.nodes.chat.run_method import limits_left
from hopgraph.nodes.core.budget import reserved_call
from hopgraph.nodes.finish import total
from hopgraph.state import Citation, Context, SettingsError, Spent
from hopgraph.state.chat import ChatContext, settings_for_method
from hopgraph.state.migres import MigresContext


def citation(title: str, quote: str, kind: Any = "passage") -> Citation:
    return Citation(passage_id=title, title=title, quote=quote, start=0, end=len(quote), kind=kind)


def found(answer: str, *citations: Citation, stop_reason: Any = "answered") -> ReplyState:
    return ReplyState(
        question="Who?",
        kind="single_hop",
        said="",
        chosen="one_step",
        answer=answer,
        explanation="",
        citations=list(citations),
        passages=[],
        stop_reason=stop_reason,
        usage=total([], iterations=0),
        calls={},
        started_at=0.0,
    )


def spent(calls: int = 0, tokens: int = 0) -> Spent:
    return Spent(calls={"one": reserved_call(attempts=calls, tokens=tokens)}, started_at=time.time())


def test_turns_pair_messages_with_what_was_said() -> None:
    told = {"question": "Who painted it?", "answer": "Ada", "citations": [citation("A", "q"), citation("A", "q")]}
    messages = [
        AIMessage("Welcome"),
        HumanMessage("Who?"),
        ToolMessage("x", tool_call_id="1"),
        AIMessage("Ada [1]\n\n[1] A: “q”", additional_kwargs=told),
        HumanMessage([{"type": "text", "text": "broken  off"}]),
        HumanMessage("Hi"),
        AIMessage("Hello!"),
    ]
    turns = pair_turns(messages)
    assert turns == [
        MessageTurn("Who painted it?", "Ada", ["A"]),
        MessageTurn("broken off"),
        MessageTurn("Hi", "Hello!"),
    ]
    assert history_lines(turns) == [
        "User: Who painted it?",
        "Assistant: Ada (sources: A)",
        "User: broken off",
        "User: Hi",
        "Assistant: Hello!",
    ]
    assert history_lines([]) == []


def test_the_history_is_cut() -> None:
    told: dict[str, Any] = {"citations": [{"title": f"Title {number}"} for number in range(50)]}
    turn = pair_turns([HumanMessage("x" * 10_000), AIMessage("y" * 10_000, additional_kwargs=told)])[0]
    assert len(turn.asked) == len(turn.said) == LONGEST_SHOWN
    assert len(turn.sources) == MOST_SOURCES


@pytest.mark.parametrize(
    "told",
    [{}, {"question": 1, "answer": None, "citations": "x"}, {"citations": [1, None, {"title": [2]}, {}]}],
)
def test_what_a_client_forges_is_passed_over(told: dict[str, Any]) -> None:
    assert pair_turns([HumanMessage("Who?"), AIMessage("Ada", additional_kwargs=told)]) == [MessageTurn("Who?", "Ada")]


def test_the_reply_numbers_what_it_quotes() -> None:
    assert reply_text(found("Ada", citation("A*", "Ada\npainted [it]."), citation("", ""))) == (
        "Ada [1][2]\n\n[1] A\\*: “Ada painted \\[it\\].”\n\n[2] untitled"
    )


def test_own_knowledge_is_no_passage() -> None:
    assert reply_text(found("Ada", citation("x", "I know it.", "model"))) == (
        "Ada [1]\n\n[1] the model's own knowledge: “I know it.”"
    )
    assert "the model's own knowledge" in reply_text(found("Ada"))


def test_the_end_of_the_budget_is_told() -> None:
    assert "best answer so far" in reply_text(found("Ada", citation("A", "q"), stop_reason="budget"))
    assert reply_text(found("", stop_reason="budget")).startswith("The budget ended the search before")
    assert reply_text(found("", stop_reason="max_iterations")) == "I found no answer in the documents to: Who?"


@given(st.text())
def test_plain_text_is_one_line_without_markup(text: str) -> None:
    shown = escape_markup(text)
    assert len(shown.splitlines()) <= 1
    bare = shown.replace("\\\\", "")
    for mark in "`*_[]<>~$|#":
        assert bare.count(mark) == bare.count(f"\\{mark}")


@pytest.mark.parametrize(
    ("kind", "settings", "used", "method"),
    [
        ("single_hop", {}, spent(), "one_step"),
        ("bridge", {}, spent(), "migres"),
        ("comparison", {}, spent(), "migres"),
        ("single_hop", {"use_method": "ircot"}, spent(), "ircot"),
        ("bridge", {"max_llm_calls": MULTI_HOP_CALLS + 1}, spent(calls=1), "migres"),
        ("bridge", {"max_llm_calls": MULTI_HOP_CALLS + 1}, spent(calls=2), "one_step"),
        ("bridge", {"max_tokens": MULTI_HOP_TOKENS + 100}, spent(tokens=100), "migres"),
        ("comparison", {"max_tokens": MULTI_HOP_TOKENS + 100}, spent(tokens=101), "one_step"),
        ("bridge", {"max_llm_calls": 1, "use_method": "migres"}, spent(), "migres"),
    ],
)
def test_the_rule_of_auto(kind: Any, settings: Any, used: Spent, method: str) -> None:
    chosen, why = method_for(kind, ChatContext(**settings), used)
    assert chosen == method
    assert why


@pytest.mark.parametrize("kind", ["single hop", "Single-Hop", " SINGLE_HOP "])
def test_a_kind_may_be_spelt_in_other_ways(kind: str) -> None:
    assert RouteReply.model_validate({"kind": kind}).kind == "single_hop"


def test_a_method_gets_the_chats_settings_and_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPGRAPH_MAX_ITERATIONS", "7")
    monkeypatch.setenv("HOPGRAPH_PASSAGES_PER_QUERY", "8")
    chat = ChatContext(passages_per_query=3, seed=1, methods={"migres": {"seed": 2}})
    made = settings_for_method(chat, MigresContext)
    assert (made.passages_per_query, made.seed, made.max_iterations) == (3, 2, 7)
    with pytest.raises(SettingsError, match=r"^methods: migres: setting 'x' is unknown"):
        settings_for_method(ChatContext(methods={"migres": {"x": 1}}), MigresContext)


def test_the_method_gets_what_is_left_of_the_limits() -> None:
    so_far = spent(calls=2, tokens=300)
    limits = Context(max_llm_calls=9, max_tokens=1_000, deadline_seconds=60)
    left = limits_left(limits, so_far, now=so_far["started_at"] + 20)
    assert (left.max_llm_calls, left.max_tokens) == (7, 700)
    assert left.deadline_seconds == pytest.approx(40)
    nothing = limits_left(Context(max_llm_calls=2, max_tokens=10), spent(calls=5, tokens=300))
    assert (nothing.max_llm_calls, nothing.max_tokens) == (1, 1)
    assert limits_left(Context(), spent(calls=5)) == Context()
