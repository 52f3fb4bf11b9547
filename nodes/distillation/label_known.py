"""Label a question by whether a model knows the answer."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.distillation.record import distilled, make_example
from hopgraph.nodes.self_knowledge import SelfKnowledge
from hopgraph.state.distillation import DistillationState, DroppedExample, KnowledgeDataContext
from hopgraph.tools.text.comparison import normalize_answer


async def label_known(state: DistillationState, _: Runtime[KnowledgeDataContext]) -> Mapping[str, Any]:
    """Say that the question is known where the answer from memory equals a gold one (RA-ISF, Equation 5).

    Compared as in EM; an abstention is not known. Writes `distilled`; a question without a gold answer, or to which
    the model gave no usable reply, is dropped.
    """
    source, calls = state["source"], state["calls"].values()
    unusable = all(each["parse_failures"] == each["attempts"] for each in calls)
    over_budget = state["stop_reason"] == "budget"
    if not source["answers"] or unusable or over_budget:
        reason = "no gold answer" if not source["answers"] else "budget" if over_budget else "unusable reply"
        return distilled(dropped=[DroppedExample(id=source["id"], reason=reason)])
    known = _key(state["answer"]) in map(_key, source["answers"])
    label, reply = "known" if known else "unknown", SelfKnowledge(known=known)
    return distilled([make_example(source["id"], {"question": state["question"]}, reply, label)])


def _key(answer: str) -> str:
    return normalize_answer(answer) or answer.lower()
