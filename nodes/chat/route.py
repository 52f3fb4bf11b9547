"""Separate small talk from questions, and choose the method that answers a question."""

from typing import Annotated, Literal

from langgraph.runtime import Runtime
from pydantic import BeforeValidator

from hopgraph.nodes.core.ask import ModelCall, ask, calls_of
from hopgraph.nodes.core.budget import calls_left, tokens_left
from hopgraph.nodes.core.reply_text import ReplyModel, ShortText, read_name
from hopgraph.nodes.core.step_events import emit
from hopgraph.state import BudgetState, Update
from hopgraph.state.chat import AUTO, ChatContext, ChatState, TurnKind
from hopgraph.state.events import Routed

SINGLE_HOP_METHOD = "one_step"
MULTI_HOP_METHOD = "cascade"
METHOD_CALLS = 1
"""Model calls that the chat's own steps leave for the method: those of the cheapest one."""
MULTI_HOP_CALLS = 7
"""Model calls for a two-hop question: MIGRES needs 7 to 9 on those of the sample."""
MULTI_HOP_TOKENS = 4_000
"""Tokens for one: there, with five passages per query, 2,400 to 3,700."""
HELLO = "Hello! I answer questions from the documents, and show where the answer is. What would you like to know?"


class RouteReply(ReplyModel):
    """A reply of the role `route`."""

    kind: Annotated[Literal["small_talk", "single_hop", "bridge", "comparison"], BeforeValidator(read_name)]
    reply: ShortText = ""


CAREFUL = RouteReply(kind="bridge")
"""The fallback if no reply can be used: a method that can do more than needed beats one that cannot."""


async def route(state: ChatState, runtime: Runtime[ChatContext]) -> Update:
    """Write the message's `kind`, as judged by the model, and the `chosen` method; no model call if one is set."""
    if (fixed := runtime.context.use_method) != AUTO:
        emit(runtime, Routed(kind="question", method=fixed, why="it is set"))
        return {"kind": "question", "said": "", "chosen": fixed}
    wanted = ModelCall("route", {"question": state["question"]}, RouteReply, CAREFUL)
    answered = await ask(runtime, state, wanted, reserve_calls=METHOD_CALLS)
    kind, calls = answered.record.kind, calls_of([answered])
    if kind == "small_talk":
        emit(runtime, Routed(kind=kind, method="", why="it is not a question"))
        return {"kind": kind, "said": answered.record.reply.strip() or HELLO, "chosen": None, "calls": calls}
    spent = BudgetState(calls={**state["calls"], **calls}, started_at=state["started_at"])
    chosen, why = method_for(kind, runtime.context, spent)
    emit(runtime, Routed(kind=kind, method=chosen, why=why))
    return {"kind": kind, "said": "", "chosen": chosen, "calls": calls}


def method_for(kind: TurnKind, settings: ChatContext, spent: BudgetState) -> tuple[str, str]:
    """Choose the method and say why: `cascade` for several hops if the budget covers two, else `one_step`."""
    if kind == "single_hop":
        return SINGLE_HOP_METHOD, "one passage can answer it"
    calls, tokens = calls_left(settings, spent), tokens_left(settings, spent)
    if (calls is not None and calls < MULTI_HOP_CALLS) or (tokens is not None and tokens < MULTI_HOP_TOKENS):
        return SINGLE_HOP_METHOD, "the budget does not cover several hops"
    return MULTI_HOP_METHOD, "it needs several passages"
