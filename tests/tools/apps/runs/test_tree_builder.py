import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hopgraph.state import Event, StepEvent
from hopgraph.state.events import EVENTS
from hopgraph.tools.apps.runs.run_tree import RunNode, RunTree, group_paragraphs, walk_tree
from hopgraph.tools.apps.runs.tree_builder import UNDRAWN_EVENTS, TreeBuilder, build_tree, grow
from support.recorded_runs import QUESTION, all_runs, recorded
from support.step_events import sparse_event


def happened(*kinds_and_data: tuple[str, dict[str, Any]]) -> list[StepEvent]:
    return [sparse_event(kind, data, step=number) for number, (kind, data) in enumerate(kinds_and_data, start=1)]


def answered(answer: str, *cited: str, stop_reason: str = "answered") -> tuple[str, dict[str, Any]]:
    citations = [{"passage_id": key, "title": key.upper(), "quote": f"{key} says so."} for key in cited]
    return "answered", {"answer": answer, "stop_reason": stop_reason, "citations": citations}


def node(tree: RunTree, key: str) -> RunNode:
    (found,) = [each for each in tree.nodes if each.id == key]
    return found


def outline(tree: RunTree) -> list[str]:
    """Return the nodes indented by depth: `-- status text`, with a star for evidence."""
    return [
        f"{'-' * depth}{'*' if each.evidence else ''}{each.status} {each.text}" for each, depth in walk_tree(tree.root)
    ]


def is_tree(tree: RunTree) -> bool:
    seen = {""}
    for each in tree.nodes:
        if each.parent not in seen or each.id in seen:
            return False
        seen.add(each.id)
    return [each.id for each in tree.nodes if not each.parent] == ["0"]


def found(query: str, *keys: str) -> tuple[str, dict[str, Any]]:
    return "retrieved", {"query": query, "passage_ids": list(keys), "titles": [key.upper() for key in keys]}


@pytest.mark.parametrize(("method", "variant"), all_runs())
def test_every_methods_tree_ends_with_its_answer(method: str, variant: int) -> None:
    events, passages, answer = recorded(method, variant)
    tree = build_tree(QUESTION, events)
    assert is_tree(tree)
    assert (tree.answer, tree.nodes[0].text) == (answer, QUESTION)
    assert tree.nodes[0].status == ("answered" if answer else "unknown")
    if quoted := {quote["passage_id"] for quote in tree.quotes} & {passage["id"] for passage in passages}:
        marked = {key for each in tree.nodes if each.evidence for key in each.passage_ids}
        assert marked & quoted or method in ("genread", "grg")
    else:
        assert not any(each.evidence and each.kind == "paragraph" for each in tree.nodes)
    searched = [event for event in events if event["event"] == "query"]
    if method not in ("tree_of_reviews", "chain_of_reviews"):
        asked = {each.text for each in tree.nodes}
        for event in searched:
            text = str(event["data"]["query"])
            assert any(text == each or text.startswith(f"{each} ") for each in asked)


@pytest.mark.parametrize(("method", "variant"), all_runs())
def test_trees_do_not_depend_on_arrival_order_and_partial_runs_have_one(method: str, variant: int) -> None:
    events, _, _ = recorded(method, variant)
    mixed = random.Random(0).sample(events, len(events))
    assert build_tree(QUESTION, mixed) == build_tree(QUESTION, events)
    for count in range(0, len(events), 7):
        part = build_tree(QUESTION, events[:count])
        assert is_tree(part)
        assert part.stop_reason == ""


IDS = st.sampled_from(["", "0", "0.1", "0.1.1", "query1", "0/a", "a", "b"])
ANY_EVENTS = st.lists(
    st.one_of([st.from_type(kind).map(lambda event: dict(vars(event)) | {"": event.event}) for kind in EVENTS]),
    max_size=8,
)


