"""Checked answer: answer, check the answer against its own sources, and search wider where the check fails.

A reader that saw twenty passages may have mixed them up. So a second one sees only the passages that the answer cites;
where it does not come to the same answer, more passages are retrieved, and the question is answered again.
"""

from collections.abc import Mapping
from typing import Any, Literal

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from hopgraph.nodes.core.answer_graph import AnswerGraph
from hopgraph.nodes.core.ask import ModelCall, ask, calls_of
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.reading import DirectAnswer, make_answer_node
from hopgraph.nodes.retrieve import make_retrieve_node
from hopgraph.nodes.selection import make_take_top_node
from hopgraph.state import Context, MethodState
from hopgraph.state.context import setting
from hopgraph.state.events import Event


class CheckedContext(Context):
    """The settings: those of every method, and one more."""

    method = "checked_answer"
    steps = ("answer", "verify")

    max_tries: int = setting("Method", 3, "how often the question is answered at most", ge=1, le=10)


class Checked(Event, kind="checked"):
    """The second reader's answer from the cited passages."""

    first: str
    second: str
    agree: bool


def wider(settings: CheckedContext, iteration: int) -> int:
    """Retrieve as many passages again with every try."""
    return settings.top_k * iteration


async def verify(state: MethodState, runtime: Runtime[CheckedContext]) -> Mapping[str, Any]:
    """Answer from the cited passages alone; where that gives another answer, prepare the next try."""
    cited = {key for each in state["evidence"] for key in each["passage_ids"]}
    shown = [{"title": each["title"], "text": each["text"]} for each in state["passages"] if each["id"] in cited]
    wanted = ModelCall(
        "verify", {"question": state["question"], "passages": shown}, DirectAnswer, DirectAnswer(answer="")
    )
    replies = [await ask(runtime, state, wanted)] if cited else []
    second = replies[0].record.answer if replies else ""
    agree = bool(replies) and second.casefold() == state["answer"].casefold()
    emit(runtime, Checked(first=state["answer"], second=second, agree=agree))
    used_up = state["stop_reason"] == "budget" or any(each.outcome == "budget" for each in replies)
    if agree or used_up or state["iteration"] >= runtime.context.max_tries:
        return {"calls": calls_of(replies)}
    # Evidence is merged by id, so the evidence of the refuted answer has to go.
    again = {"iteration": state["iteration"] + 1, "stop_reason": None, "evidence": Overwrite([])}
    return {**again, "calls": calls_of(replies)}


def is_settled(state: MethodState) -> Literal["settled", "try again"]:
    """Return whether the answer stands, or no try is left; `verify` takes the reason to stop away for another one."""
    return "settled" if state["stop_reason"] else "try again"


def build() -> AnswerGraph[CheckedContext]:
    """Join the nodes: retrieve → answer → verify, and from there back or to the end."""
    builder = AnswerGraph(MethodState, CheckedContext)
    builder.add_node("retrieve", make_retrieve_node(wider))
    builder.add_node("take_top", make_take_top_node(lambda settings: settings.top_k * settings.max_tries))
    builder.add_node("answer", make_answer_node())
    builder.add_node("verify", verify)
    builder.chain("prepare", "retrieve", "take_top", "answer", "verify")
    builder.add_conditional_edges("verify", is_settled, {"settled": "finish", "try again": "retrieve"})
    return builder.finish_after()


graph = build().compile(name="Checked answer")
