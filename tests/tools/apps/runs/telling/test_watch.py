import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopgraph.state import Passage, StepEvent
from hopgraph.tools.apps.runs.telling import TELLERS, Line
from hopgraph.tools.apps.runs.telling.watch import Watcher
from support.hostile_text import ANY_TEXT, is_harmless

NUMBERS = itertools.count()


def happened(
    kind: str, data: dict[str, Any], *, step: int = 1, path: str = "node", number: int | None = None
) -> StepEvent:
    counted = next(NUMBERS) if number is None else number
    return StepEvent(event=kind, node="node", step=step, path=path, number=counted, data=data)


def event(kind: str, **data: Any) -> StepEvent:
    return happened(kind, data)


def passage(key: str, title: str, text: str) -> Passage:
    return Passage(id=key, title=title, text=text, score=1.0, source="sample", hop=1)


def told(*events: StepEvent, passages: list[Passage] | None = None, verbose: bool = False) -> list[Line]:
    watcher = Watcher(verbose=verbose)
    at_once = [line for each in events for line in watcher.see(each)]
    return [*at_once, *watcher.learn(passages or [])]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)
KEYS = ["query", "passage_ids", "kept", "statements", "answer", "missing", "queries", "role", "passages_in", "hop"]


@given(
    st.sampled_from(sorted(TELLERS)) | ANY_TEXT,
    st.dictionaries(st.sampled_from(KEYS) | ANY_TEXT, JSON, max_size=6),
    st.booleans(),
)
@settings(max_examples=300)
def test_no_event_of_whatever_shape_breaks_the_account(kind: str, data: dict[str, Any], verbose: bool) -> None:
    for line in told(happened(kind, {"query": "q", **data}), verbose=verbose):
        assert is_harmless(line.label + line.text + line.mark)


def well_formed(text: str) -> list[StepEvent]:
    return [
        event("query", query=text, why=text, hop=1),
        event("retrieved", query=text, passage_ids=[text, "p"], scores=[2.0, 1.0]),
        event(
            "filtered",
            query=text,
            threshold=1.0,
            passages_in=2,
            sentences_in=3,
            kept=[{"passage_id": text, "title": text, "score": 2.0, "spans": [[0, 1]], "sentences": 1, "whole": False}],
        ),
        event("compressed", query=text, how="snippet", passages_in=2, kept=[{"passage_id": text, "text": text}]),
        event("recalled", query=text, known=True, text=text),
        event(
            "extracted",
            query=text,
            statements=[{"id": "1.1.1", "statement": text, "passage_ids": [text]}],
            dropped=1,
        ),
        event(
            "verified",
            statements=[{"id": "1.1.1", "statement": text, "score": 0.1, "kept": False}],
            repeated=1,
        ),
        event("decided", answer=text, confidence=3, explanation=text, missing=text, used=[], final=False),
        event("generated", queries=[text], missing=text),
        event(
            "asked",
            role=text,
            model=text,
            outcome="fallback",
            attempts=3,
            prompt_tokens=5,
            completion_tokens=6,
            parse_failures=3,
            seconds=0.5,
        ),
        event("retrying", role=text, attempt=1, status=429, wait=0.5),
        event("answered", answer=text),
    ]


@given(ANY_TEXT, st.booleans())
def test_text_from_the_corpus_and_the_model_stays_harmless(text: str, verbose: bool) -> None:
    lines = told(*well_formed(text), passages=[passage(text, text, text + "x")], verbose=verbose)
    assert len(lines) >= 10
    for line in lines:
        assert is_harmless(line.label + line.text + line.mark)
        assert line.label != "step"  # told by its own teller, not as an unknown event


def test_parallel_branches_are_told_in_one_order_whichever_was_faster() -> None:
    first = happened("extracted", {"query": "a", "statements": [], "dropped": 0}, path="extract/0000", number=0)
    second = happened("extracted", {"query": "b", "statements": [], "dropped": 0}, path="extract/0001", number=0)
    assert told(first, second) == told(second, first)
    watcher = Watcher()
    for each in (second, first):
        watcher.see(each)
    assert watcher.trace() == [first, second]


def test_a_retry_is_told_as_it_happens_before_its_superstep_ends() -> None:
    watcher = Watcher()
    assert watcher.see(event("query", query="a", hop=1)) == []
    (line,) = watcher.see(event("retrying", role="migres/decide", attempt=2, status=429, wait=12.04))
    assert (line.label, line.style) == ("warning", "warning")
    assert line.text == "migres/decide: request 2 failed (HTTP 429); again in 12.0 s"
    (line,) = watcher.see(event("retrying", role="migres/decide", attempt=3, status=None, wait=1.0))
    assert line.text == "migres/decide: request 3 failed (no usable reply); again in 1.0 s"
    assert [line.label for line in watcher.flush()] == ["", "search"]
    assert [each["event"] for each in watcher.trace()] == ["query", "retrying", "retrying"]


