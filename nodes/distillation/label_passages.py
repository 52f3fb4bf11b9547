"""Label passages as relevant to the question or not, by the data set's annotation or by a teacher."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import ask_all, calls_of
from hopgraph.nodes.core.excerpts import candidate_excerpts, passages_by_id
from hopgraph.nodes.distillation.record import UNANSWERED, distilled, make_example
from hopgraph.nodes.judge_relevance import PassageRelevance, relevance_ask
from hopgraph.state import Candidates
from hopgraph.state.distillation import DistillationState, DroppedExample, Example, RelevanceDataContext


async def add_own_passages(state: DistillationState, runtime: Runtime[RelevanceDataContext]) -> Mapping[str, Any]:
    """Add to what was retrieved the gold passages that come with the question, or all or none (`own_passages`).

    Writes `passages` and `candidates`.
    """
    which, source = runtime.context.own_passages, state["source"]
    there = {key for each in state["candidates"] for key in each["passage_ids"]}
    own = {each["id"]: each for each in source["contexts"] if each["id"] not in there and which != "none"}
    added = {key: each for key, each in own.items() if which == "all" or key in source["gold"]}
    more = Candidates(query=state["question"], passage_ids=[*added], scores=[0.0] * len(added))
    return {"passages": [*added.values()], "candidates": [*state["candidates"], more]}


async def label_passages(state: DistillationState, runtime: Runtime[RelevanceDataContext]) -> Mapping[str, Any]:
    """Say of each passage whether it is relevant: by the annotation (*ours*), else by asking the teacher, side by side.

    Writes `distilled`. A passage without a usable reply is dropped; by the annotation also a question without gold
    passages, as all that were retrieved would be irrelevant.
    """
    settings, source, passages = runtime.context, state["source"], passages_by_id(state["passages"])
    if settings.teacher == "gold" and not source["gold"]:
        return distilled(dropped=[DroppedExample(id=source["id"], reason="no gold passage")])
    excerpts = candidate_excerpts(state["candidates"], passages, settings.passage_tokens)
    asks = [relevance_ask(state["question"], each, passages) for each in excerpts]
    answers = await ask_all(runtime, state, asks if settings.teacher == "model" else [])
    examples: list[Example] = []
    dropped: list[DroppedExample] = []
    for at, (asked, excerpt) in enumerate(zip(asks, excerpts, strict=True)):
        name = f"{source['id']}:{excerpt['passage_id']}"
        reply = answers[at].record if answers else PassageRelevance(relevant=excerpt["passage_id"] in source["gold"])
        if answers and answers[at].outcome != "replied":
            dropped.append(DroppedExample(id=name, reason=UNANSWERED[answers[at].outcome]))
        else:
            label = "relevant" if reply.relevant else "irrelevant"
            examples.append(make_example(name, asked.variables, reply, label))
    return distilled(examples, dropped, calls=calls_of(answers))