@given(st.data())
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_events_of_any_content_make_a_tree(data: st.DataObject) -> None:
    events = list[StepEvent]()
    for number, drawn in enumerate(data.draw(ANY_EVENTS)):
        kind = drawn.pop("")
        drawn |= {key: data.draw(IDS) for key in ("id", "parent", "query", "question") if key in drawn}
        events.append(StepEvent(event=kind, node="node", step=number, path="node", number=0, data=drawn))
    tree = build_tree("q", events)
    assert is_tree(tree)
    assert {node.id for node, _ in walk_tree(tree.root)} == {node.id for node in tree.nodes}


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_every_event_class_is_in_the_tree_or_deliberately_left_out(kind: type[Event]) -> None:
    @settings(max_examples=1)
    @given(st.from_type(kind))
    def has_a_place(event: Any) -> None:
        assert grow(event, TreeBuilder("q")) is (kind not in UNDRAWN_EVENTS)

    has_a_place()


def test_without_events_the_tree_is_only_the_question() -> None:
    tree = build_tree("Why?", [])
    assert outline(tree) == ["open Why?"]
    assert (tree.answer, tree.stop_reason, tree.is_multi_step) == ("", "", False)


def test_a_question_tree_shows_parts_answers_and_judged_passages() -> None:
    parts = [{"id": "0.1", "question": "A?"}, {"id": "0.2", "question": "B?"}]
    settled = {"parent": "0", "depth": 1, "explanation": "", "status": "answered", "how": "passages"}
    unknown = {"status": "unknown", "how": "depth", "answer": ""}
    events = happened(
        ("tree_started", {"id": "0", "question": "Q?"}),
        ("self_knowledge_judged", {"id": "0", "question": "Q?", "known": False}),
        ("query", {"query": "Q?", "why": "", "hop": 1}),
        found("Q?", "x"),
        ("relevance_judged", {"id": "0", "question": "Q?", "passage_ids": ["x"], "relevant": []}),
        ("decomposed", {"id": "0", "depth": 0, "question": "Q?", "sub_questions": parts}),
        ("query", {"query": "A?", "why": "Q?", "hop": 2}),
        found("A?", "x", "y"),
        ("relevance_judged", {"id": "0.1", "question": "A?", "passage_ids": ["x", "y"], "relevant": ["y"]}),
        ("question_settled", settled | {"id": "0.1", "question": "A?", "answer": "a", "passage_ids": ["y"]}),
        ("question_settled", settled | {"id": "0.2", "question": "B?"} | unknown),
        ("composed", {"id": "0", "parent": "", "question": "Q?", "status": "answered", "how": "", "answer": "q"}),
        answered("q", "y"),
    )  # fmt: skip
    tree = build_tree("Q?", events)
    assert outline(tree) == [
        "answered Q?",
        "-rejected X",
        "-*answered A?",
        "--rejected X",
        "--*accepted Y",
        "-unknown B?",
    ]
    assert (node(tree, "0.1").answer, node(tree, "0.2").note) == ("a", "it is too deep")
    before = build_tree("Q?", events[:6])
    assert outline(before) == ["expanded Q?", "-rejected X", "-open A?", "-open B?"]
    assert group_paragraphs(before.root).word == "in parts"


def reviewed(key: str, passage: str, verdict: str, **more: str) -> tuple[str, dict[str, Any]]:
    data = {"id": key, "parent": key.rpartition(".")[0], "passage_ids": [passage], "titles": [passage.upper()]}
    return "reviewed", {**data, "verdict": verdict, "analysis": "", "answer": "", "query": "", **more}


def grown(*nodes: tuple[str, str], kind: str = "grown", why: str = "") -> tuple[str, dict[str, Any]]:
    listed = [
        {"id": key, "parent": key.rpartition(".")[0], "passage_ids": [passage], "titles": [passage.upper()]}
        for key, passage in nodes
    ]
    return kind, {"nodes": [{**each, "why": why} if why else each for each in listed]}


