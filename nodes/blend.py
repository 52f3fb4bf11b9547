"""Blend queries: the question, with what a chain of thought says, with what the model knows itself."""

from itertools import zip_longest
from typing import Any, Literal

from langgraph.runtime import Runtime

from hopgraph.nodes.answer import read_answer, reader_ask
from hopgraph.nodes.core.ask import Ask, as_short, ask, calls_of
from hopgraph.nodes.core.budget import pause_calls, share_among_all_branches, share_among_branches
from hopgraph.nodes.core.excerpts import candidate_excerpts, passages_by_id, prompt_passages
from hopgraph.nodes.core.reply_text import ReplyModel, ShortText, is_dont_know
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.recall_knowledge import read_recalled
from hopgraph.nodes.write_passages import knowledge_ask
from hopgraph.state import Query, Spent, Update
from hopgraph.state.blendfilter import BlendFilterContext, BlendFilterState, BranchName, QueryBranch
from hopgraph.state.events import Blended, Reasoned, TopicNamed
from hopgraph.state.schemas import MAX_TEXT_CHARACTERS
from hopgraph.tools.prompts import clean
from hopgraph.tools.text import split_sentences

FINAL_CALLS = 2
"""The calls that are kept back for the end: an answer, and its short form."""
_CALLS_OF_A_FILTER = 2
_LONGEST_TOPIC = 200  # characters; a topic is a few words

FirstStep = Literal["reason", "recall", "topic"]


class Topic(ReplyModel):
    """A reply of the role `name_topic`."""

    topic: ShortText


def first_steps(settings: BlendFilterContext) -> list[FirstStep]:
    """List the nodes of the first steps; the topic is for a filter, and not for yes-or-no questions (appendix F)."""
    topical = settings.filtering != "none" and settings.answer_type != "yes_no"
    wanted: dict[FirstStep, bool] = {
        "reason": settings.external_query,
        "recall": settings.internal_query,
        "topic": topical,
    }
    return [step for step, on in wanted.items() if on]


def _spent_beside(state: Spent, settings: BlendFilterContext, step: FirstStep) -> Spent:
    """Count what the other first steps may spend, since none of them sees what the others do."""
    steps = first_steps(settings)
    # A topic without a filter after it would be of no use.
    needs = [(1, 1) if each != "topic" else (1 + _CALLS_OF_A_FILTER, 1 + _CALLS_OF_A_FILTER) for each in steps]
    share = share_among_all_branches(settings, state, needs, reserve_calls=FINAL_CALLS)[steps.index(step)]
    return Spent(calls={**pause_calls(state["calls"]), "before": share}, started_at=state["started_at"])


async def reason(state: BlendFilterState, runtime: Runtime[BlendFilterContext]) -> Update:
    """Answer by a chain of thought over what the question itself found (external augmentation, section 3.2).

    Writes `reasoned`, of which a_ex is made; it is also the answer where the budget does not reach the final one.
    """
    settings, passages = runtime.context, passages_by_id(state["passages"])
    excerpts = candidate_excerpts(state["candidates"], passages)
    wanted = reader_ask(
        state["question"], settings, step="reason", passages=prompt_passages(excerpts, passages) or None
    )
    answered = await ask(runtime, _spent_beside(state, settings, "reason"), wanted)
    draft = read_answer(answered, as_short(settings), excerpts, question=state["question"])
    emit(runtime, Reasoned(reasoning=draft["reasoning"], answer=draft["answer"]))
    useful = [draft] if draft["reasoning"] or draft["answer"] else []
    return {"reasoned": useful, "cut_off": answered.outcome == "budget", "calls": calls_of([answered])}


async def recall(state: BlendFilterState, runtime: Runtime[BlendFilterContext]) -> Update:
    """Write a passage from own knowledge (internal augmentation, section 3.2); writes `recalled`, a_in."""
    spent = _spent_beside(state, runtime.context, "recall")
    answered = await ask(runtime, spent, knowledge_ask(state["question"]))
    text = read_recalled(answered.record.passage, state["question"], runtime)
    return {"recalled": text, "cut_off": answered.outcome == "budget", "calls": calls_of([answered])}


async def name_topic(state: BlendFilterState, runtime: Runtime[BlendFilterContext]) -> Update:
    """Name the question's general topic, once for all filters (appendix F); writes `topic`."""
    spent = _spent_beside(state, runtime.context, "topic")
    wanted = Ask("name_topic", {"question": state["question"]}, Topic, Topic(topic=""))
    answered = await ask(runtime, spent, wanted)
    named = " ".join(clean(answered.record.topic).split())[:_LONGEST_TOPIC]
    emit(runtime, TopicNamed(topic=named))
    return {"topic": named, "cut_off": answered.outcome == "budget", "calls": calls_of([answered])}


async def blend(state: BlendFilterState, runtime: Runtime[BlendFilterContext]) -> Update:
    """Put the queries together: q, a_ex ‖ q, a_in ‖ q (section 3.2), and share the budget among them, in this order.

    Where nothing was reasoned or recalled, the query is q again; what another branch searches is left out (*ours*).
    Writes `branches`.
    """
    settings = runtime.context
    queries = _queries(state, settings)
    wanted = len(queries) if settings.filtering == "branch" else 0
    shares = share_among_branches(
        settings, state, [(_CALLS_OF_A_FILTER, _CALLS_OF_A_FILTER)] * wanted, reserve_calls=FINAL_CALLS
    )
    branches = [
        QueryBranch(name=name, query=query, reserved=share)
        for (name, query), share in zip_longest(queries.items(), shares)
    ]
    emit(runtime, Blended(queries={each["name"]: each["query"] for each in branches}))
    return {
        "branches": branches,
        "asked": list(dict.fromkeys([*state["asked"], *queries.values()])),
        "cut_off": len(shares) < wanted,
    }


def _queries(state: BlendFilterState, settings: BlendFilterContext) -> dict[BranchName, str]:
    question = state["question"]
    reasoned = [said for draft in state["reasoned"] for said in (_facts(draft["reasoning"]), draft["answer"]) if said]
    augmented: dict[BranchName, tuple[bool, str]] = {
        "original": (settings.original_query, ""),
        "external": (settings.external_query, " ".join(reasoned)),
        "internal": (settings.internal_query, _facts(state["recalled"])),
    }
    queries: dict[BranchName, str] = {}
    for name, (on, text) in augmented.items():
        query = f"{text[:MAX_TEXT_CHARACTERS]} {question}".strip()
        if on and query not in queries.values():
            queries[name] = query
    return queries


def _facts(said: str) -> str:
    """Leave out the sentences that only say what is not known: they would be searched for."""
    sentences = [said[start:end] for start, end in split_sentences(said)]
    return " ".join(each for each in sentences if not is_dont_know(each))


def branch_input(state: BlendFilterState, branch: QueryBranch) -> dict[str, Any]:
    """Make what the task of a branch gets; calls are counted from nothing, as those so far are in its reserve."""
    shared: dict[str, Any] = {
        "branch": branch,
        "question": state["question"],
        "topic": state["topic"],
        "settings": state["settings"],
        "calls": pause_calls(state["calls"]),
        "started_at": state["started_at"],
    }
    if branch["name"] == "original":
        return {**shared, "candidates": state["candidates"], "passages": state["passages"]}
    query = Query(text=branch["query"], why=branch["name"])
    return {**shared, "queries": [query], "asked": [], "excluded": [], "iteration": 2}
