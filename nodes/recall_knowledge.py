"""Let the model write from its own knowledge: statements, a passage, or a document that is rewritten."""

from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import ModelCall, ask, ask_all, calls_of, ran_out_of_budget, usage_update
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages, whole_excerpt
from hopgraph.nodes.core.reply_text import LongText, ReplyModel, is_dont_know, knowledge_passage
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.extract import question_of_query
from hopgraph.nodes.reading import excerpts_of_all_queries
from hopgraph.state import Knowledge, Passage, Query, Update
from hopgraph.state.baselines import GenReadContext, ItrgContext, ItrgState, PartsState
from hopgraph.state.events import Recalled, ThoughtAdded
from hopgraph.state.migres import MigresContext, MigresState
from hopgraph.tools.prompts import Value, clean


def read_recalled(said: str, query: str, runtime: Runtime[Any]) -> str:
    """Return a reply's own knowledge, cleaned; empty for "I don't know". Reports it as a `recalled` event."""
    text = clean(said).strip()
    known = not is_dont_know(text)
    emit(runtime, Recalled(query=query, known=known, text=text if known else ""))
    return text if known else ""


class RecallReply(ReplyModel):
    """A reply of the role `recall_knowledge`."""

    knowledge: LongText


async def recall_knowledge(state: MigresState, runtime: Runtime[MigresContext]) -> Update:
    """Ask for the model's own knowledge on queries without passages (MIGRES section 3.2).

    With `extraction=joint` on the first query alone, as in the authors' code; else on each (*ours*). Reads `knowledge`,
    `question` and `iteration`. Writes what was recalled as an excerpt of `knowledge` and as one of `passages`.
    """
    empty = [index for index, entry in enumerate(state["knowledge"]) if not entry["excerpts"]]
    empty = empty[:1] if runtime.context.extraction == "joint" else empty
    queries = [state["knowledge"][index]["query"] for index in empty]
    nothing = RecallReply(knowledge="")
    variables = [question_of_query(query, state["question"]) for query in queries]
    asks = [ModelCall("recall_knowledge", each, RecallReply, nothing) for each in variables]
    answers = await ask_all(runtime, state, asks)
    knowledge, passages = list(state["knowledge"]), list[Passage]()
    for index, answer in zip(empty, answers, strict=True):
        query = knowledge[index]["query"]
        if text := read_recalled(answer.record.knowledge, query, runtime):
            passage = knowledge_passage(f"{state['iteration']}.{index + 1}", text, hop=state["iteration"])
            passages.append(passage)
            knowledge[index] = Knowledge(query=query, excerpts=[whole_excerpt(passage, 0.0)])
    return {"knowledge": knowledge, "passages": passages, "calls": calls_of(answers)}


class WrittenPassage(ReplyModel):
    """A reply of the role `write_passage`."""

    passage: LongText


def knowledge_ask(question: str) -> ModelCall[WrittenPassage]:
    """Return the request for a passage from own knowledge; the fallback is none."""
    return ModelCall("write_passage", {"question": question}, WrittenPassage, WrittenPassage(passage=""))


async def write_passage(state: PartsState, runtime: Runtime[GenReadContext]) -> Update:
    """Write a passage from own knowledge for the query, as the only entry of `knowledge` (GenRead)."""
    [question] = (query["text"] for query in state["queries"])
    reserved = 2 if state["hops"] else 1  # one to read it, and for a part of a question one to compose
    answered = await ask(runtime, state, knowledge_ask(question), reserve_calls=reserved)
    text = read_recalled(answered.record.passage, question, runtime)
    number = state["iteration"]
    written = [knowledge_passage(f"{number}.1", text, hop=number)] if text else []
    return {
        "knowledge": [Knowledge(query=question, excerpts=[whole_excerpt(each, 0.0) for each in written])],
        "passages": written,
        **usage_update(state, [answered]),
    }


async def write_document(state: ItrgState, runtime: Runtime[ItrgContext]) -> Update:
    """Write a document from this round's passages, the first time from the passages for the question (ITRG).

    The next query is the question with the document, which is knowledge for a reader, too. No queries: the last round,
    the end of the budget, or an unchanged document; if nothing is new, there is no call. Writes `document`, `queries`,
    `round_before` and the next `iteration`, which counts the searches.
    """
    settings, passages, number = runtime.context, passages_by_id(state["passages"]), state["iteration"]
    question, before = state["question"], state["document"]
    excerpts = excerpts_of_all_queries(state["knowledge"])
    found = [each["passage_id"] for each in excerpts]
    refines = settings.mode == "refine" and bool(before)
    new = [each for each in excerpts if not refines or each["passage_id"] not in state["round_before"]]
    variables: dict[str, Value] = {"question": question, "passages": prompt_passages(new, passages)}
    wanted = ModelCall(
        "rewrite_passage",
        {**variables, "document": before} if refines else variables,
        WrittenPassage,
        WrittenPassage(passage=""),
    )
    answers = [await ask(runtime, state, wanted)] if new else []
    said = "".join(clean(each.record.passage).strip() for each in answers)
    document = before if is_dont_know(said) else said
    goes_on = document != before and number <= settings.iterations and not ran_out_of_budget(answers)
    emit(runtime, ThoughtAdded(number=number, text=document, new=document != before, reached=not goes_on, limit=False))
    written = [knowledge_passage(str(number), document, hop=number)] if document else []
    own = Knowledge(query=question, excerpts=[whole_excerpt(each, 0.0) for each in written])
    return {
        "document": document,
        "knowledge": [*state["knowledge"], own],
        "passages": written,
        "queries": [Query(text=f"{question} {document}".strip(), why="")] if goes_on else [],
        "round_before": found,
        "iteration": number + goes_on,
        **usage_update(state, answers),
    }
