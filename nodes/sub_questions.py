"""Ask for the sub-questions of the question, to be answered in sequence."""

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import ask, calls_of
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.question_tree.decomposition import decomposition_ask, read_sub_questions
from hopgraph.state import MethodState
from hopgraph.state.baselines import GenReadContext
from hopgraph.state.events import Decomposed, SubQuestion


async def sub_questions(state: MethodState, runtime: Runtime[GenReadContext]) -> Mapping[str, Any]:
    """Break the question down; writes `sub_questions`, in the model's order; later ones may refer to earlier answers.

    They are empty where there are none, no reply could be used or the budget did not reach.
    """
    question, most = state["question"], runtime.context.max_sub_questions
    answered = await ask(runtime, state, decomposition_ask(question, most=most, in_order=True))
    found = read_sub_questions(answered, most=most, known=[question])
    report_parts(question, found, runtime)
    return {
        "sub_questions": found,
        "stop_reason": "budget" if answered.outcome == "budget" else state["stop_reason"],
        "calls": calls_of([answered]),
    }


def report_parts(question: str, parts: Sequence[str], runtime: Runtime[Any], *, prefix: str = "0") -> None:
    """Report the parts of the question as a `decomposed` event; another prefix of their ids for each decomposition."""
    listed = [SubQuestion(id=f"{prefix}.{number}", question=text) for number, text in enumerate(parts, start=1)]
    emit(runtime, Decomposed(id="0", depth=0, question=question, sub_questions=listed))
