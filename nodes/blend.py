"""Blend queries: the question alone, with a chain of thought, and with the model's own knowledge."""

from typing import Literal

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import ModelCall, ask, calls_of, without_yes_no
from hopgraph.nodes.core.excerpts import candidate_excerpts, passages_by_id, prompt_passages
from hopgraph.nodes.core.reply_text import ReplyModel, ShortText, is_dont_know
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.reading import read_answer, reader_ask
from hopgraph.nodes.recall_knowledge import knowledge_ask, read_recalled
from hopgraph.nodes.selection import take_top
from hopgraph.state import Query, Update
from hopgraph.state.blendfilter import BlendFilterContext, BlendFilterState
from hopgraph.state.events import Blended, Reasoned, TopicNamed
from hopgraph.state.schemas import MAX_TEXT_CHARACTERS
from hopgraph.tools.prompts import clean
from hopgraph.tools.text import split_sentences

FINAL_CALLS = 2
"""Calls reserved for the end: an answer, and its short form."""
CALLS_OF_A_FILTER = 2
_LONGEST_TOPIC = 200  # characters; a topic is a few words

FirstStep = Literal["reason", "recall", "topic"]
QueryName = Literal["original", "external", "internal"]
"""The three queries: q, a_ex ‖ q and a_in ‖ q; always in this order."""


class Topic(ReplyModel):
    """A reply of the role `name_topic`."""

    topic: ShortText


def first_steps(settings: BlendFilterContext) -> list[FirstStep]:
    """List the nodes of the first steps; the topic is for a filter, and not for yes/no questions (appendix F)."""
    topical = settings.filtering != "none" and settings.answer_type != "yes_no"
    wanted: dict[FirstStep, bool] = {
        "reason": settings.external_query,
        "recall": settings.internal_query,
        "topic": topical,
    }
    return [step for step, on in wanted.items() if on]


async def reason(state: BlendFilterState, runtime: Runtime[BlendFilterContext]) -> Update:
    """Answer with a chain of thought over the question's own passages (external augmentation, section 3.2).

    Writes `reasoned`, from which a_ex is made; it is also the answer if the budget does not allow the final one.
    """
    settings, passages = runtime.context, passages_by_id(state["passages"])
    excerpts = candidate_excerpts(state["candidates"], passages)
    wanted = reader_ask(
        state["question"], settings, step="reason", passages=prompt_passages(excerpts, passages) or None
    )
    answered = await ask(runtime, state, wanted)
    draft = read_answer(answered, without_yes_no(settings), excerpts, question=state["question"])
    emit(runtime, Reasoned(reasoning=draft["reasoning"], answer=draft["answer"]))
    useful = [draft] if draft["reasoning"] or draft["answer"] else []
    return {"reasoned": useful, "cut_off": answered.outcome == "budget", "calls": calls_of([answered])}


async def recall(state: BlendFilterState, runtime: Runtime[BlendFilterContext]) -> Update:
    """Write a passage from own knowledge (internal augmentation, section 3.2); writes `recalled`, a_in."""
    answered = await ask(runtime, state, knowledge_ask(state["question"]))
    text = read_recalled(answered.record.passage, state["question"], runtime)
    return {"recalled": text, "cut_off": answered.outcome == "budget", "calls": calls_of([answered])}


async def name_topic(state: BlendFilterState, runtime: Runtime[BlendFilterContext]) -> Update:
    """Name the question's general topic, once for all filters (appendix F); writes `topic`."""
    wanted = ModelCall("name_topic", {"question": state["question"]}, Topic, Topic(topic=""))
    answered = await ask(runtime, state, wanted)
    named = " ".join(clean(answered.record.topic).split())[:_LONGEST_TOPIC]
    emit(runtime, TopicNamed(topic=named))
    return {"topic": named, "cut_off": answered.outcome == "budget", "calls": calls_of([answered])}


async def blend(state: BlendFilterState, runtime: Runtime[BlendFilterContext]) -> Update:
    """Assemble the queries: q, a_ex ‖ q, a_in ‖ q (section 3.2).

    If nothing was reasoned or recalled, the query is q again, which is not searched twice (*ours*). Writes `knowledge`,
    one entry with the results for q, none without `original_query`; `queries`, those yet to be searched; and
    `iteration`, 2 if there are any.
    """
    queries = _queries(state, runtime.context)
    emit(runtime, Blended(queries={**queries}))
    found: Update = {"knowledge": []}
    if "original" in queries:
        found = dict(await take_top(state, runtime))
    augmented = [Query(text=query, why=name) for name, query in queries.items() if name != "original"]
    return {**found, "candidates": [], "queries": augmented, "iteration": 2 if augmented else 1}


async def add_found(state: BlendFilterState, runtime: Runtime[BlendFilterContext]) -> Update:
    """Append the top passages found for each of the other queries to `knowledge`, after the question's own entry."""
    found = await take_top(state, runtime)
    return {"knowledge": [*state["knowledge"], *found["knowledge"]]}


def _queries(state: BlendFilterState, settings: BlendFilterContext) -> dict[QueryName, str]:
    question = state["question"]
    reasoned = [said for draft in state["reasoned"] for said in (_facts(draft["reasoning"]), draft["answer"]) if said]
    augmented: dict[QueryName, tuple[bool, str]] = {
        "original": (settings.original_query, ""),
        "external": (settings.external_query, " ".join(reasoned)),
        "internal": (settings.internal_query, _facts(state["recalled"])),
    }
    queries: dict[QueryName, str] = {}
    for name, (on, text) in augmented.items():
        query = f"{text[:MAX_TEXT_CHARACTERS]} {question}".strip()
        if on and query not in queries.values():
            queries[name] = query
    return queries


def _facts(said: str) -> str:
    """Drop the sentences that only say what is not known: they would be searched for."""
    sentences = [said[start:end] for start, end in split_sentences(said)]
    return " ".join(each for each in sentences if not is_dont_know(each))
