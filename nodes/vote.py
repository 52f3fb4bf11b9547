"""Take the answer that most samples agree on."""

from collections.abc import Sequence

from langgraph.runtime import Runtime

from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.reading import reading_update
from hopgraph.nodes.shorten import majority_answer
from hopgraph.state import Context, Draft, Update
from hopgraph.state.baselines import SamplesState
from hopgraph.state.events import Voted


async def vote(state: SamplesState, runtime: Runtime[Context]) -> Update:
    """Write the majority's answer, with the reasoning of the first that gave it; of a tie the first (CoT-SC)."""
    answers = [draft["answer"] for draft in state["drafts"]]
    chosen = majority_answer(answers)
    emit(runtime, Voted(answers=list(answers), chosen=chosen))
    return reading_update(answer_of_sample(state["drafts"], chosen), runtime, limit=state["stop_reason"])


def answer_of_sample(drafts: Sequence[Draft], chosen: int | None) -> Draft:
    """Return the chosen sample; where None is chosen, the first one's reasoning without an answer."""
    if chosen is None:
        return Draft(reasoning=drafts[0]["reasoning"] if drafts else "", answer="", evidence=[])
    return drafts[chosen]
