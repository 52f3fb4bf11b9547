"""Answer one question of a question tree, from passages, own knowledge or its parts, or give it up (RA-ISF)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import CallResult, calls_of
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.excerpts import passages_by_id, truncated_excerpt
from hopgraph.nodes.core.method_graph import Node
from hopgraph.nodes.core.reply_text import MODEL_SOURCE, knowledge_passage
from hopgraph.nodes.question_tree import (
    ReadingState,
    evidence_under,
    format_sub_answers,
    parts_of,
    question_in_branch,
    question_of,
    reserved_by_branch,
    rest_on_evidence,
    settle,
)
from hopgraph.nodes.reading import AnswerReply, answer_update, ask_reader, excerpts_of_all_queries
from hopgraph.state import Draft, Evidence, Excerpt, Knowledge, Passage, Update
from hopgraph.state.events import Composed
from hopgraph.state.question_tree import ROOT_QUESTION, QuestionNode
from hopgraph.state.ra_isf import RaIsfContext, RaIsfState, SolveState
from hopgraph.state.records import UNANSWERABLE

_NUMBERS = r"\[?\d{1,2}\]?(?:(?:,? and |, ?)\[?\d{1,2}\]?)*"
_PASSAGE_NUMBERS = re.compile(
    rf"\bpassages? (?:no\. ?|number )?{_NUMBERS}"
    rf"|(?<!\s)\s*(?P<brackets>\((?:see )?passages? {_NUMBERS}\)|\[\d{{1,2}}(?:, ?\d{{1,2}})*\])",
    re.IGNORECASE,
)
"""A reference to passages by number in a reasoning."""


def make_answer_question_node(*, own_knowledge: bool) -> Node:
    """Return the step that answers the branch's question with one call (RA-ISF, Equations 2 and 3).

    Without an answer the question stays open for the next module, unless the budget is used up. `own_knowledge`, shown
    no passages, is cited as such. From passages the evidence is what the reply names, else all that were shown, since
    each was judged relevant; with `abstain` off, where the model may answer from what it knows, else its own knowledge.
    Writes `tree` and `evidence`.
    """

    async def answer(state: SolveState, runtime: Runtime[RaIsfContext]) -> Update:
        node = question_of(state)
        excerpts = None if own_knowledge else excerpts_of_all_queries(state["knowledge"])
        reading, answered = await read_in_branch(state, runtime, excerpts)
        recalled = own_knowledge or not (runtime.context.abstain or reading["evidence"])
        said = [own_words(node, reading)] if recalled and reading["answer"] else []
        rests_on = [each["id"] for each in said] or [each["passage_id"] for each in excerpts or ()]
        if not reading["answer"] and answered.outcome != "budget":
            return {"calls": calls_of([answered])}
        how = "budget" if not reading["answer"] else "known" if recalled else "passages"
        update = settle(runtime, node, how, reading=grounded(node, reading, rests_on))
        return {**update, "passages": said, "calls": calls_of([answered])}

    return answer if own_knowledge else with_passage_review("knowledge", question_in_branch)(answer)


def grounded(node: QuestionNode, reading: Draft, passage_ids: list[str]) -> Draft:
    """Base an answer without evidence on these passages; one without an answer, or with evidence, is unchanged."""
    if not reading["answer"] or reading["evidence"] or not passage_ids:
        return reading
    statement = reading["reasoning"] or f"{node['question']} {reading['answer']}"
    evidence = Evidence(id=node["id"], statement=statement, passage_ids=passage_ids, quote="", verified=False)
    return {**reading, "evidence": [evidence]}


def own_words(node: QuestionNode, reading: Draft) -> Passage:
    """Return own knowledge as a passage: the question as its title, the model's text as its text."""
    said = reading["reasoning"] or reading["answer"]
    return knowledge_passage(node["id"], said, title=node["question"], hop=node["depth"] + 1)


async def give_up(state: SolveState, runtime: Runtime[RaIsfContext]) -> Update:
    """Settle the branch's question in `tree` as unknown, without a call (RA-ISF, Algorithm 1, line 3, and No QDM)."""
    node = question_of(state)
    if node["depth"] > runtime.context.max_depth:
        return settle(runtime, node, "depth")
    return settle(runtime, node, "budget" if state["cut_off"] else "unsolved")


async def compose(state: RaIsfState, runtime: Runtime[RaIsfContext]) -> Update:
    """Answer the branch's question from its parts' questions and answers, with their reasoning (RA-ISF, Equation 4).

    With `carry_evidence` (*ours*) the passages that they rest on are shown too, and the evidence is what the reply
    names. Writes `tree` and `evidence`.
    """
    node, parts = question_of(state), parts_of(state["tree"], state["branch"]["id"])
    carried, sub_answers = _carried(parts, state, runtime.context) or None, format_sub_answers(parts, node["question"])
    reading, answered = await read_in_branch(state, runtime, carried, sub_answers)
    how = "composed" if reading["answer"] else "budget" if answered.outcome == "budget" else "unsolved"
    return {**settle(runtime, node, how, reading=reading, event=Composed), "calls": calls_of([answered])}


