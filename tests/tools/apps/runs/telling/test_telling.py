import ast
from pathlib import Path
from typing import Any

import pytest

import hopgraph.nodes
from hopgraph.state import StepEvent
from hopgraph.tools.apps.runs.telling import TELLERS, Line
from hopgraph.tools.apps.runs.telling.watch import Watcher
from support.hostile_text import is_harmless
from support.recorded_runs import all_runs, recorded

HOSTILE = "\x1b[31mred\x1b]0;title\x07 [bold]x[/bold] \u202eabc\u0000\n{0} " + "long " * 60
CHOSEN = ("outcome", "of", "how", "status", "verdict", "mode", "written_by")
"""Keys whose value a node chooses, not a model or a corpus."""


def kinds_in_source() -> dict[str, str]:
    """Collect every kind of event that a node names, with a place where it does."""
    found: dict[str, str] = {}
    for folder in hopgraph.nodes.__path__:
        for path in Path(folder).rglob("*.py"):
            for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "emit":
                    kind = call.args[1]
                    if isinstance(kind, ast.Constant):
                        found[str(kind.value)] = path.name
    return found


def test_every_kind_of_event_that_a_node_reports_has_a_teller() -> None:
    kinds = kinds_in_source()
    assert len(kinds) > 30
    # Those that a variable names: see settle.py and prune.py.
    assert kinds.keys() | {"solved", "composed", "grown", "pruned"} == TELLERS.keys()


def lines_of(events: list[StepEvent], passages: Any, *, verbose: bool) -> list[Line]:
    watcher = Watcher(verbose=verbose)
    watcher.learn(passages)
    return [*(line for event in events for line in watcher.see(event)), *watcher.flush()]


@pytest.mark.parametrize(("method", "variant"), all_runs())
def test_every_event_of_every_method_is_told_by_its_own_teller(method: str, variant: int) -> None:
    events, passages, _ = recorded(method, variant)
    assert {event["event"] for event in events} <= TELLERS.keys()
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
def test_hostile_text_in_any_event_stays_harmless_and_is_still_told(method: str, variant: int) -> None:
    events, _, _ = recorded(method, variant)
    for event in events:
        hostile: Any = {**event, "data": spoilt(event["data"])}
        for line in lines_of([hostile], [], verbose=True):
            assert line.label != "step"
            assert is_harmless(line.label + line.text + line.mark)


def told(kind: str, /, **data: Any) -> list[tuple[str, str, str]]:
    event = StepEvent(event=kind, node="node", step=1, path="node", number=0, data=data)
    return [(line.label, line.mark, line.text) for line in lines_of([event], [], verbose=False)]


def test_question_trees_are_told() -> None:
    asked = {"id": "0.1", "question": "Who?"}
    assert told("judged", **asked, of="self_knowledge", known=True) == [
        ("know", "", "“Who?”: the model knows the answer")
    ]
    assert told("judged", **asked, of="passages", passage_ids=["a", "b"], relevant=["b"]) == [
        ("judge", "", "“Who?”: 1 of 2 passages relevant"),
        ("", "+", "b"),
    ]
    assert told("decomposed", **asked, sub_questions=[{"id": "0.1.1", "question": "Where?"}]) == [
        ("split", "", "“Who?” into 1 part"),
        ("", "•", "Where?"),
    ]
    assert told("solved", **asked, how="depth", answer="") == [("solve", "?", "“Who?”: unknown, it lies too deep")]
    assert told("composed", **asked, how="composed", answer="He") == [
        ("compose", "✓", "“Who?”: He (from the answers to its parts)")
    ]


def test_reviews_are_told() -> None:
    node = {"id": "0.1", "parent": "0", "passage_ids": ["a"], "analysis": "because", "answer": "x", "query": "q"}
    verdicts = {
        verdict: told("reviewed", **node, verdict=verdict) for verdict in ("accept", "search", "reject", "unread")
    }
    assert verdicts == {
        "accept": [("review", "✓", "a, accepted: x (because)")],
        "search": [("review", "→", "a, not enough: because")],
        "reject": [("review", "✗", "a, rejected")],
        "unread": [("review", "?", "a, no usable review")],
    }
    pruned = [{"id": "0.2", "parent": "0", "passage_ids": ["b"], "why": "rejected before"}]
    assert told("pruned", nodes=pruned) == [("prune", "-", "1 paragraph: b (rejected before)")]


def test_hops_are_told() -> None:
    batch = {"batch": 2, "question": "Who?", "passage_ids": ["a"], "cited": "It is a.", "passage_id": "a"}
    assert told("grounded", **batch, outcome="cited") == [("ground", "✓", "batch 2, 1 passage: a: “It is a.”")]
    assert told("grounded", **batch, outcome="empty") == [("ground", "✗", "batch 2, 1 passage: nothing in them helps")]
    hop = {"question": "Who?", "generated": "She", "answer": "He", "changed": True}
    assert told("revised", **hop, grounded=True) == [("answer", "✓", "“Who?”: He (from memory it was She)")]
    assert told("revised", **hop, grounded=False) == [
        ("answer", "✓", "“Who?”: He (from memory; no passage carries it)")
    ]


def test_a_cache_that_cannot_be_written_is_warned_of() -> None:
    assert told("cache_failed", role="migres/decide", problem="No space left on device") == [
        ("warning", "", "migres/decide: the reply is not kept in the cache: No space left on device")
    ]


def test_turns_of_a_conversation_are_told() -> None:
    assert told("contextualised", message="And he?", question="Was Bach born?", turns=1) == [
        ("question", "", "Was Bach born? (read with 1 earlier turn)")
    ]
    assert told("routed", kind="bridge", method="migres", why="it has hops") == [
        ("route", "", "bridge: migres, it has hops")
    ]
    assert told("replied", text="…", citations=1) == []


def test_what_a_person_decided_is_told() -> None:
    data: dict[str, Any] = {"kind": "queries", "action": "edit", "hop": 1, "shown": 1, "kept": ["a", "b"]}
    assert told("approved", **data) == [("approve", "", "queries, edit: 2 in place of 1")]
    assert told("approved", **{**data, "action": "reject", "kept": []}) == [
        ("approve", "", "queries, reject: 0 of 1 kept")
    ]
    data = {"kind": "evidence", "action": "edit", "hop": 1, "shown": 3, "kept": ["a", "b"]}
    assert told("approved", **data) == [("approve", "", "evidence, edit: 2 of 3 kept")]
