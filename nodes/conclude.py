"""Take the answer of the accepted path as it is."""

from langgraph.runtime import Runtime

from hopgraph.nodes.reading import reading_update
from hopgraph.nodes.review_tree.paths import accepted_nodes, majority_nodes
from hopgraph.state import Draft, Update
from hopgraph.state.tree_of_reviews import ReviewContext, ReviewTreeState


async def conclude(state: ReviewTreeState, runtime: Runtime[ReviewContext]) -> Update:
    """Write the answer of most accepted paths, and the first's analysis, without a call (CoR, Table 13)."""
    chosen = majority_nodes(accepted_nodes(state["tree"], state["evidence"]))
    ids = {node["id"] for node in chosen}
    evidence = [piece for piece in state["evidence"] if piece["id"] in ids]
    answer, analysis = (chosen[0]["answer"], chosen[0]["analysis"]) if chosen else ("", "")
    reading = Draft(reasoning=analysis, answer=answer, evidence=evidence)
    return reading_update(reading, runtime, limit=state["stop_reason"])