def _carried(parts: Sequence[QuestionNode], state: RaIsfState, settings: RaIsfContext) -> list[Excerpt]:
    """Show the passages behind the parts' answers again, if `carry_evidence`; own knowledge is in the answers."""
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
    """List the passages for a best effort: those behind the tree's topmost answers, and the question's own."""
    carried = _carried(_highest_answered(state["tree"], ROOT_QUESTION), state, settings)
    found = _excerpts([each for each in state["passages"] if each["hop"] == 1], settings)
    first = {each["passage_id"]: each for each in reversed([*carried, *found])}
    return Knowledge(query=state["question"], excerpts=[*first.values()][::-1])


@with_passage_review("knowledge")
async def best_effort(state: RaIsfState, runtime: Runtime[RaIsfContext]) -> Update:
    """Answer the question from what was found (*ours*), if nothing solved it or with the budget's last call.

    That is the highest answered questions of the tree, and the passages in `knowledge`; without either, own knowledge.
    Writes `answer`, `explanation`, `evidence`, `used`, `stop_reason` and `tree`.
    """
    settings, root = runtime.context, state["tree"][ROOT_QUESTION]
    answered_parts, excerpts = _highest_answered(state["tree"], ROOT_QUESTION), state["knowledge"][0]["excerpts"]
    fallback = answered_parts[-1]["answer"] if answered_parts and not settings.abstain else UNANSWERABLE
    reading, answered = await ask_reader(
        runtime,
        state,
        root["question"],
        excerpts or None,
        evidence_id=ROOT_QUESTION,
        step="answer_step_by_step",
        sub_answers=format_sub_answers(answered_parts) or None,
        fallback=AnswerReply(answer=fallback),
    )
    said = [own_words(root, reading)] if reading["answer"] and not answered_parts and not excerpts else []
    reading = grounded(root, reading, [each["id"] for each in said])
    how = "best_effort" if reading["answer"] else root["how"] or "budget"
    update = settle(runtime, root, how, reading=reading, event=Composed)
    used = [key for part in answered_parts for key in evidence_under(state["tree"], part["id"])]
    return {
        **answer_update(reading, answered, runtime, limit=state["stop_reason"]),
        **update,
        "passages": said,
        **rest_on_evidence(([ROOT_QUESTION] if reading["evidence"] else used) if reading["answer"] else []),
    }


def _highest_answered(tree: Mapping[str, QuestionNode], key: str) -> list[QuestionNode]:
    found: list[QuestionNode] = []
    for part in parts_of(tree, key):
        found += [part] if part["status"] == "answered" else _highest_answered(tree, part["id"])
    return found


async def read_in_branch(
    state: ReadingState,
    runtime: Runtime[Any],
    excerpts: Sequence[Excerpt] | None,
    sub_answers: Sequence[str] | None = None,
) -> tuple[Draft, CallResult[AnswerReply]]:
    """Answer the branch's question step by step, in one call; evidence gets the question's id.

    Only the question that was asked is of the asked-for type; parts of a yes-or-no question ask for names and dates.
    The reasoning names passages by their titles, since their numbers mean others in the prompts that show it later.
    """
    node = question_of(state)
    reading, answered = await ask_reader(
        runtime,
        state,
        node["question"],
        excerpts,
        evidence_id=node["id"],
        step="answer_step_by_step",
        sub_answers=sub_answers,
        short=bool(node["parent"]),
        reserve_calls=reserved_by_branch(node) or None,
    )
    passages = passages_by_id(state["passages"] if excerpts else ())
    titles = [passages[each["passage_id"]]["title"] for each in excerpts or ()]
    return {**reading, "reasoning": with_titles(reading["reasoning"], titles)}, answered


def with_titles(text: str, titles: Sequence[str]) -> str:
    """Replace passage numbers with their titles, as in `passages 1 and 3` or `[2]`.

    The number of no passage is left out, and so is that of one without a title.
    """

    def named(found: re.Match[str]) -> str:
        numbers = [int(each) for each in re.findall(r"\d+", found[0])]
        names = [f"“{titles[at - 1]}”" for at in numbers if 0 < at <= len(titles) and titles[at - 1]]
        said = " and ".join(dict.fromkeys(names))
        if found["brackets"]:
            return f" ({said})" if said else ""
        return said or "a passage"

    return _PASSAGE_NUMBERS.sub(named, text).strip()
