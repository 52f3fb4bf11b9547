"""Write a document about the question, and write it again with what was found for it."""

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import ModelCall, ask, ran_out_of_budget, usage_update
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages, whole_excerpt
from hopgraph.nodes.core.reply_text import is_dont_know, knowledge_passage
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.reading import excerpts_of_all_queries
from hopgraph.nodes.recall_knowledge import WrittenPassage
from hopgraph.state import Knowledge, Query, Update
from hopgraph.state.events import ThoughtAdded
from hopgraph.state.revising import ItrgContext, ItrgState
from hopgraph.tools.prompts import Value, clean


async def write_document(state: ItrgState, runtime: Runtime[ItrgContext]) -> Update:
    """Write a document from what this round found, the first time from the passages for the question (ITRG).

    The next query is the question with the document, which is knowledge for a reader, too. No queries: the last round,
    the end of the budget, or a document that stayed as it was; nothing new takes no call. Writes `document`, `queries`,
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
