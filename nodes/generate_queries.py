"""Write queries for the missing information."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

from langgraph.runtime import Runtime
from pydantic import BeforeValidator, model_validator

from hopgraph.nodes.core.ask import Ask, ask, calls_of
from hopgraph.nodes.core.reply_text import ReplyModel, max_items_hint, max_length_hint, normalized_query, read_list
from hopgraph.nodes.core.step_events import emit
from hopgraph.state import Query, StopReason
from hopgraph.state.events import QueriesGenerated
from hopgraph.state.migres import MigresContext, MigresState
from hopgraph.state.schemas import MAX_TEXT_CHARACTERS
from hopgraph.tools.prompts import Value, clean


class NewQueries(ReplyModel):
    """A reply of the role `generate_queries`."""

    queries: Annotated[list[Annotated[str, max_length_hint(300)]], BeforeValidator(read_list), max_items_hint(10)]

    @model_validator(mode="before")
    @classmethod
    def _by_the_papers_name(cls, value: object) -> object:
        """Read the paper's `query` as `queries`."""
        if isinstance(value, Mapping) and [*(fields := cast("Mapping[str, object]", value))] == ["query"]:
            return {"queries": fields["query"]}
        return cast("object", value)


async def generate_queries(state: MigresState, runtime: Runtime[MigresContext]) -> Mapping[str, Any]:
    """Ask for at most `max_queries` single-hop queries (the Query Generator, section 3.2).

    Writes `queries` and increments `iteration`. With `memory`, queries that repeat the question or an earlier
    query, ignoring case, spaces and punctuation, are dropped (Memory Module). No queries left, or no usable reply:
    `queries` is empty and the iteration stays; where the budget is exhausted, `stop_reason` says so.
    """
    settings = runtime.context
    wanted = queries_ask(
        state["question"],
        asked=state["asked"] if settings.memory else state["asked"][:1],
        information=[each["statement"] for each in state["evidence"]],
        missing=state["missing"],
        most=settings.max_queries,
    )
    answered = await ask(runtime, state, wanted)
    known = state["asked"] if settings.memory else []
    queries = new_queries(answered.record, known=known, why=state["missing"])[: settings.max_queries]
    emit(runtime, QueriesGenerated(queries=[query["text"] for query in queries], missing=state["missing"]))
    ended: dict[str, StopReason] = {"stop_reason": "budget"} if answered.outcome == "budget" else {}
    return {
        **ended,
        "queries": queries,
        "iteration": state["iteration"] + (1 if queries else 0),
        "calls": calls_of([answered]),
    }


def queries_ask(
    question: str, *, asked: Sequence[str], information: Sequence[str], missing: str, most: int
) -> Ask[NewQueries]:
    """Build the request for queries for what is `missing`, in words, besides the `information`; the fallback: none.

    The model is told not to repeat those `asked`, and to write at most `most`; `new_queries` does not cut.
    """
    variables: dict[str, Value] = {"question": question, "asked": asked, "information": information}
    variables |= {"missing": missing, "max_queries": most}
    return Ask("generate_queries", variables, NewQueries, NewQueries(queries=[]))


def new_queries(reply: NewQueries, *, known: Sequence[str], why: str) -> list[Query]:
    """Read the queries of a reply that repeat neither a known one nor each other, in its order."""
    seen = {normalized_query(query) for query in known}
    queries: list[Query] = []
    for text in (" ".join(clean(query).split()) for query in reply.queries):
        if normalized_query(text) and normalized_query(text) not in seen and len(text) <= MAX_TEXT_CHARACTERS:
            seen.add(normalized_query(text))
            queries.append(Query(text=text, why=why))
    return queries
