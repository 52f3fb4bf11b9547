"""Write down the examples of a question, each with the prompt that a model of the role is sent in use."""

from collections.abc import Callable, Mapping
from typing import Any, cast

from langchain_core.messages import convert_to_openai_messages
from langgraph.runtime import Runtime
from pydantic import BaseModel

from hopgraph.nodes.core.ask import render_step
from hopgraph.nodes.finish import total
from hopgraph.state import Update
from hopgraph.state.distillation import DistillationContext, DistillationState, Example
from hopgraph.tools.prompts import Value

UNANSWERED = {"replied": "", "fallback": "unusable reply", "budget": "budget"}
"""Why there is no example, by the outcome of the call."""


def make_example(name: str, variables: Mapping[str, Value], reply: BaseModel, label: str = "") -> Example:
    """Make the example of this name: the variables of the student's prompt, and the reply."""
    written = reply.model_dump(mode="json")
    return Example(id=name, reason="", label=label, variables=cast("Any", variables), reply=written, prompt=[])


def drop(name: str, reason: str) -> Example:
    """Say that something became no example."""
    return Example(id=name, reason=reason, label="", variables={}, reply={}, prompt=[])


def drop_flawed(state: DistillationState, flaw_of: Callable[[Example], str]) -> list[Example]:
    """Drop the examples that have a flaw, each for the reason that `flaw_of` gives; empty for a good one."""
    return [each if each["reason"] else {**each, "reason": flaw_of(each)} for each in state["distilled"]]


async def record(state: DistillationState, runtime: Runtime[DistillationContext]) -> Update:
    """Render the prompts of `distilled` as the role's model is sent them; write `usage` and `stop_reason`."""
    made, step = list[Example](), runtime.context.role.rpartition("/")[2]
    for each in state["distilled"]:
        variables = cast("Any", each["variables"])
        messages = [] if each["reason"] else render_step(runtime.context, step, variables)
        made.append({**each, "prompt": cast("Any", convert_to_openai_messages(messages))})
    reasons = {each["reason"] for each in made}
    stop_reason = "answered" if "" in reasons else "budget" if "budget" in reasons else "unanswerable"
    return {"distilled": made, "usage": total(state["calls"].values(), 1), "stop_reason": stop_reason}
