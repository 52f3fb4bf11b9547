"""Let the model filter passages: judge each of them, then name the relevant ones."""

from typing import Annotated

from langgraph.runtime import Runtime
from pydantic import field_validator

from hopgraph.nodes.blend import CALLS_OF_A_FILTER, FINAL_CALLS
from hopgraph.nodes.core.ask import ModelCall, answer_type_variable, ask_all, calls_of, ran_out_of_budget
from hopgraph.nodes.core.budget import calls_left, is_exhausted
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages
from hopgraph.nodes.core.reply_text import LongText, ReplyModel, read_numbers, schema_hint
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.sentence_filter import describe_excerpt
from hopgraph.state import BudgetState, Context, Knowledge, Passage, Update
from hopgraph.state.events import Filtered, PassagesJudged
from hopgraph.tools.prompts import Value, clean


class Relevance(ReplyModel):
    """A reply of the role `select_passages`: the numbers of the relevant passages."""

    relevant: Annotated[list[int], schema_hint(maxItems=50)]

    @field_validator("relevant", mode="before")
    @classmethod
    def _numbers(cls, value: object) -> object:
        """Parse numbers, or a word for none; any other text without a number is left to be refused."""
        if not isinstance(value, str):
            return [] if value is False else read_numbers(value) or []
        return [] if value.casefold().strip(" .\n") in {"", "no", "none"} else read_numbers(value) or value


class PassageJudgement(ReplyModel):
    """A reply of the role `judge_passages`."""

    judgement: LongText


class FilterState(BudgetState):
    """Keys that the filter's two steps read, before or after the union."""

    question: str
    topic: str
    knowledge: list[Knowledge]
    passages: list[Passage]
    judgements: list[str | None]


async def judge_passages(state: FilterState, runtime: Runtime[Context]) -> Update:
    """Judge the passages one by one, setting aside own knowledge of the topic (BlendFilter, section 3.3).

    Writes `judgements`, one for each entry of `knowledge`; empty, without a call, for one without passages. Entries
    whose two calls exceed the budget (the last ones) remain unfiltered: None.
    """
    settings, entries = runtime.context, [entry for entry in state["knowledge"] if entry["excerpts"]]
    left = 0 if is_exhausted(settings, state, 0) else calls_left(settings, state)
    covered = entries if left is None else entries[: max(0, left - FINAL_CALLS) // CALLS_OF_A_FILTER]
    topic: dict[str, Value] = {"topic": state["topic"]} if state["topic"] else {}
    shown = [{**topic, **_variables(entry, state, runtime)} for entry in covered]
    asks = [ModelCall("judge_passages", each, PassageJudgement, PassageJudgement(judgement="")) for each in shown]
    answers = await ask_all(runtime, state, asks, reserve_calls=len(covered) + FINAL_CALLS)
    said = iter([clean(answer.record.judgement).strip() for answer in answers])
    judgements = [next(said, None) if entry["excerpts"] else "" for entry in state["knowledge"]]
    for entry, judgement in zip(state["knowledge"], judgements, strict=True):
        if judgement is not None:
            emit(runtime, PassagesJudged(query=entry["query"], judgement=judgement))
    return {
        "judgements": judgements,
        "cut_off": ran_out_of_budget(answers) or len(covered) < len(entries),
        "calls": calls_of(answers),
    }


async def select_passages(state: FilterState, runtime: Runtime[Context]) -> Update:
    """Keep in `knowledge` the passages that the model names; all, if there is no reply (BlendFilter, appendix F).

    A separate call that shows the passages again, as in the paper, although the judgement already names them.
    """
    judged = list(zip(state["knowledge"], state["judgements"], strict=True))
    entries = [(entry, said) for entry, said in judged if entry["excerpts"] and said is not None]
    asks: list[ModelCall[Relevance]] = []
    for entry, judgement in entries:
        variables: dict[str, Value] = {"judgement": judgement, **_variables(entry, state, runtime)}
        every = Relevance(relevant=list(range(1, len(entry["excerpts"]) + 1)))
        asks.append(ModelCall("select_passages", variables, Relevance, every))
    answers = await ask_all(runtime, state, asks, reserve_calls=FINAL_CALLS)
    passages, replies = passages_by_id(state["passages"]), iter(answers)
    knowledge: list[Knowledge] = []
    for entry, judgement in judged:
        excerpts = entry["excerpts"]
        if excerpts and judgement is not None:
            named = next(replies).record.relevant
            excerpts = [each for number, each in enumerate(excerpts, start=1) if number in named]
        knowledge.append(Knowledge(query=entry["query"], excerpts=excerpts))
        if judgement is not None:
            kept = [describe_excerpt(each, passages[each["passage_id"]]) for each in excerpts]
            size = len(entry["excerpts"])
            emit(runtime, Filtered(query=entry["query"], threshold=None, passages_in=size, sentences_in=0, kept=kept))
    return {"knowledge": knowledge, "cut_off": ran_out_of_budget(answers), "calls": calls_of(answers)}


def _variables(entry: Knowledge, state: FilterState, runtime: Runtime[Context]) -> dict[str, Value]:
    passages = prompt_passages(entry["excerpts"], passages_by_id(state["passages"]))
    return {"passages": passages, "question": state["question"], **answer_type_variable(runtime.context)}
