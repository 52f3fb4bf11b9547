"""Keep the first passages of a ranking as they are."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from hopgraph.nodes.core.excerpts import passages_by_id, whole_excerpt
from hopgraph.state import Candidates, Context, Knowledge, Passage
from hopgraph.state.context import ContextT


class TakeState(TypedDict):
    """What a taking node reads."""

    candidates: list[Candidates]
    passages: list[Passage]


def take_top_with(
    count: Callable[[ContextT], int],
) -> Callable[[TakeState, Runtime[ContextT]], Awaitable[Mapping[str, Any]]]:
    """Return the node that turns each query's candidates into knowledge, whole and in their order.

    Args:
        count: From the settings to the number of passages that each query keeps at most.

    The node writes `knowledge`, one entry per query; no excerpts for a query that found nothing.
    """

    async def take_top(state: TakeState, runtime: Runtime[ContextT]) -> Mapping[str, Any]:
        passages = passages_by_id(state["passages"])
        most = count(runtime.context)
        return {
            "knowledge": [
                Knowledge(
                    query=each["query"],
                    excerpts=[
                        whole_excerpt(passages[key], score)
                        for key, score in zip(each["passage_ids"][:most], each["scores"], strict=False)
                    ],
                )
                for each in state["candidates"]
            ]
        }

    return take_top


def _as_retrieved(settings: Context) -> int:
    return settings.passages_per_query


take_top = take_top_with(_as_retrieved)
"""Take as many passages as were asked for, in the retriever's order."""
