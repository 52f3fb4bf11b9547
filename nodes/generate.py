"""Generate an answer to the whole question from own knowledge, to be grounded."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.answer import read_answer, reader_ask
from hopgraph.nodes.core.ask import ask, calls_of
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.hops.hop_history import open_hop
from hopgraph.state import Context, MethodState
from hopgraph.state.events import Deduced


async def generate(state: MethodState, runtime: Runtime[Context]) -> Mapping[str, Any]:
    """Answer the question without passages and make it the only hop (GenGround without deduction, Table 4).

    The question stays the query. No usable reply, or "unanswerable": the hop has no generated answer.
    """
    question = state["question"]
    answered = await ask(runtime, state, reader_ask(question, runtime.context))
    hop = open_hop(1, question, generated=read_answer(answered, runtime.context)["answer"])
    emit(
        runtime, Deduced(hop=1, question=question, thought="", generated=hop["generated"], repeated=False, limit=False)
    )
    update = {"hops": [hop], "calls": calls_of([answered])}
    return {**update, "stop_reason": "budget"} if answered.outcome == "budget" else update
