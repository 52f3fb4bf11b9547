"""Read an answer from what is given: passages, answered sub-questions, thoughts, or own knowledge.

Every node that answers a question calls its reader through `ask_reader`: the shown passages and the question
are arguments; the node's own update decides where the answer goes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langgraph.runtime import Runtime
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from hopgraph.nodes.core.ask import CallResult, ModelCall, answer_type_variable, ask, calls_of, without_yes_no
from hopgraph.nodes.core.budget import is_exhausted
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages, shown_ids
from hopgraph.nodes.core.method_graph import Node
from hopgraph.nodes.core.reply_text import LongText, ReplyModel, ShortText, ShownNumbers, short_answer
from hopgraph.nodes.core.step_events import emit
from hopgraph.state import (
    BudgetState,
    Context,
    Draft,
    Evidence,
    Excerpt,
    Knowledge,
    MethodState,
    Passage,
    Query,
    StopReason,
    Update,
)
from hopgraph.state.baselines import IrcotContext, IrcotState, IterRetgenContext, IterRetgenState
from hopgraph.state.events import Decided
from hopgraph.state.records import UNANSWERABLE
from hopgraph.state.reducers import merge_calls
from hopgraph.state.schemas import MAX_TEXT_CHARACTERS
from hopgraph.tools.prompts import Value, clean


class PassagesState(BudgetState):
    """Keys of the state that a reader reads."""

    passages: list[Passage]


class AnswerReply(ReplyModel):
    """A reply of the role `answer_step_by_step`."""

    reasoning: LongText = ""
    answer: ShortText
    used_passages: ShownNumbers = Field(default_factory=list[int])


class DirectAnswer(AnswerReply):
    """A reply of the role `answer`, which is not asked for its reasoning."""

    reasoning: SkipJsonSchema[LongText] = ""


def reader_ask(
    question: str,
    settings: Context,
    *,
    step: str = "answer",
    passages: Sequence[Mapping[str, str]] | None = None,
    sub_answers: Sequence[str] | None = None,
    thoughts: Sequence[str] = (),
) -> ModelCall[AnswerReply]:
    """Return the request to a reader, with `answer`, or with `answer_step_by_step` for a chain of thought.

    `passages`, numbered from 1, and `sub_answers`, e.g. "Who directed it? Ada Brink", are omitted if None;
    so do `thoughts`, which only `answer_step_by_step` reads, if there are none.
    """
    variables: dict[str, Value] = {"question": question, **answer_type_variable(settings)}
    if passages is not None:
        variables["passages"] = passages
    if sub_answers is not None:
        variables["sub_answers"] = sub_answers
    if thoughts:
        variables["thoughts"] = thoughts
    schema = DirectAnswer if step == "answer" else AnswerReply
    return ModelCall(step, variables, schema, AnswerReply(answer=UNANSWERABLE))


def read_answer(
    answered: CallResult[AnswerReply],
    settings: Context,
    excerpts: Sequence[Excerpt] = (),
    *,
    evidence_id: str = "1.1.1",
    question: str = "",
) -> Draft:
    """Turn a reader's reply into an answer with its evidence; invalid passage numbers are ignored.

    The evidence's statement is the reasoning, else the question with its answer, so that a citation's quote fits both.
    """
    reply = answered.record
    answer = short_answer(reply.answer, yes_no=settings.answer_type == "yes_no")
    reasoning = clean(reply.reasoning).strip()
    ids = shown_ids(reply.used_passages, excerpts)
    if not answer or not ids:
        return Draft(reasoning=reasoning, answer=answer, evidence=[])
    statement = reasoning or f"{question} {answer}".strip()
    evidence = Evidence(id=evidence_id, statement=statement, passage_ids=ids, quote="", verified=False)
    return Draft(reasoning=reasoning, answer=answer, evidence=[evidence])


async def ask_reader(
    runtime: Runtime[Any],
    state: PassagesState,
    question: str,
    excerpts: Sequence[Excerpt] | None = None,
    *,
    evidence_id: str = "1.1.1",
    step: str = "answer",
    sub_answers: Sequence[str] | None = None,
    thoughts: Sequence[str] = (),
    schema: type[AnswerReply] | None = None,
    fallback: AnswerReply | None = None,
    short: bool = False,
    reserve_calls: int | None = None,
) -> tuple[Draft, CallResult[AnswerReply]]:
    """Ask a reader a question, over these excerpts of the state's passages (None: over none), and parse its answer.

    `short`: never yes or no, for a part of the question. The other arguments are those of `reader_ask`, `read_answer`
    and `ask`.
    """
    settings: Context = without_yes_no(runtime.context) if short else runtime.context
    passages = None if excerpts is None else prompt_passages(excerpts, passages_by_id(state["passages"]))
    wanted = reader_ask(question, settings, step=step, passages=passages, sub_answers=sub_answers, thoughts=thoughts)
    wanted = replace(wanted, schema=schema or wanted.schema, fallback=fallback or wanted.fallback)
    answered = await ask(runtime, state, wanted, reserve_calls=reserve_calls)
    return read_answer(answered, settings, excerpts or (), evidence_id=evidence_id, question=question), answered


def make_answer_node(step: str = "answer", *, own_knowledge: bool = False) -> Node:
    """Return the node that answers from all kept passages, or from the model's `own_knowledge` alone, without passages.

    It writes the keys of a final answer: `answer`, `explanation`, `evidence`, `used` and, if none is set,
    `stop_reason`.
    """

    async def answer(state: MethodState, runtime: Runtime[Context]) -> Update:
        excerpts = None if own_knowledge else excerpts_of_all_queries(state["knowledge"])
        reading, answered = await ask_reader(runtime, state, state["question"], excerpts, step=step)
        return answer_update(reading, answered, runtime, limit=state["stop_reason"])

    return answer if own_knowledge else with_passage_review("knowledge")(answer)


@with_passage_review("knowledge")
async def answer_again(state: IterRetgenState, runtime: Runtime[IterRetgenContext]) -> Update:
    """Answer step by step from this turn's passages alone (ITER-RETGEN's generation); writes `generated`, too.

    *Ours*: a turn without an answer keeps an earlier turn's; the budget may end the run before the last turn.
    """
    settings, turn = runtime.context, state["iteration"]
    excerpts, step = excerpts_of_all_queries(state["knowledge"]), "answer_step_by_step"
    reading, answered = await ask_reader(
        runtime, state, state["question"], excerpts, evidence_id=f"{turn}.1.1", step=step
    )
    generated = f"{reading['reasoning']} {reading['answer']}".strip()[:MAX_TEXT_CHARACTERS]
    spent = BudgetState(calls=merge_calls(state["calls"], calls_of([answered])), started_at=state["started_at"])
    cut_off = answered.outcome == "budget" or (turn < settings.iterations and is_exhausted(settings, spent, 1))
    limit: StopReason | None = "budget" if cut_off else None
    if state["answer"] and not reading["answer"]:
        return {"generated": generated, "stop_reason": limit or "answered", "calls": calls_of([answered])}
    return {**answer_update(reading, answered, runtime, limit=limit), "generated": generated}


async def extend_query(state: IterRetgenState) -> Update:
    """Put the generated text before the question as the next turn's query; writes `queries` and `iteration`."""
    query = Query(text=f"{state['generated']} {state['question']}", why="")
    return {"queries": [query], "iteration": state["iteration"] + 1}


