"""SearChain end to end: chains whose nodes are completed, corrected or left as they are; every edge, budgets."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from hopgraph.graphs.baselines import searchain
from support.baselines_script import FILM, NOISE, PERSON, QUESTION, queries_of, titles
from support.walks import FixedRetriever, Script, Walk, drawn_edges, walk

WHO, WHERE = "Who directed the film Night Harbour?", "Where was Ada Brink born?"
FOUND: dict[str, dict[str, tuple[str, str]]] = {
    "^Who": {"film": FILM, "noise": NOISE},
    "^Where was Ada": {"person": PERSON},
    "": {"noise": NOISE},
}
ANSWERS = {WHO: "Ada Brink", WHERE: "Tallinn"}


def chain(*links: tuple[str, str]) -> str:
    return json.dumps({"chain": [{"query": query, "answer": answer} for query, answer in links]})


def reading(text: str, confidence: Any = 5) -> str:
    return json.dumps({"answer": text, "confidence": confidence, "used_passages": [1]})


def asked(prompt: str) -> str:
    return re.findall(r"<question>\n(.*?)\n</question>", prompt, re.DOTALL)[0]


def plan(prompt: str) -> str:
    """Go on from the checked nodes by one unsolved one."""
    history = prompt.split("<history>")[1].split("</history>")[0]
    return chain(*[(query, "") for query in ANSWERS if f"{query} " not in history][:1])


def replies(**other: Any) -> dict[str, Any]:
    return {
        "write_chain": plan,
        "read_chain_node": lambda prompt: reading(ANSWERS.get(asked(prompt), "unanswerable")),
        "answer": lambda _: json.dumps({"answer": "Tallinn"}),
        **other,
    }


def go(other: Mapping[str, Any] | None = None, **more: Any) -> tuple[Walk, Script]:
    script = Script(replies(**(other or {})))
    given: dict[str, Any] = {"model": script.model(), "retriever": FixedRetriever(found=FOUND), **more}
    return walk(searchain.graph, {"question": QUESTION}, searchain.Context(**given)), script


def hops(run: Walk) -> list[tuple[str, str, bool]]:
    return [(hop["question"], hop["answer"], hop["grounded"]) for hop in run.state["hops"]]


def test_unsolved_nodes_are_completed_and_the_chain_is_written_anew() -> None:
    run, script = go()
    assert script.steps == ["write_chain", "read_chain_node"] * 2 + ["write_chain", "answer"]
    assert queries_of(run) == [WHO, WHERE]
    assert f"{WHO} Ada Brink (source: It was directed by Ada Brink.)" in script.prompts[2]
    assert [titles(script.prompts[at]) for at in (1, 3)] == [["Night Harbour", "Harbour"], ["Ada Brink"]]
    result = run.result
    assert (result["answer"], result["stop_reason"], result["usage"]["llm_calls"]) == ("Tallinn", "answered", 6)
    assert [(each["passage_id"], each["quote"]) for each in result["citations"]] == [
        ("film", "It was directed by Ada Brink."),
        ("person", "She was born in Tallinn."),
    ]


@pytest.mark.parametrize(
    ("claim", "said", "node", "feedback"),
    [
        ("Bo Lind", reading("Ada Brink", 4), ("Ada Brink", True), True),
        ("Bo Lind", reading("Ada Brink", 3), ("Bo Lind", False), False),
        ("Bo Lind", reading("Ada Brink", None), ("Bo Lind", False), False),
        ("Bo Lind", reading("unanswerable"), ("Bo Lind", False), False),
        ("ada brink", reading("Ada Brink", 1), ("ada brink", True), False),
        ("", reading("Ada Brink", 4), ("Ada Brink", True), True),
        ("", reading("Ada Brink", 3), ("Ada Brink", False), True),
        ("Unsolved", reading("Ada Brink", 1), ("Ada Brink", False), True),
        ("", reading("unanswerable"), ("", False), True),
    ],
)
def test_what_the_reader_says_completes_corrects_or_stays(
    claim: str, said: str, node: tuple[str, bool], feedback: bool
) -> None:
    run, script = go(
        {"write_chain": [chain((WHO, claim), (WHERE, "")), chain()], "read_chain_node": [said, reading("x")]}
    )
    assert hops(run)[0] == (WHO, *node)
    # Only the first feedback of a round is sent: what follows in the chain is not read.
    assert script.steps.count("read_chain_node") == (1 if feedback else 2)


def test_nodes_that_were_seen_are_skipped() -> None:
    again = [
        chain((WHO, "")),
        chain((WHO.upper(), "Bo Lind"), ("The film Night Harbour, who directed?", ""), (WHERE, ""), (WHERE, "")),
        chain(),
    ]
    run, _ = go({"write_chain": again})
    assert queries_of(run) == [WHO, WHERE]


@pytest.mark.parametrize(("more", "nodes"), [({"max_rounds": 1}, 1), ({"max_rounds": 3}, 3), ({"max_hops": 2}, 2)])
def test_rounds_and_nodes_have_limits(more: dict[str, int], nodes: int) -> None:
    numbers = iter(range(99))
    words = ["one", "two", "three", "four", "five"]
    other = {"write_chain": lambda _: chain(*((f"What is {words[next(numbers) % 5]}?", "") for _ in range(1)))}
    run, script = go(other, **more)
    assert (len(run.state["hops"]), script.steps.count("write_chain")) == (nodes, nodes)
    assert (run.result["stop_reason"], run.result["answer"]) == ("max_iterations", "Tallinn")


def test_the_reader_and_the_feedback_show_the_passages_of_a_query() -> None:
    run, script = go(top_k=2)
    assert titles(script.prompts[1]) == titles(script.prompts[2]) == ["Night Harbour", "Harbour"]
    assert [each["id"] for each in run.result["passages"]] == ["film", "person", "noise"]


def test_the_model_may_keep_its_answer_against_the_reader() -> None:
    chains = [chain((WHO, "Bo Lind")), chain((WHO, "Bo Lind")), chain()]
    run, script = go({"write_chain": chains})
    assert hops(run) == [(WHO, "Bo Lind", False)]
    assert f"{WHO} Bo Lind (not grounded)" in script.prompts[-1]


def test_an_unsolved_query_may_come_again() -> None:
    chains = [chain((WHO, "")), chain((WHO, "")), chain()]
    said = [reading("unanswerable"), reading("Ada Brink")]
    run, _ = go({"write_chain": chains, "read_chain_node": said})
    assert hops(run) == [(WHO, "", False), (WHO, "Ada Brink", True)]


def test_no_chain_looks_the_question_up() -> None:
    run, _ = go({"write_chain": lambda _: chain()})
    assert queries_of(run) == [QUESTION]
    run, script = go({"write_chain": [chain(("Nowhere?", "")), chain()]}, retriever=FixedRetriever(found={}))
    assert script.steps == ["write_chain", "write_chain", "answer"]  # without a passage nothing is read


def test_every_edge_of_the_drawing_is_walked() -> None:
    solved = {"write_chain": [chain((WHO, "Ada Brink"))]}
    assert go()[0].edges | go(solved)[0].edges == drawn_edges(searchain.graph)
