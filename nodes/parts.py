"""Decompose a question into parts, or a rationale into questions, and take them one after another."""

from collections.abc import Sequence
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import ModelCall, ask, ask_all, usage_update
from hopgraph.nodes.core.method_graph import Node
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.draft_answers import majority_answer
from hopgraph.nodes.generate_queries import NewQueries, new_queries
from hopgraph.nodes.hops.hop_history import open_hop
from hopgraph.nodes.question_tree import (
    decomposition_ask,
    describe,
    fill_references,
    read_sub_questions,
    referred_numbers,
)
from hopgraph.state import Context, MethodState, Query, Update
from hopgraph.state.baselines import EditingState, GenReadContext, LeastToMostContext, PartsState, VerifyAndEditContext
from hopgraph.state.events import Decomposed, ReferencesResolved, SubQuestion
from hopgraph.state.schemas import MAX_TEXT_CHARACTERS
from hopgraph.tools.text import split_sentences
from hopgraph.tools.text.comparison import contains


def make_sub_questions_node(*, question_last: bool = False) -> Node:
    """Return the node that decomposes the question; `question_last`: the question itself is the last part.

    Writes `sub_questions`, in order; later ones may refer to earlier answers.
    """

    async def sub_questions(state: MethodState, runtime: Runtime[GenReadContext | LeastToMostContext]) -> Update:
        question, most = state["question"], runtime.context.max_sub_questions
        answered = await ask(runtime, state, decomposition_ask(question, most=most, in_order=True))
        found = read_sub_questions(answered.record, most=most, known=[question])
        report_parts(question, found, runtime)
        parts = [*found, question] if question_last else found
        return {"sub_questions": parts, **usage_update(state, [answered])}

    return sub_questions


def report_parts(question: str, parts: Sequence[str], runtime: Runtime[Any], *, prefix: str = "0") -> None:
    """Report the parts of the question as a `decomposed` event, with a new id prefix for each decomposition."""
    listed = [SubQuestion(id=f"{prefix}.{number}", question=text) for number, text in enumerate(parts, start=1)]
    emit(runtime, Decomposed(id="0", depth=0, question=question, sub_questions=listed))


def make_next_sub_question_node(*, answers_in_query: bool = False) -> Node:
    """Return the node that opens a hop for the next part, with the answers that it refers to, as the only query.

    A part whose answer is unknown is replaced by itself in quotation marks; `answers_in_query`: the answers so far are
    added to the query. A question without parts remains the query. Writes `hops`, `queries` and `iteration`.
    """

    async def next_sub_question(state: PartsState, runtime: Runtime[Context]) -> Update:
        hops, parts, whole = state["hops"], state["sub_questions"], state["question"]
        if not parts:
            return {}
        if len(hops) == len(parts) or state["stop_reason"] == "budget":
            return {"queries": []}
        number, text = len(hops) + 1, parts[len(hops)]
        named = referred_numbers(text, before=number, whole=whole)
        names = {each: hops[each - 1]["answer"] or describe(hops[each - 1]["question"]) for each in named}
        question = fill_references(text, names)[:MAX_TEXT_CHARACTERS]
        if question != text:
            emit(runtime, ReferencesResolved(id=f"0.{number}", question=question))
        answers = [hop["answer"] for hop in hops if answers_in_query and hop["answer"]]
        known = [each for each in answers if not contains(question, each)]
        claim = "".join(state["claims"][len(hops) : number])
        return {
            "hops": [*hops, open_hop(number, question, generated=claim)],
            "queries": [Query(text=" ".join([question, *known]), why="" if question == whole else whole)],
            "iteration": number,
        }

    return next_sub_question


next_sub_question = make_next_sub_question_node()
"""Take the next part; its query is its question."""


def verifying_ask(sentence: str, question: str, *, most: int) -> ModelCall[NewQueries]:
    """Return the request for the questions to look up to check a sentence; the fallback is no questions."""
    variables = {"sentence": sentence, "question": question, "max_queries": most}
    return ModelCall("verifying_questions", variables, NewQueries, NewQueries(queries=[]))


async def verifying_questions(state: EditingState, runtime: Runtime[VerifyAndEditContext]) -> Update:
    """Ask one question about each sentence of the rationale, all concurrently (Verify-and-Edit).

    The rationale is that of the first sample with the majority's answer. Its sentences are `claims`; one without a
    usable question is its own query, and without any the question is the only query. Writes `sub_questions` and
    `claims`.
    """
    drafts, whole = state["drafts"], state["question"]
    chosen = majority_answer([draft["answer"] for draft in drafts])
    reasoning = drafts[chosen or 0]["reasoning"] if drafts else ""
    claims = [reasoning[start:end] for start, end in split_sentences(reasoning)][: runtime.context.max_sentences]
    sentences = [Query(text=each, why="") for each in claims or [whole]]
    asks = [verifying_ask(each["text"], whole, most=1) for each in sentences]
    answers = await ask_all(runtime, state, asks)
    replies = [new_queries(each.record, known=[], why="") for each in answers]
    found = [(*new, own)[0]["text"] for new, own in zip(replies, sentences, strict=True)]
    report_parts(whole, found, runtime)
    return {"sub_questions": found, "claims": claims, **usage_update(state, answers)}
