"""Write down the examples of a question, each with the prompt that a model of the role is sent in use."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from langgraph.runtime import Runtime
from pydantic import BaseModel

from hopgraph.nodes.core.ask import render_step
from hopgraph.nodes.finish import total
from hopgraph.state.distillation import DistillationContext, DistillationState, Distilled, DroppedExample, Example
from hopgraph.tools.prompts import Value

_CHAT_ROLES = {"system": "system", "human": "user", "ai": "assistant"}
UNANSWERED = {"fallback": "unusable reply", "budget": "budget"}
"""Why there is no example where a call had no reply, by the call's outcome."""


def make_example(name: str, variables: Mapping[str, Value], reply: BaseModel, label: str = "") -> Example:
    """Make the example of this name: the variables of the student's prompt, and the reply."""
    example = Example(id=name, variables=cast("Any", variables), reply=reply.model_dump(mode="json"))
    return {**example, "label": label} if label else example


def distilled(examples: Sequence[Example] = (), dropped: Sequence[DroppedExample] = (), **more: Any) -> dict[str, Any]:
    """Make a node's update of what has come of a question so far."""
    return {"distilled": Distilled(examples=[*examples], dropped=[*dropped]), **more}


def drop_flawed(state: DistillationState, flaw_of: Callable[[Example], str]) -> Distilled:
    """Drop the examples that have a flaw, each for what `flaw_of` says; empty for a good one."""
    flaws = [(each, flaw_of(each)) for each in state["distilled"]["examples"]]
    more = [DroppedExample(id=each["id"], reason=flaw, reply=each["reply"]) for each, flaw in flaws if flaw]
    kept = [each for each, flaw in flaws if not flaw]
    return Distilled(examples=kept, dropped=[*state["distilled"]["dropped"], *more])


async def record(state: DistillationState, runtime: Runtime[DistillationContext]) -> Mapping[str, Any]:
    """Render each example's prompt, as the role's model is sent it, and add the usage up.

    Writes `distilled`, `usage` and `stop_reason`: answered with any example, else unanswerable or budget.
    """
    dropped, step = state["distilled"]["dropped"], runtime.context.role.rpartition("/")[2]
    examples: list[Example] = []
    for each in state["distilled"]["examples"]:
        messages = render_step(runtime.context, step, cast("Any", each["variables"]))
        prompt = [{"role": _CHAT_ROLES[said.type], "content": str(said.text)} for said in messages]
        examples.append({**each, "prompt": prompt})
    over_budget = any(each["reason"] == "budget" for each in dropped)
    stop_reason = "answered" if examples else "budget" if over_budget else "unanswerable"
    return distilled(examples, dropped, usage=total(state["calls"].values(), 1), stop_reason=stop_reason)
