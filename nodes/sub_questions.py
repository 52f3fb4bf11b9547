"""Ask for the sub-questions of the question, to be answered in sequence."""

from collections.abc import Sequence
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import ask, spending_update
from hopgraph.nodes.core.method_graph import Node
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.question_tree.decomposition import decomposition_ask, read_sub_questions
from hopgraph.state import MethodState, Update
from hopgraph.state.baselines import GenReadContext, LeastToMostContext
from hopgraph.state.events import Decomposed, SubQuestion


def sub_questions_with(*, question_last: bool = False) -> Node:
    """Return the node that breaks the question down; `question_last`: the question itself is the last part.

    Writes `sub_questions`, in order; later ones may refer to earlier answers.
    """

    async def sub_questions(state: MethodState, runtime: Runtime[GenReadContext | LeastToMostContext]) -> Update:
        question, most = state["question"], runtime.context.max_sub_questions
        answered = await ask(runtime, state, decomposition_ask(question, most=most, in_order=True))
        found = read_sub_questions(answered, most=most, known=[question])
        report_parts(question, found, runtime)
        parts = [*found, question] if question_last else found
        return {"sub_questions": parts, **spending_update(state, [answered])}

    return sub_questions


def report_parts(question: str, parts: Sequence[str], runtime: Runtime[Any], *, prefix: str = "0") -> None:
    """Report the parts of the question as a `decomposed` event; another prefix of their ids for each decomposition."""
    listed = [SubQuestion(id=f"{prefix}.{number}", question=text) for number, text in enumerate(parts, start=1)]
    emit(runtime, Decomposed(id="0", depth=0, question=question, sub_questions=listed))
