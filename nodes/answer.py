"""Answer a question from what is given: passages, answered sub-questions, or own knowledge."""

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.runtime import Runtime
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from hopgraph.nodes.core.ask import Ask, AskResult, ask, calls_of, yes_no_variable
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages
from hopgraph.nodes.core.method_graph import Node
from hopgraph.nodes.core.reply_text import UNANSWERABLE, LongText, ReplyModel, ShortText, ShownNumbers, short_answer
from hopgraph.nodes.core.step_events import emit
from hopgraph.state import Context, Draft, Evidence, Excerpt, Knowledge, MethodState, StopReason, Update
from hopgraph.state.events import Decided
from hopgraph.tools.prompts import Value, clean


class AnswerReply(ReplyModel):
    """A reply of the role `answer_step_by_step`."""

    reasoning: LongText = ""
    answer: ShortText
    used_passages: ShownNumbers = Field(default_factory=list[int])


class DirectAnswer(AnswerReply):
    """A reply of the role `answer`, which is not asked for its reasons."""

    reasoning: SkipJsonSchema[LongText] = ""


def reader_ask(
    question: str,
    settings: Context,
    *,
    step: str = "answer",
    passages: Sequence[Mapping[str, str]] | None = None,
    sub_answers: Sequence[str] | None = None,
    thoughts: Sequence[str] = (),
) -> Ask[AnswerReply]:
    """Make the question to a reader, with `answer`, or with `answer_step_by_step` for a chain of thought.

    `passages`, numbered from 1, and `sub_answers`, as "Who directed it? Ada Brink", stay out of the prompt where None;
    so do `thoughts`, which only `answer_step_by_step` reads, where there are none.
    """
    variables: dict[str, Value] = {"question": question, **yes_no_variable(settings)}
    if passages is not None:
        variables["passages"] = passages
    if sub_answers is not None:
        variables["sub_answers"] = sub_answers
    if thoughts:
        variables["thoughts"] = thoughts
    schema = DirectAnswer if step == "answer" else AnswerReply
    return Ask(step, variables, schema, AnswerReply(answer=UNANSWERABLE))


def read_answer(
    answered: AskResult[AnswerReply],
    settings: Context,
    excerpts: Sequence[Excerpt] = (),
    *,
    evidence_id: str = "1.1.1",
    question: str = "",
) -> Draft:
    """Turn a reader's reply into an answer with its evidence; numbers of passages that were not shown are ignored.

    The evidence's statement is the reasoning, else the question with its answer, so that a citation's quote fits both.
    """
    reply = answered.record
    answer = short_answer(reply.answer, yes_no=settings.answer_type == "yes_no")
    reasoning = clean(reply.reasoning).strip()
    in_range = [number for number in reply.used_passages if 1 <= number <= len(excerpts)]
    ids = list(dict.fromkeys(excerpts[number - 1]["passage_id"] for number in in_range))
    if not answer or not ids:
        return Draft(reasoning=reasoning, answer=answer, evidence=[])
    statement = reasoning or f"{question} {answer}".strip()
    evidence = Evidence(id=evidence_id, statement=statement, passage_ids=ids, quote="", verified=False)
    return Draft(reasoning=reasoning, answer=answer, evidence=[evidence])


def answer_with(step: str = "answer", *, own_knowledge: bool = False) -> Node:
    """Return the node that answers from all kept passages, or from the model's `own_knowledge` alone, without passages.

    It writes the keys of a final answer: `answer`, `explanation`, `evidence`, `used` and, if none is set,
    `stop_reason`.
    """

    async def answer(state: MethodState, runtime: Runtime[Context]) -> Update:
        settings = runtime.context
        excerpts, given = ([], None) if own_knowledge else kept_passages(state)
        wanted = reader_ask(state["question"], settings, step=step, passages=given)
        answered = await ask(runtime, state, wanted)
        reading = read_answer(answered, settings, excerpts, question=state["question"])
        return answer_update(reading, answered, runtime, limit=state["stop_reason"])

    return answer if own_knowledge else with_passage_review("knowledge")(answer)


def answer_update(
    reading: Draft, answered: AskResult[Any], runtime: Runtime[Any], *, limit: StopReason | None = None
) -> Update:
    """Make a node's update of a final reading, and report it as `decided`; a stop reason set before (`limit`) stays."""
    budget: StopReason | None = "budget" if answered.outcome == "budget" else None
    return {**reading_update(reading, runtime, limit=limit or budget), "calls": calls_of([answered])}


def reading_update(reading: Draft, runtime: Runtime[Any], *, limit: StopReason | None = None) -> Update:
    """Make a node's update of a final reading that took no call; else as `answer_update`."""
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
    """Return the excerpts of all queries, each passage once, and the same as a prompt shows them."""
    excerpts = excerpts_of_all_queries(state["knowledge"])
    return excerpts, prompt_passages(excerpts, passages_by_id(state["passages"]))


def excerpts_of_all_queries(knowledge: Sequence[Knowledge]) -> list[Excerpt]:
    """List the excerpts of all queries in their order, each passage once, at its first place."""
    first: dict[str, Excerpt] = {}
    for entry in knowledge:
        for excerpt in entry["excerpts"]:
            first.setdefault(excerpt["passage_id"], excerpt)
    return list(first.values())
