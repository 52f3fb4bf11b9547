"""Keep the best retrieved passages as they are, without a reranker."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from hopgraph.nodes.knowledge import by_id, whole
from hopgraph.state import Candidates, Context, Knowledge, Passage


class TakeState(TypedDict):
    """What `take_top` reads."""

    candidates: list[Candidates]
    passages: list[Passage]


async def take_top(state: TakeState, runtime: Runtime[Context]) -> Mapping[str, Any]:
    """Turn each query's candidates into knowledge, whole and in the retriever's order.

    Writes `knowledge`, one entry per query; at most `passages_per_query` excerpts each, none for a query
    that found nothing.
    """
    passages = by_id(state["passages"])
    most = runtime.context.passages_per_query
    return {
        "knowledge": [
            Knowledge(
                query=each["query"],
                excerpts=[
                    whole(passages[key], score)
                    for key, score in zip(each["passage_ids"][:most], each["scores"], strict=False)
                ],
            )
            for each in state["candidates"]
        ]
    }
