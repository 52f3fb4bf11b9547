"""Answer one question of a question tree, or give it up."""

from langgraph.runtime import Runtime

from hopgraph.nodes.answer import excerpts_of_all_queries
from hopgraph.nodes.core.ask import calls_of
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.method_graph import Node
from hopgraph.nodes.core.reply_text import knowledge_passage
from hopgraph.nodes.question_tree.branch import question_in_branch, question_of, read_in_branch
from hopgraph.nodes.question_tree.settlement import settle
from hopgraph.state import Draft, Evidence, Passage, Update
from hopgraph.state.question_tree import QuestionNode
from hopgraph.state.ra_isf import RaIsfContext, SolveState


def answer_question(*, own_knowledge: bool) -> Node:
    """Return the step that answers the branch's question with one call (RA-ISF, Equations 2 and 3).

    Without an answer the question stays open for the next module, unless the budget is used up. `own_knowledge`, shown
    no passages, is cited as such. From passages the evidence is what the reply names, else all that were shown, since
    each was judged relevant; with `abstain` off, where the model may answer from what it knows, else its own knowledge.
    Writes `tree` and `evidence`.
    """

    async def answer(state: SolveState, runtime: Runtime[RaIsfContext]) -> Update:
        node = question_of(state)
        excerpts = None if own_knowledge else excerpts_of_all_queries(state["knowledge"])
        reading, answered = await read_in_branch(state, runtime, excerpts, step="answer_step_by_step")
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


async def give_up(state: SolveState, runtime: Runtime[RaIsfContext]) -> Update:
    """Settle the branch's question in `tree` as unknown, without a call (RA-ISF, Algorithm 1, line 3, and No QDM)."""
    node = question_of(state)
    if node["depth"] > runtime.context.max_depth:
        return settle(runtime, node, "depth")
    return settle(runtime, node, "budget" if state["cut_off"] else "unsolved")
