"""Merge what several queries kept."""

from langgraph.runtime import Runtime

from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.reading import excerpts_of_all_queries
from hopgraph.state import Context, Knowledge, Update
from hopgraph.state.blendfilter import BlendFilterState
from hopgraph.state.events import United


async def unite(state: BlendFilterState, runtime: Runtime[Context]) -> Update:
    """Write one entry of `knowledge`: all that was kept for the queries, each passage once, in order (section 3.3)."""
    kept = excerpts_of_all_queries(state["knowledge"])
    emit(runtime, United(passage_ids=[excerpt["passage_id"] for excerpt in kept]))
    return {"knowledge": [Knowledge(query=state["question"], excerpts=kept)]}