def test_a_review_tree_shows_verdicts_queries_and_the_evidence_path() -> None:
    tree = build_tree(
        "Q?",
        happened(
            ("query", {"query": "Q?", "why": "", "hop": 1}),
            found("Q?", "x", "y", "z"),
            grown(("0.1", "x"), ("0.2", "y"), ("0.3", "z")),
            reviewed("0.1", "x", "search", analysis="who?"),
            reviewed("0.2", "y", "reject", analysis="off the point"),
            reviewed("0.3", "z", "accept", answer="no"),
            ("expanded", {"id": "0.1", "depth": 1, "query": "who", "written_by": "review"}),
            ("query", {"query": "who", "why": "who?", "hop": 2}),
            found("who", "w", "y"),
            grown(("0.1.1", "w")),
            grown(("0.1.2", "y"), kind="pruned", why="rejected before"),
            reviewed("0.1.1", "w", "accept", answer="yes", analysis="w says yes"),
            ("decided", {"answer": "yes", "used": ["0.1.1"], "final": True}),
            answered("yes", "x", "w"),
        ),
    )
    assert outline(tree) == [
        "answered Q?",
        "-*expanded X",
        "--*accepted W",
        "--pruned Y",
        "-rejected Y",
        "-accepted Z",
    ]
    assert (node(tree, "0.1").query, node(tree, "0.1").note) == ("who", "who?")
    assert node(tree, "0.1.2").note == "rejected before"
    assert node(tree, "0.2").note == ""  # statements about a rejected path are ignored
    assert tree.is_multi_step


def test_hops_show_how_passages_changed_the_answer_from_memory() -> None:
    hop = {"thought": "", "repeated": False, "limit": False}
    tree = build_tree(
        "Q?",
        happened(
            ("deduced", {"hop": 1, "question": "A?", "generated": "wrong", **hop}),
            ("query", {"query": "A?", "why": "", "hop": 1}),
            found("A?", "x", "y", "z"),
            ("grounded", {"hop": 1, "question": "A?", "passage_ids": ["x", "y"], "passage_id": "y", "cited": "Y is."}),
            ("revised", {"hop": 1, "question": "A?", "generated": "wrong", "answer": "right", "grounded": True,
                         "changed": True, "passage_ids": ["y"], "quote": "Y is."}),
            ("deduced", {"hop": 2, "question": "A?", "generated": "", **hop, "repeated": True}),
            answered("right", "y"),
        ),
    )  # fmt: skip
    assert outline(tree) == [
        "answered Q?",
        "-*answered A?",
        "--rejected X",
        "--*accepted Y",
        "--found Z",
        "-pruned A?",
    ]
    assert node(tree, "question1").note == "from memory: wrong; corrected by passages"
    assert node(tree, "question2").note == "asked before"


def test_an_intermediate_answer_is_shown_between_its_searches() -> None:
    tree = build_tree(
        "Q?",
        happened(
            ("query", {"query": "Q?", "why": "", "hop": 1}),
            found("Q?", "x"),
            ("decided", {"answer": "first", "used": [], "final": True}),
            ("query", {"query": "Q? first", "why": "", "hop": 2}),
            found("Q? first", "x", "y"),
            ("decided", {"answer": "second", "used": [], "final": True}),
            answered("second", "y"),
        ),
    )
    assert outline(tree) == [
        "answered Q?",
        "-found X",
        "-expanded first",
        "-*expanded Q? first",
        "--found X",
        "--*found Y",
    ]


def test_the_chosen_sample_differs_from_the_others() -> None:
    tree = build_tree(
        "Q?",
        happened(
            ("sampled", {"answers": ["a", "", "b"]}),
            ("compared", {"answers": ["a", "", "b"], "citation_recall": [0.5, 0.0, 1.0], "chosen": 2}),
            answered("b"),
        ),
    )
    assert outline(tree) == ["answered Q?", "-found a", "-unknown no answer", "-accepted b"]
    assert node(tree, "s3").note == "citation recall 1.00"


def test_merged_paragraphs_are_shown_together() -> None:
    keys = [f"p{number}" for number in range(1, 7)]
    tree = build_tree("Q?", happened(("query", {"query": "Q?"}), found("Q?", *keys), answered("a", "p2")))
    shown = group_paragraphs(tree.root)
    assert [(each.text, each.evidence) for each in shown.children] == [("P1 · P3 · P4 · 2 more", False), ("P2", True)]
    assert group_paragraphs(tree.root, titles=None).children[0].text == "P1 · P3 · P4 · P5 · P6"
