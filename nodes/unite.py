"""Merge what several queries kept."""

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from hopgraph.nodes.answer import excerpts_of_all_queries
from hopgraph.nodes.core.step_events import emit
from hopgraph.state import Context, Knowledge, Update
from hopgraph.state.blendfilter import BlendFilterState
from hopgraph.state.events import United


async def unite(state: BlendFilterState, runtime: Runtime[Context]) -> Update:
    """Write one entry of `knowledge`: all that the branches kept, each passage once, in their order (section 3.3)."""
    by_query = {entry["query"]: entry for entry in state["knowledge"]}
    in_order = [by_query.pop(branch["query"]) for branch in state["branches"] if branch["query"] in by_query]
    kept = excerpts_of_all_queries([*in_order, *by_query.values()])  # a reviewer's queries are no branch's
    emit(runtime, United(passage_ids=[excerpt["passage_id"] for excerpt in kept]))
    return {"knowledge": Overwrite([Knowledge(query=state["question"], excerpts=kept)])}
