"""Take the answer that most samples agree on."""

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.answer import reading_update
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.shorten import majority_answer
from hopgraph.state import Context, Draft
from hopgraph.state.baselines import SamplesState
from hopgraph.state.events import Voted


async def vote(state: SamplesState, runtime: Runtime[Context]) -> Mapping[str, Any]:
    """Choose the answer of the majority, equal but for case, punctuation and articles; of a tie the first (CoT-SC).

    Samples without an answer do not vote; without any the question is unanswerable. Writes the keys of a final
    answer, with the reasoning of the first sample that gave it; no call.
    """
    answers = [draft["answer"] for draft in state["drafts"]]
    chosen = majority_answer(answers)
    emit(runtime, Voted(answers=list(answers), chosen=chosen))
    return reading_update(answer_of_sample(state["drafts"], chosen), runtime, limit=state["stop_reason"])


def answer_of_sample(drafts: Sequence[Draft], chosen: int | None) -> Draft:
    """Return the chosen sample; where None is chosen, the first one's reasoning without an answer."""
    if chosen is None:
        return Draft(reasoning=drafts[0]["reasoning"] if drafts else "", answer="", evidence=[])
    return drafts[chosen]
