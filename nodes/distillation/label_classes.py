"""Label passages as relevant to the question or not, and questions as known to a model or not."""

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import ask_all, calls_of
from hopgraph.nodes.core.excerpts import candidate_excerpts, passages_by_id
from hopgraph.nodes.distillation.record import UNANSWERED, drop, make_example
from hopgraph.nodes.judge_relevance import PassageRelevance, relevance_ask
from hopgraph.nodes.self_knowledge import SelfKnowledge
from hopgraph.state import Candidates, Update
from hopgraph.state.distillation import DistillationState, Example, RelevanceDataContext
from hopgraph.tools.text.comparison import normalize_answer


async def add_own_passages(state: DistillationState, runtime: Runtime[RelevanceDataContext]) -> Update:
    """Add to `candidates` the gold passages that come with the question, or all or none (`own_passages`)."""
    which, source = runtime.context.own_passages, state["source"]
    there = {key for each in state["candidates"] for key in each["passage_ids"]}
    own = {each["id"]: each for each in source["contexts"] if each["id"] not in there and which != "none"}
    added = {key: each for key, each in own.items() if which == "all" or key in source["gold"]}
    more = Candidates(query=state["question"], passage_ids=[*added], scores=[0.0] * len(added))
    return {"passages": [*added.values()], "candidates": [*state["candidates"], more]}


async def label_passages(state: DistillationState, runtime: Runtime[RelevanceDataContext]) -> Update:
    """Say of each passage whether it is relevant: by the annotation (*ours*), else by asking the teacher, side by side.

    By the annotation a question without gold passages is dropped, as all that were retrieved would be irrelevant.
    Writes `distilled`.
    """
    settings, source, passages = runtime.context, state["source"], passages_by_id(state["passages"])
    if settings.teacher == "gold" and not source["gold"]:
        return {"distilled": [drop(source["id"], "no gold passage")]}
    excerpts = candidate_excerpts(state["candidates"], passages, settings.passage_tokens)
    asks = [relevance_ask(state["question"], each, passages) for each in excerpts]
    answers = await ask_all(runtime, state, asks if settings.teacher == "model" else [])
    made: list[Example] = []
    for at, (asked, key) in enumerate(zip(asks, (each["passage_id"] for each in excerpts), strict=True)):
        relevant = answers[at].record.relevant if answers else key in source["gold"]
        label, reply = "relevant" if relevant else "irrelevant", PassageRelevance(relevant=relevant)
        name, reason = f"{source['id']}:{key}", UNANSWERED[answers[at].outcome] if answers else ""
        made.append(drop(name, reason) if reason else make_example(name, asked.variables, reply, label))
    return {"distilled": made, "calls": calls_of(answers)}


async def label_known(state: DistillationState) -> Update:
    """Say that the question is known where the answer from memory equals a gold one, as in EM (RA-ISF, Equation 5)."""
    source, calls = state["source"], state["calls"].values()
    unusable = all(each["parse_failures"] == each["attempts"] for each in calls)
    over_budget = state["stop_reason"] == "budget"
    if not source["answers"] or unusable or over_budget:
        reason = "no gold answer" if not source["answers"] else "budget" if over_budget else "unusable reply"
        return {"distilled": [drop(source["id"], reason)]}
    known = _key(state["answer"]) in map(_key, source["answers"])
    label, reply = "known" if known else "unknown", SelfKnowledge(known=known)
    return {"distilled": [make_example(source["id"], {"question": state["question"]}, reply, label)]}


def _key(answer: str) -> str:
    return normalize_answer(answer) or answer.lower()
