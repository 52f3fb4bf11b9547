from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopgraph.state import Event, StepEvent
from hopgraph.state.events import (
    EVENTS,
    Approved,
    CacheFailed,
    Composed,
    Contextualised,
    Decomposed,
    Grounded,
    Pruned,
    ReferencesFilled,
    RelevanceJudged,
    Replied,
    Reviewed,
    Revised,
    Routed,
    SelfKnowledgeJudged,
    Solved,
)
from hopgraph.tools.apps.runs.lines import Line
from hopgraph.tools.apps.runs.narration import Narrator
from support.hostile_text import is_harmless
from support.recorded_runs import all_runs, recorded
from support.step_events import step_event

HOSTILE = "\x1b[31mred\x1b]0;title\x07 [bold]x[/bold] \u202eabc\u0000\n{0} " + "long " * 60
CHOSEN = ("outcome", "of", "kind", "how", "status", "verdict", "mode", "written_by")
"""Keys whose value a node chooses, not a model or a corpus."""


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_every_kind_of_event_has_lines_of_its_own_and_no_value_breaks_them(kind: type[Event]) -> None:
    @settings(max_examples=20)
    @given(st.from_type(kind), st.booleans())
    def is_formatted(event: Event, verbose: bool) -> None:
        for line in lines_of([step_event(event)], [], verbose=verbose):
            assert line.label != "step"
            assert is_harmless(line.label + line.text + line.mark)

    is_formatted()


def test_an_event_of_other_peoples_methods_is_readable() -> None:
    data: dict[str, Any] = {"first_answer": "1923", "agree": False, "why": "", "seen": ["p1", "p2"], "tries": 2}
    event = StepEvent(event="self_check", node="verify", step=1, path="verify", number=0, data=data)
    (line,) = lines_of([event], [], verbose=False)
    assert (line.label, line.text) == ("step", "self check · first answer: 1923 · agree: no · seen: p1, p2 · tries: 2")


def lines_of(events: list[StepEvent], passages: Any, *, verbose: bool) -> list[Line]:
    narrator = Narrator(verbose=verbose)
    narrator.add_passages(passages)
    return [*(line for event in events for line in narrator.add_event(event)), *narrator.flush()]


@pytest.mark.parametrize(("method", "variant"), all_runs())
def test_every_event_of_every_method_has_lines_of_its_own(method: str, variant: int) -> None:
    events, passages, _ = recorded(method, variant)
    for verbose in (False, True):
        lines = lines_of(events, passages, verbose=verbose)
        assert lines
        for line in lines:
            assert line.label != "step"
            assert is_harmless(line.label + line.text + line.mark)
            assert line.text


def spoilt(value: Any, key: str = "") -> Any:
    """Put hostile text where a model or a corpus writes; ids stay apart from one another."""
    if isinstance(value, str):
        return value if key in CHOSEN or not value else f"{HOSTILE}{value}"
    if isinstance(value, list):
        return [spoilt(each, key) for each in value]
    if isinstance(value, dict):
        return {name: spoilt(each, name) for name, each in value.items()}
    return value


@pytest.mark.parametrize(("method", "variant"), all_runs())
def test_hostile_text_in_any_event_stays_harmless_and_is_still_shown(method: str, variant: int) -> None:
    events, _, _ = recorded(method, variant)
    for event in events:
        hostile: Any = {**event, "data": spoilt(event["data"])}
        for line in lines_of([hostile], [], verbose=True):
            assert line.label != "step"
            assert is_harmless(line.label + line.text + line.mark)


def narrated(event: Event) -> list[tuple[str, str, str]]:
    return [(line.label, line.mark, line.text) for line in lines_of([step_event(event)], [], verbose=False)]


