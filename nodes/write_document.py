"""Write a document about the question, and write it again with what was found for it."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.answer import excerpts_of_all_queries
from hopgraph.nodes.core.ask import Ask, ask, calls_of
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages, whole_excerpt
from hopgraph.nodes.core.reply_text import is_dont_know, knowledge_passage
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.recall_knowledge import read_knowledge
from hopgraph.nodes.write_passages import WrittenPassage, knowledge_ask
from hopgraph.state import Context, Knowledge, Query
from hopgraph.state.events import DocumentRewritten
from hopgraph.state.revising import ItrgContext, ItrgState
from hopgraph.tools.prompts import Value, clean


async def write_document(state: ItrgState, runtime: Runtime[Context]) -> Mapping[str, Any]:
    """Write the first document, from own knowledge (ITRG's y₀).

    Writes `document`, empty where the model knows nothing, and `queries`: the question with the document.
    """
    answered = await ask(runtime, state, knowledge_ask(state["question"]))
    document = read_knowledge(answered.record.passage, state["question"], runtime)
    return {
        "document": document,
        "queries": _query(state["question"], document),
        "stop_reason": "budget" if answered.outcome == "budget" else None,
        "calls": calls_of([answered]),
    }


async def rewrite_document(state: ItrgState, runtime: Runtime[ItrgContext]) -> Mapping[str, Any]:
    """Write the document anew from this round's passages, or update it with those that were not found before.

    Writes `document`, `queries` and the next `iteration`; adds the document to `knowledge` and `passages` for a reader.
    No queries: the last round, the end of the budget, or a document that stayed as it was. It does where nothing new
    was found, which takes no call, where no reply could be used, and where the model says that it knows nothing.
    """
    settings, passages, number = runtime.context, passages_by_id(state["passages"]), state["iteration"]
    excerpts, before = excerpts_of_all_queries(state["knowledge"]), state["document"]
    variables: dict[str, Value] = {"question": state["question"]}
    if settings.mode == "refine":
        excerpts = [each for each in excerpts if passages[each["passage_id"]]["hop"] == number]
        variables |= {"document": before} if before else {}
    variables["passages"] = prompt_passages(excerpts, passages)
    wanted = Ask("rewrite_passage", variables, WrittenPassage, WrittenPassage(passage=""))
    answers = [await ask(runtime, state, wanted)] if excerpts else []
    said = "".join(clean(each.record.passage).strip() for each in answers)
    document = before if is_dont_know(said) else said
    shown = [each["passage_id"] for each in excerpts]
    emit(runtime, DocumentRewritten(round=number, text=document, changed=document != before, passage_ids=shown))
    cut_off = any(each.outcome == "budget" for each in answers)
    goes_on = document != before and number < settings.iterations and not cut_off
    written = [knowledge_passage(str(number), document, hop=number)] if document else []
    own = Knowledge(query=state["question"], excerpts=[whole_excerpt(each, 0.0) for each in written])
    return {
        "document": document,
        "knowledge": [*state["knowledge"], own],
        "passages": written,
        "queries": _query(state["question"], document) if goes_on else [],
        "iteration": number + goes_on,
        "stop_reason": "budget" if cut_off else state["stop_reason"],
        "calls": calls_of(answers),
    }


def _query(question: str, document: str) -> list[Query]:
    return [Query(text=f"{question} {document}".strip(), why="")]
