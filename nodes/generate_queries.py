"""Ask for the next queries."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, cast

from langgraph.runtime import Runtime
from pydantic import BeforeValidator, model_validator

from hopgraph.nodes.core.ask import ModelCall, ask, ask_all, calls_of, usage_update
from hopgraph.nodes.core.reply_text import LongText, ReplyModel, ShortText, normalized_query, read_list, schema_hint
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.draft_answers import sampling_of
from hopgraph.nodes.reading import kept_passages
from hopgraph.state import Query, StopReason, Update
from hopgraph.state.baselines import DspContext, DspState
from hopgraph.state.events import QueriesGenerated
from hopgraph.state.migres import MigresContext, MigresState
from hopgraph.state.schemas import MAX_TEXT_CHARACTERS
from hopgraph.tools.prompts import Value, clean


class NewQueries(ReplyModel):
    """A reply of the role `generate_queries`."""

    queries: Annotated[
        list[Annotated[str, schema_hint(maxLength=300)]], BeforeValidator(read_list), schema_hint(maxItems=10)
    ]

    @model_validator(mode="before")
    @classmethod
    def _by_the_papers_name(cls, value: object) -> object:
        """Accept the paper's `query` for `queries`."""
        if isinstance(value, Mapping) and [*(fields := cast("Mapping[str, object]", value))] == ["query"]:
            return {"queries": fields["query"]}
        return cast("object", value)


async def generate_queries(state: MigresState, runtime: Runtime[MigresContext]) -> Update:
    """Ask for at most `max_queries` single-hop queries (the Query Generator, section 3.2).

    With `memory`, those that repeat the question or an earlier query are dropped (Memory Module). Reads `question`,
    `asked`, `evidence` and `missing`. Writes `queries`, the next `iteration` if there are any, and `stop_reason` if
    the budget ended.
    """
    settings = runtime.context
    wanted = queries_ask(
        state["question"],
        asked=state["asked"] if settings.memory else state["asked"][:1],  # at least the question
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
) -> ModelCall[NewQueries]:
    """Return the request for at most `most` queries for what is `missing`, in words; the fallback is no queries."""
    variables: dict[str, Value] = {"question": question, "asked": asked, "information": information}
    variables |= {"missing": missing, "max_queries": most}
    return ModelCall("generate_queries", variables, NewQueries, NewQueries(queries=[]))


def new_queries(reply: NewQueries, *, known: Sequence[str], why: str) -> list[Query]:
    """Return a reply's queries that repeat neither a known one nor each other, in order."""
    seen = {normalized_query(query) for query in known}
    queries: list[Query] = []
    for text in (" ".join(clean(query).split()) for query in reply.queries):
        if normalized_query(text) and normalized_query(text) not in seen and len(text) <= MAX_TEXT_CHARACTERS:
            seen.add(normalized_query(text))
            queries.append(Query(text=text, why=why))
    return queries


class SearchQuery(ReplyModel):
    """A reply of the role `write_query`."""

    rationale: LongText = ""
    query: ShortText


async def write_queries(state: DspState, runtime: Runtime[DspContext]) -> Update:
    """Write `queries`: samples of what to search for next, given the context so far (DSP's search).

    The question follows them if several are fused, and stands alone without any. Also writes `sampled` and
    `iteration`, the hop.
    """
    settings, count = runtime.context, runtime.context.queries_per_hop
    hop = state["iteration"] + 1 if state["knowledge"] else 1
    variables: dict[str, Value] = {"question": state["question"]}
    if hop > 1:
        variables["passages"] = kept_passages(state)[1]
    wanted = ModelCall("write_query", variables, SearchQuery, SearchQuery(query=""))
    answers = await ask_all(
        runtime, state, [replace(wanted, sample=n, sampling=sampling_of(settings, n, count)) for n in range(count)]
    )
    said = [Query(text=_one_line(each.record.query), why=_one_line(each.record.rationale)) for each in answers]
    first = {each["text"]: each for each in reversed(said)}
    sampled = Counter(each["text"] for each in said if each["text"])
    queries = [first[text] for text in sampled]
    missing = queries[0]["why"] if queries else ""
    emit(runtime, QueriesGenerated(queries=[each["text"] for each in queries], missing=missing))
    whole = [Query(text=state["question"], why="")] if count > 1 and state["question"] not in sampled else []
    return {
        "queries": [*queries, *whole] or [Query(text=state["question"], why="")],
        "sampled": dict(sampled),
        "iteration": hop,
        **usage_update(state, answers),
    }


def _one_line(text: str) -> str:
    return " ".join(clean(text).split())
