"""Hops as shown in prompts and events, and the evidence of an answer based on them."""

from collections.abc import Iterable, Sequence
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.core.excerpts import whole_excerpt
from hopgraph.nodes.core.reply_text import knowledge_passage, normalized_query
from hopgraph.nodes.core.step_events import emit
from hopgraph.state import Context, Draft, Evidence, Excerpt, Passage, Update
from hopgraph.state.events import Revised
from hopgraph.state.hops import Hop, HopsContext, HopsState
from hopgraph.tools.prompts import Value


def open_hop(number: int, question: str, *, generated: str = "", thought: str = "") -> Hop:
    """Return a new hop, without an answer."""
    return Hop(
        number=number,
        question=question,
        thought=thought,
        generated=generated,
        answer="",
        grounded=False,
        quote="",
        passage_ids=[],
    )


def asks_whole_question(hop: Hop, question: str) -> bool:
    """Return whether a hop asks the question itself, so that its answer is the answer."""
    return normalized_query(hop["question"]) == normalized_query(question)


def calls_after_hop(hop: Hop, question: str, settings: Context) -> int | None:
    """Return the calls to reserve when a hop is read: 1 for a best effort, 0 for the question; None: the end."""
    if isinstance(settings, HopsContext) and settings.has_one_hop:
        return None
    return 0 if asks_whole_question(hop, question) else 1


def accept_generated(hops: Sequence[Hop], runtime: Runtime[Any], *, revised: str = "") -> Update:
    """Return the update that closes the last hop with its generated answer, or the `revised` one.

    The answer, if any, becomes evidence from the model's own knowledge, so that it is cited as such.
    """
    hop = hops[-1]
    number, question, answer = hop["number"], hop["question"], revised or hop["generated"]
    update = {"hops": close_hop(hops, [], answer, runtime)}
    if not answer:
        return update
    recalled = knowledge_passage(str(number), answer, title=question, hop=number)
    evidence = Evidence(
        id=f"{number}.0.1", statement=f"{question} {answer}", passage_ids=[recalled["id"]], quote=answer, verified=False
    )
    return {**update, "passages": [recalled], "evidence": [evidence]}


def close_hop(hops: Sequence[Hop], evidence: Sequence[Evidence], answer: str, runtime: Runtime[Any]) -> list[Hop]:
    """Answer the last hop, as not grounded without evidence, and report it as `revised` (GenGround, section 7.2)."""
    hop = hops[-1]
    done: Hop = {
        **hop,
        "answer": answer,
        "grounded": bool(evidence),
        "quote": " ".join(dict.fromkeys(each["quote"] for each in evidence if each["quote"])),
        "passage_ids": list(dict.fromkeys(key for each in evidence for key in each["passage_ids"])),
    }
    changed = normalized_query(answer) != normalized_query(hop["generated"])
    emit(runtime, Revised.from_record(done, hop=hop["number"], changed=changed))
    return [*hops[:-1], done]


def answered_lines(hops: Iterable[Hop], settings: Context) -> list[str]:
    """Return each hop as a line: the question, the answer or `unknown`, and the sentences that support it, if any.

    An answer that no passage supports is marked as not grounded, if there are passages.
    """
    return [_answered(hop, settings) + (f" (source: {hop['quote']})" if hop["quote"] else "") for hop in hops]


def _answered(hop: Hop, settings: Context) -> str:
    said, doubtful = f"{hop['question']} {hop['answer'] or 'unknown'}", hop["answer"] and not hop["grounded"]
    return f"{said} (not grounded)" if doubtful and "retriever" in settings.required_resources else said


def answers_so_far(hops: Sequence[Hop], settings: Context) -> dict[str, Value]:
    """Return the prompt variable that shows the hops' questions with their answers."""
    return {"history": answered_lines(hops, settings)}


def reasoning_so_far(hops: Sequence[Hop], _settings: Context) -> dict[str, Value]:
    """Return the prompt variables that show the thought of each hop, and its query with the result."""
    found = [f"{hop['question']}\n{hop['answer'] or 'nothing helpful'}" for hop in hops]
    return {"thoughts": [hop["thought"] or "-" for hop in hops], "information": found}


def observed_excerpts(state: HopsState, passages: dict[str, Passage]) -> list[Excerpt]:
    """List the passages for the question and of all hops, whole, without repeats, in order of appearance."""
    for_question = [each["passage_id"] for entry in state["knowledge"] for each in entry["excerpts"]]
    ids = dict.fromkeys([*for_question, *(key for hop in state["hops"] for key in hop["passage_ids"])])
    return [whole_excerpt(passages[key], passages[key]["score"]) for key in ids]


def observed_lines(hops: Iterable[Hop], excerpts: Sequence[Excerpt]) -> list[str]:
    """Return each hop as thought, action and observation; passages by their numbers among the excerpts."""
    numbers = {excerpt["passage_id"]: str(number) for number, excerpt in enumerate(excerpts, start=1)}
    return [
        f"Thought: {hop['thought'] or '-'} Action: search[{hop['question']}] "
        f"Observation: passages {', '.join(numbers[key] for key in hop['passage_ids']) or 'none'}"
        for hop in hops
    ]


def evidence_of_hops(reading: Draft, state: HopsState, settings: Context) -> Draft:
    """Base a final answer on the evidence of all hops, with their answers as its explanation."""
    lines = [_answered(hop, settings) for hop in state["hops"] if hop["answer"]]
    return {
        "reasoning": reading["reasoning"] or "; ".join(lines),
        "answer": reading["answer"],
        "evidence": [*state["evidence"], *reading["evidence"]] if reading["answer"] else [],
    }
