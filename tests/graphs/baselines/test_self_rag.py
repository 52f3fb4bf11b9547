"""Self-RAG: from passages or from memory, with both ways of reflection."""

import json
from typing import Any

import pytest

from hopgraph.graphs.baselines import self_rag
from support.baselines_script import POOL, QUESTION, titles
from support.walks import FixedRetriever, Script, Walk, drawn_edges, walk


def criticize(prompt: str) -> str:
    if "Ada Brink" in titles(prompt):
        return json.dumps({"relevant": True, "answer": "Tallinn", "support": "full", "utility": 5})
    return json.dumps({"relevant": False, "answer": "Riga", "support": "none", "utility": 2})


def tokens(*texts: str) -> str:
    return json.dumps({"tokens": [{"text": text, "logprob": -0.1, "top": {text: -0.1}} for text in texts]})


def criticize_in_tokens(prompt: str) -> str:
    said: dict[str, Any] = json.loads(criticize(prompt))
    support = "[Fully supported]" if said["support"] == "full" else "[No support / Contradictory]"
    return tokens("[Relevant]", f" {said['answer']}", support, f"[Utility:{said['utility']}]", "</s>")


def go(*, known: bool, reflection: Any = "records", **more: Any) -> tuple[Walk, Script]:
    replies: dict[str, Any] = {
        "self_knowledge": lambda _: json.dumps({"known": known}),
        "critique": criticize,
        "answer": lambda _: '{"answer": "Tallinn"}',
    }
    if reflection == "tokens":
        replies = {
            "self_knowledge": lambda _: tokens("[No Retrieval]" if known else "[Retrieval]"),
            "critique": criticize_in_tokens,
            "answer": lambda _: tokens(" Tallinn", "[Utility:5]", "</s>"),
        }
    script = Script(replies)
    settings = self_rag.Context(
        model=script.model(), retriever=FixedRetriever(found=POOL), reflection=reflection, **more
    )
    return walk(self_rag.graph, {"question": QUESTION}, settings), script


@pytest.mark.parametrize("reflection", ["records", "tokens"])
def test_passages_are_read_one_by_one_and_the_best_answer_is_cited(reflection: str) -> None:
    run, script = go(known=False, reflection=reflection)
    assert script.steps == ["self_knowledge"] + ["critique"] * 3
    assert (run.result["answer"], run.result["stop_reason"]) == ("Tallinn", "answered")
    assert [each["passage_id"] for each in run.result["citations"]] == ["person"]


@pytest.mark.parametrize("reflection", ["records", "tokens"])
def test_what_is_known_is_not_looked_up(reflection: str) -> None:
    run, script = go(known=True, reflection=reflection)
    assert script.steps == ["self_knowledge", "answer"]
    assert (run.result["answer"], run.result["usage"]["retrievals"], run.result["citations"]) == ("Tallinn", 0, [])


def test_every_edge_of_the_drawing_is_walked() -> None:
    walked = go(known=False)[0].edges | go(known=True)[0].edges
    assert walked == drawn_edges(self_rag.graph)


@pytest.mark.parametrize("garbage", ["", "?", '{"tokens": 3}', '{"tokens": [{"text": "x", "logprob": "x"}]}', "[]"])
def test_malformed_tokens_leave_the_question_unanswered(garbage: str) -> None:
    script = Script(dict.fromkeys(("self_knowledge", "critique"), lambda _: garbage))
    settings = self_rag.Context(
        model=script.model(), retriever=FixedRetriever(found=POOL), reflection="tokens", parse_retries=0
    )
    run = walk(self_rag.graph, {"question": QUESTION}, settings)
    assert (run.result["answer"], run.result["stop_reason"], run.result["citations"]) == ("", "unanswerable", [])
    assert run.result["usage"]["parse_failures"] == 4


@pytest.mark.parametrize(("threshold", "steps"), [(0.0, ["critique"] * 3), (1.0, ["answer"])])
def test_always_and_never_are_not_asked_for(threshold: float, steps: list[str]) -> None:
    assert go(known=False, retrieval_threshold=threshold)[1].steps == steps
