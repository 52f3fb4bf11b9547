"""Merge what several queries kept."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from hopgraph.nodes.answer import excerpts_of_all_queries
from hopgraph.nodes.core.step_events import emit
from hopgraph.state import Context, Knowledge
from hopgraph.state.blendfilter import BlendFilterState
from hopgraph.state.events import United


async def unite(state: BlendFilterState, runtime: Runtime[Context]) -> Mapping[str, Any]:
    """Make one entry for the question of what all branches kept (BlendFilter, section 3.3).

    Writes `knowledge`: each passage once, in the order of the branches and then of their ranks; no excerpts
    when no branch kept anything.
    """
    by_query = {entry["query"]: entry for entry in state["knowledge"]}
    in_order = [by_query.pop(branch["query"]) for branch in state["branches"] if branch["query"] in by_query]
    kept = excerpts_of_all_queries([*in_order, *by_query.values()])  # a reviewer's queries are no branch's
    emit(runtime, United(passage_ids=[excerpt["passage_id"] for excerpt in kept]))
    return {"knowledge": Overwrite([Knowledge(query=state["question"], excerpts=kept)])}
