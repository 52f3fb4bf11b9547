"""Write down the examples of a question, each with the prompt that a model of the role is sent in use."""

from collections.abc import Mapping
from typing import Any, cast

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel, JsonValue

from hopgraph.nodes.core.ask import Ask, render_step
from hopgraph.nodes.finish import total
from hopgraph.state.distillation import (
    DistillationContext,
    DistillationState,
    Distilled,
    Example,
    TrainingExample,
)
from hopgraph.tools.prompts import Value

_CHAT_ROLES = {"system": "system", "human": "user", "ai": "assistant"}
UNANSWERED = {"fallback": "unusable reply", "budget": "budget"}
"""Why there is no example where a call had no reply, by the call's outcome."""


def make_example(name: str, asked: Ask[Any], reply: BaseModel, label: str = "") -> Example:
    """Make the example of this name: the student's question, and the reply to it."""
    variables = cast("dict[str, JsonValue]", dict(asked.variables))
    example = Example(id=name, variables=variables, reply=reply.model_dump(mode="json"))
    return {**example, "label": label} if label else example


async def record(state: DistillationState, runtime: Runtime[DistillationContext]) -> Mapping[str, Any]:
    """Render each example's prompt, as the role's model is sent it, and add the usage up.

    Writes `distilled`, `usage` and `stop_reason`: answered with any example, else unanswerable or budget.
    """
    step = runtime.context.role.rpartition("/")[2]
    examples = [
        TrainingExample(**each, prompt=chat_messages(render_step(runtime.context, step, _variables(each))))
        for each in state["examples"]
    ]
    out_of_budget = any(each["reason"] == UNANSWERED["budget"] for each in state["dropped"])
    return {
        "distilled": Distilled(examples=examples, dropped=state["dropped"]),
        "usage": total(state["calls"].values(), 1),
        "stop_reason": "answered" if examples else "budget" if out_of_budget else "unanswerable",
    }


def _variables(example: Example) -> Mapping[str, Value]:
    return cast("Mapping[str, Value]", example["variables"])


def chat_messages(messages: list[BaseMessage]) -> list[dict[str, str]]:
    """Write a prompt as chat messages, in the form that trainers and servers take."""
    return [{"role": _CHAT_ROLES[each.type], "content": str(each.text)} for each in messages]
