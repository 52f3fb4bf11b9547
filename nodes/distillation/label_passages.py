"""Label passages as relevant to the question or not, by the data set's annotation or by a teacher."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import Ask, ask_all, calls_of
from hopgraph.nodes.core.excerpts import candidate_excerpts, passages_by_id
from hopgraph.nodes.distillation.record import UNANSWERED, make_example
from hopgraph.nodes.judge_relevance import PassageRelevance, relevance_ask
from hopgraph.state import Candidates
from hopgraph.state.distillation import DistillationState, DroppedExample, Example, RelevanceDataContext

LABELS = {True: "relevant", False: "irrelevant"}


async def add_own_passages(state: DistillationState, runtime: Runtime[RelevanceDataContext]) -> Mapping[str, Any]:
    """Add to what was retrieved the gold passages that come with the question, or all or none (`own_passages`).

    Writes `passages` and `candidates`; with those that are there already nothing happens.
    """
    which, source = runtime.context.own_passages, state["source"]
    there = {key for each in state["candidates"] for key in each["passage_ids"]}
    own = {each["id"]: each for each in source["contexts"] if each["id"] not in there and which != "none"}
    added = [each for key, each in own.items() if which == "all" or key in source["gold"]]
    more = Candidates(
        query=state["question"], passage_ids=[each["id"] for each in added], scores=[each["score"] for each in added]
    )
    return {"passages": added, "candidates": [*state["candidates"], more]}


async def label_by_gold(state: DistillationState, runtime: Runtime[RelevanceDataContext]) -> Mapping[str, Any]:
    """Label each passage by whether it is annotated as one that the answer needs (*ours*; no call).

    Writes `examples`. A question without such passages is dropped, as all of its passages would be irrelevant.
    """
    source = state["source"]
    if not source["gold"]:
        return {"dropped": [DroppedExample(id=source["id"], reason="no gold passage")]}
    examples: list[Example] = []
    for key, asked in _asks(state, runtime.context).items():
        reply = PassageRelevance(relevant=key in source["gold"])
        examples.append(make_example(f"{source['id']}:{key}", asked, reply, LABELS[reply.relevant]))
    return {"examples": examples}


async def label_by_teacher(state: DistillationState, runtime: Runtime[RelevanceDataContext]) -> Mapping[str, Any]:
    """Ask the teacher of each passage whether it is relevant (RA-ISF, Appendix A.2), side by side.

    Writes `examples`, and `dropped` for a passage without a usable reply, or for which the budget did not reach.
    """
    asks = _asks(state, runtime.context)
    answers = await ask_all(runtime, state, [*asks.values()])
    examples: list[Example] = []
    dropped: list[DroppedExample] = []
    for (key, asked), answered in zip(asks.items(), answers, strict=True):
        name, reply = f"{state['source']['id']}:{key}", answered.record
        if answered.outcome == "replied":
            examples.append(make_example(name, asked, reply, LABELS[reply.relevant]))
        else:
            dropped.append(DroppedExample(id=name, reason=UNANSWERED[answered.outcome]))
    return {"examples": examples, "dropped": dropped, "calls": calls_of(answers)}


def _asks(state: DistillationState, settings: RelevanceDataContext) -> dict[str, Ask[PassageRelevance]]:
    """Make the student's question for each passage, by the passage's id, in the order of their ranks."""
    passages = passages_by_id(state["passages"])
    excerpts = candidate_excerpts(state["candidates"], passages, settings.passage_tokens)
    return {each["passage_id"]: relevance_ask(state["question"], each, passages) for each in excerpts}
