"""Generate an answer to the whole question from own knowledge, to be grounded."""

from langgraph.runtime import Runtime

from hopgraph.nodes.answer import read_answer, reader_ask
from hopgraph.nodes.core.ask import ask, calls_of
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.hops.hop_history import open_hop
from hopgraph.state import Context, MethodState, Update
from hopgraph.state.events import Deduced


async def generate(state: MethodState, runtime: Runtime[Context]) -> Update:
    """Answer without passages, and write it as the only entry of `hops` (GenGround without deduction, Table 4)."""
    question = state["question"]
    answered = await ask(runtime, state, reader_ask(question, runtime.context))
    hop = open_hop(1, question, generated=read_answer(answered, runtime.context)["answer"])
    said = {"question": question, "thought": "", "generated": hop["generated"]}
    emit(runtime, Deduced(hop=1, **said, repeated=False, limit=False))
    update = {"hops": [hop], "calls": calls_of([answered])}
    return {**update, "stop_reason": "budget"} if answered.outcome == "budget" else update