@with_passage_review("knowledge")
async def answer_from_thoughts(state: IrcotState, runtime: Runtime[IrcotContext]) -> Update:
    """Answer step by step from all passages, and from the chain of thought that collected them (IRCoT's reader)."""
    excerpts, step = excerpts_of_all_queries(state["knowledge"]), "answer_step_by_step"
    reading, answered = await ask_reader(
        runtime, state, state["question"], excerpts, step=step, thoughts=state["thoughts"]
    )
    return answer_update(reading, answered, runtime, limit=state["stop_reason"])


def answer_update(
    reading: Draft, answered: CallResult[Any], runtime: Runtime[Any], *, limit: StopReason | None = None
) -> Update:
    """Return a node's update for a final reading, reported as `decided`; an earlier stop reason (`limit`) stays."""
    budget: StopReason | None = "budget" if answered.outcome == "budget" else None
    return {**reading_update(reading, runtime, limit=limit or budget), "calls": calls_of([answered])}


def reading_update(reading: Draft, runtime: Runtime[Any], *, limit: StopReason | None = None) -> Update:
    """Return a node's update for a final reading without a call; else as `answer_update`."""
    used = [each["id"] for each in reading["evidence"]]
    said = {"answer": reading["answer"], "explanation": reading["reasoning"]}
    emit(runtime, Decided(**said, confidence=None, missing="", used=list(used), final=True))
    return {
        **said,
        "evidence": reading["evidence"],
        "used": used,
        "stop_reason": limit or ("answered" if reading["answer"] else "unanswerable"),
    }


def kept_passages(state: MethodState) -> tuple[list[Excerpt], list[dict[str, str]]]:
    """Return the excerpts of all queries, each passage once, also in the form for a prompt."""
    excerpts = excerpts_of_all_queries(state["knowledge"])
    return excerpts, prompt_passages(excerpts, passages_by_id(state["passages"]))


def excerpts_of_all_queries(knowledge: Sequence[Knowledge]) -> list[Excerpt]:
    """List the excerpts of all queries in order, each passage once, at its first position."""
    first: dict[str, Excerpt] = {}
    for entry in knowledge:
        for excerpt in entry["excerpts"]:
            first.setdefault(excerpt["passage_id"], excerpt)
    return list(first.values())
