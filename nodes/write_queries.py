"""Sample the search queries of a hop, each with the reason for it, and fuse what they find into one ranking."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from hopgraph.nodes.answer import excerpts_of_all_queries
from hopgraph.nodes.core.ask import Ask, ask_all, calls_of
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages, whole_excerpt
from hopgraph.nodes.core.reply_text import LongText, ReplyModel, ShortText
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.sample_answers import sampling_of
from hopgraph.state import Knowledge, Passage, Query
from hopgraph.state.dsp import DspContext, DspState
from hopgraph.state.events import QueriesGenerated, United
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


async def fuse_rankings(state: DspState, runtime: Runtime[DspContext]) -> Mapping[str, Any]:
    """Keep the `passages_per_query` passages with the largest sums of scores (DSP's fused retrieval), whole.

    A query counts as often as it was sampled; of equal sums the passage with the smaller id comes first. Adds an entry
    to `knowledge`, without excerpts where nothing was found; `passages` are those that any hop has kept.
    """
    passages, sums = passages_by_id(state["passages"]), defaultdict[str, float](float)
    for each in state["candidates"]:
        for key, score in zip(each["passage_ids"], each["scores"], strict=True):
            sums[key] += score * state["sampled"].get(each["query"], 1)
    best = sorted(sums, key=lambda key: (-sums[key], key))[: runtime.context.passages_per_query]
    earlier = [excerpt["passage_id"] for excerpt in excerpts_of_all_queries(state["knowledge"])]
    fused = [Passage({**passages[key], "score": sums[key]}) for key in best if key not in earlier]
    excerpts = [whole_excerpt(passages[key], sums[key]) for key in best]
    emit(runtime, United(passage_ids=best))
    return {
        "knowledge": [*state["knowledge"], Knowledge(query=state["candidates"][0]["query"], excerpts=excerpts)],
        "passages": Overwrite([*(passages[key] for key in earlier), *fused]),
    }
