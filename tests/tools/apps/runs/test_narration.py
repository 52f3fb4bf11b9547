import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopgraph.state import Event, Passage, StepEvent
from hopgraph.state.events import (
    EVENTS,
    Asked,
    Extracted,
    Filtered,
    QuerySent,
    Retrieved,
    Retrying,
    Reviewed,
    Verified,
    event_order,
)
from hopgraph.tools.apps.runs.lines import Line
from hopgraph.tools.apps.runs.narration import Narrator
from support.hostile_text import ANY_TEXT, is_harmless
from support.step_events import step_event

NUMBERS = itertools.count()


def passage(key: str, title: str, text: str) -> Passage:
    return Passage(id=key, title=title, text=text, score=1.0, source="sample", hop=1)


def query(text: str, hop: int = 1) -> QuerySent:
    return QuerySent(query=text, why="", hop=hop)


def found(text: str, *keys: str) -> Retrieved:
    return Retrieved(query=text, passage_ids=list(keys), titles=list(keys), scores=[1.0] * len(keys))


def narrated(*events: Event, passages: list[Passage] | None = None, verbose: bool = False) -> list[Line]:
    return lines_of([step_event(event, number=next(NUMBERS)) for event in events], passages, verbose=verbose)


def lines_of(events: list[StepEvent], passages: list[Passage] | None = None, *, verbose: bool = False) -> list[Line]:
    narrator = Narrator(verbose=verbose)
    at_once = [line for each in events for line in narrator.add_event(each)]
    return [*at_once, *narrator.add_passages(passages or [])]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)
KEYS = ["query", "passage_ids", "kept", "statements", "answer", "missing", "queries", "role", "passages_in", "hop"]
KINDS = sorted({kind.event for kind in EVENTS})


@given(
    st.sampled_from(KINDS) | ANY_TEXT,
    st.dictionaries(st.sampled_from(KEYS) | ANY_TEXT, JSON, max_size=6),
    st.booleans(),
)
@settings(max_examples=100)
def test_malformed_events_do_not_break_the_narration(kind: str, data: dict[str, Any], verbose: bool) -> None:
    event = StepEvent(event=kind, node="node", step=1, path="node", number=0, data={"query": "q", **data})
    for line in lines_of([event], verbose=verbose):
        assert is_harmless(line.label + line.text + line.mark)


def test_a_retry_is_reported_before_its_superstep_ends() -> None:
    narrator = Narrator()
    assert narrator.add_event(step_event(query("a"))) == []
    (line,) = narrator.add_event(
        step_event(Retrying(role="migres/decide", attempt=2, status=429, wait=12.04), number=1)
    )
    assert (line.label, line.style) == ("warning", "warning")
    assert line.text == "migres/decide: request 2 failed (HTTP 429); again in 12.0 s"
    (line,) = narrator.add_event(step_event(Retrying(role="migres/decide", attempt=3, status=None, wait=1.0), number=1))
    assert line.text == "migres/decide: request 3 failed (no usable reply); again in 1.0 s"
    refused = Retrying(role="migres/decide", attempt=1, status=None, wait=1.0, problem="cannot connect to http://h/v1")
    (line,) = narrator.add_event(step_event(refused, number=1))
    assert line.text == "migres/decide: request 1 failed (cannot connect to http://h/v1); again in 1.0 s"
    assert [line.label for line in narrator.flush()] == ["", "search"]
    assert [each["event"] for each in sorted(narrator.events, key=event_order)] == ["query", *["retrying"] * 3]


def test_equal_queries_each_show_their_results() -> None:
    lines = narrated(query("a"), query("a"), found("a", "1"), found("a", "2"))
    assert [(line.label, line.text) for line in lines[1:]] == [
        ("search", "a"),
        ("found", "1 passage: 1"),
        ("search", "a"),
        ("found", "1 passage: 2"),
    ]


def test_a_label_is_printed_once_above_its_lines() -> None:
    review: Any = {"parent": "0", "depth": 1, "verdict": "reject", "analysis": "", "answer": "", "query": ""}
    lines = narrated(*(Reviewed(id=f"0.{key}", passage_ids=[key], titles=[key], **review) for key in "12"))
    assert [(line.label, line.mark, line.text) for line in lines] == [
        ("review", "✗", "1, rejected"),
        ("", "✗", "2, rejected"),
    ]


def test_kept_and_dropped_sentences_are_shown() -> None:
    text = "One is kept. Two is not. Three is kept."
    kept: Any = {"passage_id": "1", "title": "T", "score": 2.0, "sentences": 2, "whole": False, "text": ""}
    kept |= {"spans": [[0, 12], [25, 39]]}
    lines = narrated(
        Filtered(query="q", threshold=1.0, passages_in=5, sentences_in=9, kept=[kept]),
        passages=[passage("1", "T", text)],
    )
    assert [(line.mark, line.text) for line in lines] == [
        ("", "1 of 5 passages kept, 9 sentences read"),
        ("+", "T (2 sentences): One is kept. … Three is kept."),
        ("-", "T, dropped: Two is not."),
        ("-", "4 passages dropped"),
    ]


def test_rejected_statements_are_listed_and_repeated_ones_shown_once() -> None:
    statement: Any = {"id": "1.1.1", "statement": "Bach lived.", "passage_ids": ["1"]}
    lines = narrated(
        Extracted(query="a", statements=[statement], dropped=0),
        Extracted(query="b", statements=[statement], dropped=2),
        Verified(
            statements=[
                {"id": "1", "statement": "Bach lived.", "score": 0.9, "kept": True},
                {"id": "2", "statement": "Bach flew.", "score": 0.2, "kept": False},
            ],
            repeated=1,
        ),
        passages=[passage("1", "Bach", "…")],
    )
    assert [(line.style, line.text) for line in lines] == [
        ("plain", "“a”: 1 statement"),
        ("plain", "Bach lived."),
        ("plain", "“b”: 1 statement, 1 of them seen before"),
        ("warning", "2 statements dropped: they cite no shown passage"),
        ("good", "1 of 2 statements verified; 1 known already"),
        ("bad", "rejected: Bach flew. (0.20)"),
    ]


@pytest.mark.parametrize(
    ("outcome", "failures", "problem", "warning"),
    [
        ("replied", 0, "", []),
        ("replied", 1, "", ["migres/decide: 1 unusable reply; retrying"]),
        (
            "fallback",
            3,
            "no JSON: 'Su\nre'",
            ["migres/decide: 3 unusable replies (no JSON: 'Su re'); its fallback is used"],
        ),
        ("budget", 0, "", ["migres/decide: abandoned, the budget is used up"]),
    ],
)
def test_parse_failures_and_an_exhausted_budget_give_warnings(
    outcome: Any, failures: int, problem: str, warning: list[str]
) -> None:
    call: Any = {"role": "migres/decide", "model": "m", "attempts": 1, "cached": 0, "seconds": 0.1, "problem": problem}
    asked = Asked(**call, prompt_tokens=1, completion_tokens=1, outcome=outcome, parse_failures=failures)
    lines = narrated(asked)
    assert [line.text for line in lines if line.style == "warning"] == warning
    assert len(narrated(asked, verbose=True)) == len(lines) + 1


@pytest.mark.parametrize("kind", ["pondered", "reviewed"])
def test_an_unknown_or_malformed_event_is_shown_with_its_name_and_values(kind: str) -> None:
    data: Any = {"verdict": "fine", "passages": ["a"]}
    [line] = lines_of([StepEvent(event=kind, node="node", step=1, path="node", number=0, data=data)])
    assert line.text == f"{kind} · verdict: fine · passages: a"
