"""Answer one question of a question tree, or give it up."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.answer import excerpts_of_all_queries, read_answer, reader_ask
from hopgraph.nodes.core.ask import ask, calls_of
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages
from hopgraph.nodes.core.method_graph import Node
from hopgraph.nodes.core.reply_text import knowledge_passage
from hopgraph.nodes.question_tree.branch import (
    calls_after_question,
    question_in_branch,
    question_of,
    settings_for,
    spent_in,
)
from hopgraph.nodes.question_tree.settlement import settle
from hopgraph.state import Draft, Evidence, Passage
from hopgraph.state.question_tree import QuestionNode
from hopgraph.state.ra_isf import RaIsfContext, SolveState


def answer_question(*, own_knowledge: bool) -> Node:
    """Return the step that answers the branch's question with one call (RA-ISF, Equations 2 and 3).

    Args:
        own_knowledge: Show no passages: the model answers from what it knows, and is cited as such.

    The step writes `tree`, `evidence` (under the question's id) and, for own knowledge, the passage that
    holds it. Without an answer the question stays open for the next module, unless the budget is used up. From
    passages: the evidence is what the reply names, else all that were shown, since each was judged relevant; with
    `abstain` off, where it may answer from what it knows, else its own knowledge.
    """

    async def answer(state: SolveState, runtime: Runtime[RaIsfContext]) -> Mapping[str, Any]:
        node = question_of(state)
        settings = settings_for(node, runtime.context)
        excerpts = [] if own_knowledge else excerpts_of_all_queries(state["knowledge"])
        passages = None if own_knowledge else prompt_passages(excerpts, passages_by_id(state["passages"]))
        wanted = reader_ask(node["question"], settings, step="answer_step_by_step", passages=passages)
        answered = await ask(runtime, spent_in(state), wanted, reserve_calls=calls_after_question(node))
        reading = read_answer(answered, settings, excerpts, evidence_id=node["id"], question=node["question"])
        recalled = own_knowledge or not (settings.abstain or reading["evidence"])
        said = [own_words(node, reading)] if recalled and reading["answer"] else []
        rests_on = [each["id"] for each in said] or [each["passage_id"] for each in excerpts]
        if not reading["answer"] and answered.outcome != "budget":
            return {"calls": calls_of([answered])}
        how = "budget" if not reading["answer"] else "known" if recalled else "passages"
        update = settle(runtime, node, how, reading=grounded(node, reading, rests_on))
        return {**update, "passages": said, "calls": calls_of([answered])}

    return answer if own_knowledge else with_passage_review("knowledge", question_in_branch)(answer)


def grounded(node: QuestionNode, reading: Draft, passage_ids: list[str]) -> Draft:
    """Let an answer without evidence rest on these passages; one without an answer, or with evidence, stays."""
    if not reading["answer"] or reading["evidence"] or not passage_ids:
        return reading
    statement = reading["reasoning"] or f"{node['question']} {reading['answer']}"
    evidence = Evidence(id=node["id"], statement=statement, passage_ids=passage_ids, quote="", verified=False)
    return {**reading, "evidence": [evidence]}


def own_words(node: QuestionNode, reading: Draft) -> Passage:
    """Return own knowledge as a passage: the question as its title, the model's text as its text."""
    said = reading["reasoning"] or reading["answer"]
    return knowledge_passage(node["id"], said, title=node["question"], hop=node["depth"] + 1)


async def give_up(state: SolveState, runtime: Runtime[RaIsfContext]) -> Mapping[str, Any]:
    """Settle the branch's question as unknown, without a call (RA-ISF, Algorithm 1, line 3, and No QDM)."""
    node = question_of(state)
    if node["depth"] > runtime.context.max_depth:
        return settle(runtime, node, "depth")
    return settle(runtime, node, "budget" if state["cut_off"] else "unsolved")