def test_question_trees() -> None:
    asked: Any = {"id": "0.1", "question": "Who?"}
    assert narrated(SelfKnowledgeJudged(**asked, known=True)) == [("know", "", "“Who?”: the model knows the answer")]
    assert narrated(RelevanceJudged(**asked, passage_ids=["a", "b"], relevant=["b"])) == [
        ("judge", "", "“Who?”: 1 of 2 passages relevant"),
        ("", "+", "b"),
    ]
    assert narrated(Decomposed(**asked, depth=1, sub_questions=[{"id": "0.1.1", "question": "Where?"}])) == [
        ("split", "", "“Who?” into 1 part"),
        ("", "•", "Where?"),
    ]
    assert narrated(ReferencesFilled(**asked)) == [("ask", "", "“Who?”")]
    asked |= {"parent": "0", "depth": 1, "status": "", "explanation": "", "passage_ids": []}
    assert narrated(Solved(**asked, how="depth", answer="")) == [("solve", "?", "“Who?”: unknown, it lies too deep")]
    assert narrated(Composed(**asked, how="composed", answer="He")) == [
        ("compose", "✓", "“Who?”: He (from the answers to its parts)")
    ]


def test_reviews() -> None:
    path: Any = {"id": "0.1", "parent": "0", "depth": 1, "passage_ids": ["a"], "titles": ["A"]}
    path |= {"analysis": "because", "answer": "x", "query": "q"}
    verdicts = {
        verdict: narrated(Reviewed(**path, verdict=verdict)) for verdict in ("accept", "search", "reject", "unread")
    }
    assert verdicts == {
        "accept": [("review", "✓", "a, accepted: x (because)")],
        "search": [("review", "→", "a, not enough: because")],
        "reject": [("review", "✗", "a, rejected")],
        "unread": [("review", "?", "a, no usable review")],
    }
    pruned = Pruned(
        nodes=[{"id": "0.2", "parent": "0", "passage_ids": ["b"], "titles": ["B"], "why": "rejected before"}]
    )
    assert narrated(pruned) == [("prune", "-", "1 paragraph: b (rejected before)")]


def test_hops() -> None:
    batch: Any = {"hop": 1, "batch": 2, "question": "Who?", "passage_ids": ["a"]}
    batch |= {"cited": "It is a.", "passage_id": "a", "answer": "", "overlap": 1.0}
    assert narrated(Grounded(**batch, outcome="cited")) == [("ground", "✓", "batch 2, 1 passage: a: “It is a.”")]
    assert narrated(Grounded(**batch, outcome="empty")) == [
        ("ground", "✗", "batch 2, 1 passage: nothing in them helps")
    ]
    hop: Any = {"hop": 1, "question": "Who?", "generated": "She", "answer": "He", "changed": True}
    hop |= {"passage_ids": [], "quote": ""}
    assert narrated(Revised(**hop, grounded=True)) == [("answer", "✓", "“Who?”: He (from memory it was She)")]
    assert narrated(Revised(**hop, grounded=False)) == [
        ("answer", "✓", "“Who?”: He (from memory; no passage supports it)")
    ]


def test_a_cache_that_cannot_be_written_is_warned_of() -> None:
    assert narrated(CacheFailed(role="migres/decide", problem="No space left on device")) == [
        ("warning", "", "migres/decide: the reply is not cached: No space left on device")
    ]


def test_turns_of_a_conversation() -> None:
    assert narrated(Contextualised(message="And he?", question="Was Bach born?", turns=1)) == [
        ("question", "", "Was Bach born? (read with 1 earlier turn)")
    ]
    assert narrated(Routed(kind="bridge", method="migres", why="it has hops")) == [
        ("route", "", "bridge: migres, it has hops")
    ]
    assert narrated(Replied(text="…", citations=1)) == []


def test_what_a_person_decided() -> None:
    assert narrated(Approved(kind="queries", action="edit", hop=1, shown=1, kept=["a", "b"])) == [
        ("approve", "", "queries, edit: 2 in place of 1")
    ]
    assert narrated(Approved(kind="queries", action="reject", hop=1, shown=1, kept=[])) == [
        ("approve", "", "queries, reject: 0 of 1 kept")
    ]
    assert narrated(Approved(kind="evidence", action="edit", hop=1, shown=3, kept=["a", "b"])) == [
        ("approve", "", "evidence, edit: 2 of 3 kept")
    ]
