"""Make a follow-up question stand alone."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.chat.message_history import history_lines, pair_turns
from hopgraph.nodes.chat.route import METHOD_CALLS
from hopgraph.nodes.core.ask import Ask, ask, calls_of
from hopgraph.nodes.core.reply_text import ReplyModel, ShortText
from hopgraph.nodes.core.step_events import emit
from hopgraph.state.chat import ChatContext, ChatState
from hopgraph.state.events import Contextualised
from hopgraph.tools.prompts import clean


class StandAlone(ReplyModel):
    """A reply of the role `contextualise`."""

    question: ShortText


async def contextualise(state: ChatState, runtime: Runtime[ChatContext]) -> Mapping[str, Any]:
    """Rewrite the user's message, with the help of the last turns, as a question that stands alone.

    Writes `question`. It stays as it is when there are no earlier turns, when `history_turns` is 0, and when
    no reply can be used or afforded: one call is left over for the method.
    """
    message = state["question"]
    earlier = pair_turns(state["messages"])[:-1][-runtime.context.history_turns or None :]
    if not earlier or not runtime.context.history_turns:
        return {}
    variables = {"history": history_lines(earlier), "message": message}
    wanted = Ask("contextualise", variables, StandAlone, StandAlone(question=message))
    answered = await ask(runtime, state, wanted, reserve_calls=METHOD_CALLS)
    question = " ".join(clean(answered.record.question).split()) or message
    emit(runtime, Contextualised(message=message, question=question, turns=len(earlier)))
    return {"question": question, "calls": calls_of([answered])}
