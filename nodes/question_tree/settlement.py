"""Settle a question of a question tree: its answer, the evidence of the answer, and the end of the run."""

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.question_tree.branch import parts_of
from hopgraph.nodes.question_tree.decomposition import number_of, referred_numbers
from hopgraph.state import Draft, StopReason, Update
from hopgraph.state.events import Solved
from hopgraph.state.question_tree import ROOT_QUESTION, HowSolved, QuestionNode


def evidence_under(tree: Mapping[str, QuestionNode], key: str) -> list[str]:
    """List the ids of the evidence that an answered question rests on: its own, else that of its answered parts."""
    node = tree[key]
    if node["status"] != "answered":
        return []
    if node["passage_ids"]:
        return [key]
    return [found for part in parts_of(tree, key) for found in evidence_under(tree, part["id"])]


def settle(
    runtime: Runtime[Any],
    node: QuestionNode,
    how: HowSolved,
    *,
    reading: Draft | None = None,
    event: type[Solved] = Solved,
) -> Update:
    """Make the update that settles a question, and report it; `Composed` is the event where others' answers made it."""
    answer = reading["answer"] if reading else ""
    evidence = reading["evidence"] if reading else []
    settled: QuestionNode = {
        **node,
        "status": "answered" if answer else "unknown",
        "answer": answer,
        "how": how,
        "explanation": reading["reasoning"] if reading else "",
        "passage_ids": [key for each in evidence for key in each["passage_ids"]],
    }
    emit(runtime, event(**settled))
    return {"tree": {node["id"]: settled}, "evidence": evidence}


def format_sub_answers(parts: Sequence[QuestionNode], whole: str = "") -> list[str]:
    """Write questions with their answers and the reasoning behind these, `unknown` for those without.

    Left out are those that were not asked, since they refer to an unknown answer; `whole` is the question above them.
    """
    asked = [part for part in parts if part["answer"] or not _refers(part, whole)]
    return [
        f"{part['question']} {part['answer'] or 'unknown'}"
        + (f" (because: {' '.join(part['explanation'].split())})" if part["answer"] and part["explanation"] else "")
        for part in asked
    ]


def _refers(part: QuestionNode, whole: str) -> bool:
    return bool(part["parent"]) and bool(referred_numbers(part["question"], before=number_of(part), whole=whole))


def settle_root(tree: Mapping[str, QuestionNode], used: list[str], *, limit: StopReason | None = None) -> Update:
    """Make the update of a run whose question is settled; where the model gave no reason, the answered parts do.

    `used` are the ids of the evidence that the answer rests on; a stop reason that an earlier step set stays (`limit`).
    """
    root, limit = tree[ROOT_QUESTION], limit or reached_limit(tree)
    answered = [part for part in parts_of(tree, ROOT_QUESTION) if part["answer"]]
    return {
        "answer": root["answer"],
        "explanation": root["explanation"] or "; ".join(format_sub_answers(answered)),
        **rest_on_evidence(used if root["answer"] else []),
        "stop_reason": limit or ("answered" if root["answer"] else "unanswerable"),
    }


def rest_on_evidence(used: list[str]) -> Update:
    """Return the update that names the evidence of the final answer; if there is none, all evidence is cleared."""
    return {"used": used} if used else {"used": used, "evidence": Overwrite([])}


def reached_limit(tree: Mapping[str, QuestionNode]) -> StopReason | None:
    """Return the limit that cut a question off: the budget, or the depth where there is no answer; None for none."""
    ways = {node["how"] for node in tree.values()}
    if ways & {"budget", "questions"}:
        return "budget"
    return "max_depth" if "depth" in ways and not tree[ROOT_QUESTION]["answer"] else None
