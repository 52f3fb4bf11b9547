"""Let the model filter passages: weigh each of them, then name the relevant ones."""

from typing import Annotated

from langgraph.runtime import Runtime
from pydantic import field_validator

from hopgraph.nodes.blend import FINAL_CALLS
from hopgraph.nodes.core.ask import Ask, ask_all, calls_of, is_cut_off, yes_no_variable
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages
from hopgraph.nodes.core.reply_text import LongText, ReplyModel, read_numbers, schema_hint
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.sentence_filter import describe_excerpt
from hopgraph.state import Context, Knowledge, Passage, Spent, Update
from hopgraph.state.blendfilter import QueryBranch
from hopgraph.state.events import Filtered, Weighed
from hopgraph.tools.prompts import Value, clean


class Relevance(ReplyModel):
    """A reply of the role `select_passages`: the numbers of the passages that count."""

    relevant: Annotated[list[int], schema_hint(maxItems=50)]

    @field_validator("relevant", mode="before")
    @classmethod
    def _numbers(cls, value: object) -> object:
        """Read numbers, or a word for none; any other text without a number is left to be refused."""
        if not isinstance(value, str):
            return [] if value is False else read_numbers(value) or []
        return [] if value.casefold().strip(" .\n") in {"", "no", "none"} else read_numbers(value) or value


class PassageJudgement(ReplyModel):
    """A reply of the role `weigh_passages`."""

    judgement: LongText


class FilterState(Spent):
    """What the filter's two steps read, in a branch or after the union."""

    question: str
    topic: str
    knowledge: list[Knowledge]
    passages: list[Passage]
    branch: QueryBranch | None
    judgements: list[str]


async def weigh_passages(state: FilterState, runtime: Runtime[Context]) -> Update:
    """Judge the passages one by one, with own knowledge of the topic set aside (BlendFilter, section 3.3).

    Writes `judgements`, one for each entry of `knowledge`; empty, without a call, for one without passages.
    """
    entries = [entry for entry in state["knowledge"] if entry["excerpts"]]
    topic: dict[str, Value] = {"topic": state["topic"]} if state["topic"] else {}
    shown = [{**topic, **_variables(entry, state, runtime)} for entry in entries]
    asks = [Ask("weigh_passages", each, PassageJudgement, PassageJudgement(judgement="")) for each in shown]
    answers = await ask_all(runtime, _spent(state), asks, reserve_calls=len(entries) + _kept_back(state))
    replies = iter(answers)
    judgements = [
        clean(next(replies).record.judgement).strip() if entry["excerpts"] else "" for entry in state["knowledge"]
    ]
    for entry, judgement in zip(state["knowledge"], judgements, strict=True):
        emit(runtime, Weighed(query=entry["query"], judgement=judgement))
    return {"judgements": judgements, "cut_off": is_cut_off(answers), "calls": calls_of(answers)}


async def select_passages(state: FilterState, runtime: Runtime[Context]) -> Update:
    """Keep in `knowledge` the passages that the model names, all without a reply (BlendFilter, appendix F).

    A call of its own that shows the passages again, as in the paper, although the judgement names them already.
    """
    entries = [
        (entry, said) for entry, said in zip(state["knowledge"], state["judgements"], strict=True) if entry["excerpts"]
    ]
    asks: list[Ask[Relevance]] = []
    for entry, judgement in entries:
        variables: dict[str, Value] = {"judgement": judgement, **_variables(entry, state, runtime)}
        every = Relevance(relevant=list(range(1, len(entry["excerpts"]) + 1)))
        asks.append(Ask("select_passages", variables, Relevance, every))
    answers = await ask_all(runtime, _spent(state), asks, reserve_calls=_kept_back(state))
    passages = passages_by_id(state["passages"])
    named: dict[str, Knowledge] = {}
    for (entry, _), answered in zip(entries, answers, strict=True):
        relevant = [
            each for number, each in enumerate(entry["excerpts"], start=1) if number in answered.record.relevant
        ]
        named[entry["query"]] = Knowledge(query=entry["query"], excerpts=relevant)
    knowledge = [named.get(entry["query"], entry) for entry in state["knowledge"]]
    for before, after in zip(state["knowledge"], knowledge, strict=True):
        kept = [describe_excerpt(each, passages[each["passage_id"]]) for each in after["excerpts"]]
        size = len(before["excerpts"])
        emit(runtime, Filtered(query=before["query"], threshold=None, passages_in=size, sentences_in=0, kept=kept))
    return {"knowledge": knowledge, "cut_off": is_cut_off(answers), "calls": calls_of(answers)}


def _spent(state: FilterState) -> Spent:
    """Count, in a branch, what is reserved for others; without a branch what was spent so far."""
    branch = state["branch"]
    if branch is None or branch["reserved"] is None:
        return state
    return Spent(calls={**state["calls"], "reserved": branch["reserved"]}, started_at=state["started_at"])


def _kept_back(state: FilterState) -> int:
    return FINAL_CALLS if state["branch"] is None else 0  # a branch's reserve holds what comes after it


def _variables(entry: Knowledge, state: FilterState, runtime: Runtime[Context]) -> dict[str, Value]:
    passages = prompt_passages(entry["excerpts"], passages_by_id(state["passages"]))
    return {"passages": passages, "question": state["question"], **yes_no_variable(runtime.context)}
