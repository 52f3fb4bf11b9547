"""Take up the parts of a question one after the other."""

from langgraph.runtime import Runtime

from hopgraph.nodes.core.method_graph import Node
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.hops.hop_history import open_hop
from hopgraph.nodes.question_tree.decomposition import describe, fill_references, referred_numbers
from hopgraph.state import Context, Query, Update
from hopgraph.state.baselines import PartsState
from hopgraph.state.events import ReferencesFilled
from hopgraph.state.schemas import MAX_TEXT_CHARACTERS
from hopgraph.tools.text.comparison import contains


def next_sub_question_with(*, answers_in_query: bool = False) -> Node:
    """Return the node that opens a hop for the next part, with the answers that it refers to, as the only query.

    A part whose answer is not known stands for it in quotation marks; `answers_in_query`: the answers so far are looked
    up with the part. A question without parts stays the query. Writes `hops`, `queries` and `iteration`.
    """

    async def next_sub_question(state: PartsState, runtime: Runtime[Context]) -> Update:
        hops, parts, whole = state["hops"], state["sub_questions"], state["question"]
        if not parts:
            return {}
        if len(hops) == len(parts) or state["stop_reason"] == "budget":
            return {"queries": []}
        number, text = len(hops) + 1, parts[len(hops)]
        named = referred_numbers(text, before=number, whole=whole)
        names = {each: hops[each - 1]["answer"] or describe(hops[each - 1]["question"]) for each in named}
        question = fill_references(text, names)[:MAX_TEXT_CHARACTERS]
        if question != text:
            emit(runtime, ReferencesFilled(id=f"0.{number}", question=question))
        answers = [hop["answer"] for hop in hops if answers_in_query and hop["answer"]]
        known = [each for each in answers if not contains(question, each)]
        claim = "".join(state["claims"][len(hops) : number])
        return {
            "hops": [*hops, open_hop(number, question, generated=claim)],
            "queries": [Query(text=" ".join([question, *known]), why="" if question == whole else whole)],
            "iteration": number,
        }

    return next_sub_question


next_sub_question = next_sub_question_with()
"""Take up the next part; its query is what it asks."""
