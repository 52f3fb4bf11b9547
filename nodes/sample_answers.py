"""Sample several answers to the question."""

from dataclasses import replace

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import ask_all, spending_update
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.method_graph import Node
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.reading import kept_passages, read_answer, reader_ask
from hopgraph.state import MethodState, Update
from hopgraph.state.baselines import SamplingContext
from hopgraph.state.events import Sampled


def sample_answers_with(*, own_knowledge: bool = False) -> Node:
    """Return the node that samples chains of thought, all at the same time, over passages or `own_knowledge`."""

    async def sample_answers(state: MethodState, runtime: Runtime[SamplingContext]) -> Update:
        settings, count = runtime.context, runtime.context.samples
        excerpts, given = ([], None) if own_knowledge else kept_passages(state)
        wanted = reader_ask(state["question"], settings, step="answer_step_by_step", passages=given)
        samples = [replace(wanted, sample=n, sampling=sampling_of(settings, n, count)) for n in range(count)]
        answers = await ask_all(runtime, state, samples)
        drafts = [
            read_answer(answered, settings, excerpts, evidence_id=f"1.1.{number}", question=state["question"])
            for number, answered in enumerate(answers, start=1)
            if answered.outcome != "budget"
        ]
        emit(runtime, Sampled(answers=[draft["answer"] for draft in drafts]))
        return {"drafts": drafts, **spending_update(state, answers)}

    return sample_answers if own_knowledge else with_passage_review("knowledge")(sample_answers)


def sampling_of(settings: SamplingContext, number: int, count: int) -> dict[str, float]:
    """Say how to sample one of several replies to a prompt, numbered from 0; the only one is not sampled.

    With a seed each has its own, since one seed for all would make them equal.
    """
    if count == 1:
        return {}
    seed = {} if settings.seed is None else {"seed": settings.seed + number}
    return {"temperature": settings.sample_temperature, **seed}
