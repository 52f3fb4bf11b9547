"""Let the model compress the best passages, one after the other, until enough of them are relevant."""

from typing import Literal

from langgraph.runtime import Runtime

from hopgraph.nodes.compress import compress_ask, report_compressed, rewritten
from hopgraph.nodes.core.ask import ask_all, spending_update
from hopgraph.nodes.core.excerpts import passages_by_id, whole_excerpt
from hopgraph.nodes.core.method_graph import Node
from hopgraph.nodes.reading import excerpts_of_all_queries
from hopgraph.state import Excerpt, Knowledge, Update
from hopgraph.state.baselines import CompressedContext, CompressedState


def compress_next_with(step: Literal["summarise", "snippet"]) -> Node:
    """Return the node that compresses as many of the next passages as are missing to k (ALCE's SUMM and SNIPPET).

    What is irrelevant makes room for a passage further down the ranking: MIGRES, section 4.4, counts about 8 calls for
    5 relevant passages. The node adds to `knowledge` and counts `read`. What the budget does not cover stays whole.
    """

    async def compress_next(state: CompressedState, runtime: Runtime[CompressedContext]) -> Update:
        settings, passages = runtime.context, passages_by_id(state["passages"])
        [ranking], kept = state["candidates"], excerpts_of_all_queries(state["knowledge"])
        first = state["read"]
        last = min(first + settings.passages_per_extraction - len(kept), settings.max_compressed)
        scored = zip(ranking["passage_ids"][first:last], ranking["scores"][first:last], strict=True)
        batch = [whole_excerpt(passages[key], score) for key, score in scored]
        wanted = [compress_ask(step, ranking["query"], each, passages) for each in batch]
        answers = await ask_all(runtime, state, wanted)
        found: list[Excerpt] = []
        for excerpt, answered in zip(batch, answers, strict=True):
            shorter = excerpt if answered.outcome == "budget" else rewritten(excerpt, answered)
            found += [shorter] if shorter else []
        report_compressed(runtime, step, ranking["query"], len(batch), found)
        return {
            "knowledge": [Knowledge(query=ranking["query"], excerpts=[*kept, *found])],
            "read": first + len(batch),
            **spending_update(state, answers),
        }

    return compress_next
