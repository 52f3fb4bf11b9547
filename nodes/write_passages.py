"""Let the model write passages that answer questions, and a document that grows with what is found for it."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.answer import excerpts_of_all_queries
from hopgraph.nodes.core.ask import Ask, ask, calls_of
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages, whole_excerpt
from hopgraph.nodes.core.reply_text import LongText, ReplyModel, is_dont_know, knowledge_passage
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.recall_knowledge import read_knowledge
from hopgraph.state import Knowledge, Query
from hopgraph.state.baselines import GenReadContext, PartsState
from hopgraph.state.events import ThoughtAdded
from hopgraph.state.revising import ItrgContext, ItrgState
from hopgraph.tools.prompts import Value, clean


class WrittenPassage(ReplyModel):
    """A reply of the role `write_passage`."""

    passage: LongText


def knowledge_ask(question: str) -> Ask[WrittenPassage]:
    """Make the question to a model that writes a passage from own knowledge; the fallback is to have none."""
    return Ask("write_passage", {"question": question}, WrittenPassage, WrittenPassage(passage=""))


async def write_passage(state: PartsState, runtime: Runtime[GenReadContext]) -> Mapping[str, Any]:
    """Write a passage for the query (GenRead: generate rather than retrieve).

    Writes `knowledge`, one entry with the passage, without excerpts where the model knows nothing, and `passages`,
    whose source is `model`, so that what rests on it is cited as own knowledge.
    """
    [question] = (query["text"] for query in state["queries"])
    reserved = 2 if state["hops"] else 1  # one to read it, and for a part of a question one to compose
    answered = await ask(runtime, state, knowledge_ask(question), reserve_calls=reserved)
    text = read_knowledge(answered.record.passage, question, runtime)
    number = state["iteration"]
    written = [knowledge_passage(f"{number}.1", text, hop=number)] if text else []
    return {
        "knowledge": [Knowledge(query=question, excerpts=[whole_excerpt(each, 0.0) for each in written])],
        "passages": written,
        "stop_reason": "budget" if answered.outcome == "budget" else state["stop_reason"],
        "calls": calls_of([answered]),
    }


async def write_document(state: ItrgState, runtime: Runtime[ItrgContext]) -> Mapping[str, Any]:
    """Write a document from own knowledge before the first search, else again with what this round found (ITRG).

    Writes `document`, `queries` (the question with the document) and the next `iteration`; adds the document to
    `knowledge` and `passages` for a reader. No queries: the last round, the end of the budget, or a document that
    stayed as it was. It does where nothing new was found, which takes no call, where no reply could be used, and where
    the model says that it knows nothing.
    """
    settings, passages, number = runtime.context, passages_by_id(state["passages"]), state["iteration"]
    question, before, first = state["question"], state["document"], not state["asked"]
    excerpts = excerpts_of_all_queries(state["knowledge"])
    if settings.mode == "refine":
        excerpts = [each for each in excerpts if passages[each["passage_id"]]["hop"] == number]
    variables: dict[str, Value] = {"question": question, "passages": prompt_passages(excerpts, passages)}
    if settings.mode == "refine" and before:
        variables["document"] = before
    again = Ask("rewrite_passage", variables, WrittenPassage, WrittenPassage(passage=""))
    answers = [await ask(runtime, state, knowledge_ask(question) if first else again)] if first or excerpts else []
    said = "".join(clean(each.record.passage).strip() for each in answers)
    document = before if is_dont_know(said) else said
    cut_off = any(each.outcome == "budget" for each in answers)
    goes_on = first or (document != before and number < settings.iterations and not cut_off)
    emit(runtime, ThoughtAdded(number=number, text=document, new=document != before, reached=not goes_on, limit=False))
    written = [knowledge_passage(str(number), document, hop=number)] if document else []
    own = Knowledge(query=question, excerpts=[whole_excerpt(each, 0.0) for each in written])
    return {
        "document": document,
        "knowledge": [*state["knowledge"], own],
        "passages": written,
        "queries": [Query(text=f"{question} {document}".strip(), why="")] if goes_on else [],
        "iteration": number + (goes_on and not first),
        "stop_reason": "budget" if cut_off else state["stop_reason"],
        "calls": calls_of(answers),
    }
