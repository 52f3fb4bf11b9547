"""Sample the search queries of a hop, each with the reason for it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.answer import excerpts_of_all_queries
from hopgraph.nodes.core.ask import Ask, ask_all, calls_of
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages
from hopgraph.nodes.core.reply_text import LongText, ReplyModel, ShortText
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.sample_answers import sampling_of
from hopgraph.state import Query
from hopgraph.state.baselines import DspContext, DspState
from hopgraph.state.events import QueriesGenerated
from hopgraph.tools.prompts import Value, clean


class SearchQuery(ReplyModel):
    """A reply of the role `write_query`."""

    rationale: LongText = ""
    query: ShortText


async def write_queries(state: DspState, runtime: Runtime[DspContext]) -> Mapping[str, Any]:
    """Sample what to search for next, given all passages so far (the search stage of DSP).

    Writes `queries`, each once, with the rationale of its first sample, `sampled` and the next `iteration`. Where no
    query could be used, or paid for, the question itself is searched for.
    """
    settings, count, hop = runtime.context, runtime.context.queries_per_hop, len(state["knowledge"]) + 1
    variables: dict[str, Value] = {"question": state["question"]}
    if hop > 1:
        shown = excerpts_of_all_queries(state["knowledge"])
        variables["passages"] = prompt_passages(shown, passages_by_id(state["passages"]))
    wanted = Ask("write_query", variables, SearchQuery, SearchQuery(query=""))
    answers = await ask_all(
        runtime, state, [replace(wanted, sample=n, sampling=sampling_of(settings, n, count)) for n in range(count)]
    )
    said = [Query(text=_one_line(each.record.query), why=_one_line(each.record.rationale)) for each in answers]
    first = {each["text"]: each for each in reversed(said)}
    sampled = Counter(each["text"] for each in said if each["text"])
    queries = [first[text] for text in sampled]
    emit(
        runtime,
        QueriesGenerated(queries=[each["text"] for each in queries], missing=queries[0]["why"] if queries else ""),
    )
    cut_off = any(each.outcome == "budget" for each in answers)
    return {
        "queries": queries or [Query(text=state["question"], why="")],
        "sampled": dict(sampled),
        "iteration": hop,
        "stop_reason": "budget" if cut_off else state["stop_reason"],
        "calls": calls_of(answers),
    }


def _one_line(text: str) -> str:
    return " ".join(clean(text).split())