def test_a_new_superstep_tells_the_one_before() -> None:
    watcher = Watcher()
    assert watcher.see(happened("generated", {"queries": []}, step=1)) == []
    lines = watcher.see(happened("generated", {"queries": ["a"]}, step=2))
    assert [line.text for line in lines] == ["no new query is left to ask"]
    assert [line.text for line in watcher.flush()] == ["1 new query"]
    assert watcher.flush() == []


def test_what_a_query_found_follows_it_with_titles() -> None:
    lines = told(
        event("query", query="a", why="", hop=2),
        event("query", query="b", why="", hop=2),
        event("retrieved", query="a", passage_ids=["1", "2", "3", "4", "5"], scores=[]),
        event("retrieved", query="b", passage_ids=[], scores=[]),
        passages=[passage("1", "Berlin", "…"), passage("2", "", "…")],
    )
    assert [(line.label, line.text) for line in lines] == [
        ("", "Iteration 2"),
        ("search", "a"),
        ("found", "5 passages: Berlin · 2 · 3 · 2 more"),
        ("search", "b"),
        ("found", "no passage"),
    ]


def test_equal_queries_each_have_what_they_found() -> None:
    asked = [event("query", query="a", why="", hop=1) for _ in range(2)]
    found = [event("retrieved", query="a", passage_ids=[key], scores=[1.0]) for key in ("1", "2")]
    lines = told(*asked, *found)
    assert [(line.label, line.text) for line in lines[1:]] == [
        ("search", "a"),
        ("found", "1 passage: 1"),
        ("search", "a"),
        ("found", "1 passage: 2"),
    ]


def test_a_label_stands_once_above_marked_lines() -> None:
    review = {"parent": "0", "verdict": "reject", "analysis": "", "answer": "", "query": ""}
    lines = told(*(event("reviewed", id=f"0.{key}", passage_ids=[key], **review) for key in "12"))
    assert [(line.label, line.mark, line.text) for line in lines] == [
        ("review", "✗", "1, rejected"),
        ("", "✗", "2, rejected"),
    ]


def test_kept_and_dropped_sentences_are_shown() -> None:
    text = "One is kept. Two is not. Three is kept."
    kept = {"passage_id": "1", "title": "T", "score": 2.0, "spans": [[0, 12], [25, 39]], "sentences": 2, "whole": False}
    lines = told(
        event("filtered", query="q", threshold=1.0, passages_in=5, sentences_in=9, kept=[kept]),
        passages=[passage("1", "T", text)],
    )
    assert [(line.mark, line.text) for line in lines] == [
        ("", "1 of 5 passages kept, 9 sentences read"),
        ("+", "T (2 sentences): One is kept. … Three is kept."),
        ("-", "T, dropped: Two is not."),
        ("-", "4 passages dropped"),
    ]


def test_rejected_statements_are_named_and_repeated_ones_told_once() -> None:
    statement = {"id": "1.1.1", "statement": "Bach lived.", "passage_ids": ["1"]}
    lines = told(
        event("extracted", query="a", statements=[statement], dropped=0),
        event("extracted", query="b", statements=[statement], dropped=2),
        event(
            "verified",
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
        ("warning", "2 statements without a passage that was shown, dropped"),
        ("good", "1 of 2 statements verified; 1 known already"),
        ("bad", "rejected: Bach flew. (0.20)"),
    ]


@pytest.mark.parametrize(
    ("outcome", "failures", "warning"),
    [
        ("replied", 0, []),
        ("replied", 1, ["migres/decide: 1 unusable reply; asked again"]),
        ("fallback", 3, ["migres/decide: 3 unusable replies; its fallback is used"]),
        ("budget", 0, ["migres/decide: not asked to its end, the budget is used up"]),
    ],
)
def test_parse_failures_and_an_empty_budget_are_warned_of(outcome: str, failures: int, warning: list[str]) -> None:
    tokens = {"prompt_tokens": 1, "completion_tokens": 1}
    call = {"role": "migres/decide", "model": "m", "attempts": 1, "seconds": 0.1, **tokens}
    asked = happened("asked", {**call, "outcome": outcome, "parse_failures": failures})
    lines = told(asked)
    assert [line.text for line in lines if line.style == "warning"] == warning
    assert len(told(asked, verbose=True)) == len(lines) + 1


def test_an_event_of_an_unknown_kind_is_told_by_its_name_and_values() -> None:
    [line] = told(event("reviewed", verdict="fine", passages=["a"]))
    assert line.text == "reviewed (node) verdict: fine, passages: ['a']"
