"""Answer a question from the answers to its parts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from langgraph.runtime import Runtime

from hopgraph.nodes.answer import AnswerReply, answer_update, read_answer, reader_ask
from hopgraph.nodes.answer_question import grounded, own_words
from hopgraph.nodes.core.ask import ask, calls_of
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages, truncated_excerpt
from hopgraph.nodes.core.reply_text import MODEL_SOURCE
from hopgraph.nodes.question_tree.branch import parts_of, question_of, read_in_branch
from hopgraph.nodes.question_tree.settlement import evidence_under, format_sub_answers, rest_on_evidence, settle
from hopgraph.state import Excerpt, Knowledge, Passage, Update
from hopgraph.state.events import Composed
from hopgraph.state.question_tree import ROOT, QuestionNode
from hopgraph.state.ra_isf import RaIsfContext, RaIsfState


async def compose(state: RaIsfState, runtime: Runtime[RaIsfContext]) -> Update:
    """Answer the branch's question from its parts' questions and answers, with their reasoning (RA-ISF, Equation 4).

    With `carry_evidence` (*ours*) the passages that they rest on are shown too, and the evidence is what the reply
    names. Writes `tree` and `evidence`.
    """
    node, parts = question_of(state), parts_of(state["tree"], state["branch"]["id"])
    carried, sub_answers = _carried(parts, state, runtime.context) or None, format_sub_answers(parts, node["question"])
    reading, answered = await read_in_branch(
        state, runtime, carried, step="answer_step_by_step", sub_answers=sub_answers
    )
    how = "composed" if reading["answer"] else "budget" if answered.outcome == "budget" else "unsolved"
    return {**settle(runtime, node, how, reading=reading, event=Composed), "calls": calls_of([answered])}


def _carried(parts: Sequence[QuestionNode], state: RaIsfState, settings: RaIsfContext) -> list[Excerpt]:
    """Show the passages again that the parts' answers rest on, if `carry_evidence`; own knowledge is in the answers."""
    if not settings.carry_evidence:
        return []
    below = [key for part in parts for key in evidence_under(state["tree"], part["id"])]
    cited = {each["id"]: each["passage_ids"] for each in state["evidence"]}
    ids = dict.fromkeys(passage_id for key in below for passage_id in cited[key])
    passages = passages_by_id(state["passages"])
    return _excerpts([passages[key] for key in ids], settings)


def _excerpts(passages: Sequence[Passage], settings: RaIsfContext) -> list[Excerpt]:
    """Truncate retrieved passages as they were shown before."""
    found = [each for each in passages if each["source"] != MODEL_SOURCE]
    return [truncated_excerpt(each, each["score"], settings.passage_tokens) for each in found]


def at_hand(state: RaIsfState, settings: RaIsfContext) -> Knowledge:
    """List the passages for a best effort: those that the tree's highest answers rest on, and the question's own."""
    carried = _carried(_highest_answered(state["tree"], ROOT), state, settings)
    found = _excerpts([each for each in state["passages"] if each["hop"] == 1], settings)
    first = {each["passage_id"]: each for each in reversed([*carried, *found])}
    return Knowledge(query=state["question"], excerpts=[*first.values()][::-1])


@with_passage_review("knowledge")
async def best_effort(state: RaIsfState, runtime: Runtime[RaIsfContext]) -> Update:
    """Answer the question from what was found (*ours*), when nothing solved it or with the budget's last call.

    That is the highest answered questions of the tree, and the passages in `knowledge`; without either, own knowledge.
    Writes `answer`, `explanation`, `evidence`, `used`, `stop_reason` and `tree`.
    """
    settings, root = runtime.context, state["tree"][ROOT]
    answered_parts = _highest_answered(state["tree"], ROOT)
    passages, excerpts = passages_by_id(state["passages"]), state["knowledge"][0]["excerpts"]
    wanted = reader_ask(
        root["question"],
        settings,
        step="answer_step_by_step",
        passages=prompt_passages(excerpts, passages) or None,
        sub_answers=format_sub_answers(answered_parts) or None,
    )
    if answered_parts and not settings.abstain:
        wanted = replace(wanted, fallback=AnswerReply(answer=answered_parts[-1]["answer"]))
    answered = await ask(runtime, state, wanted)
    reading = read_answer(answered, settings, excerpts, evidence_id=ROOT, question=root["question"])
    said = [own_words(root, reading)] if reading["answer"] and not answered_parts and not excerpts else []
    reading = grounded(root, reading, [each["id"] for each in said])
    how = "best_effort" if reading["answer"] else root["how"] or "budget"
    update = settle(runtime, root, how, reading=reading, event=Composed)
    used = [key for part in answered_parts for key in evidence_under(state["tree"], part["id"])]
    return {
        **answer_update(reading, answered, runtime, limit=state["stop_reason"]),
        **update,
        "passages": said,
        **rest_on_evidence(([ROOT] if reading["evidence"] else used) if reading["answer"] else []),
    }


def _highest_answered(tree: Mapping[str, QuestionNode], key: str) -> list[QuestionNode]:
    found: list[QuestionNode] = []
    for part in parts_of(tree, key):
        found += [part] if part["status"] == "answered" else _highest_answered(tree, part["id"])
    return found
