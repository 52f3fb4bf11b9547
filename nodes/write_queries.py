"""Sample the search queries of a hop, each with the reason for it."""

from collections import Counter
from dataclasses import replace

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import Ask, ask_all, spending_update
from hopgraph.nodes.core.reply_text import LongText, ReplyModel, ShortText
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.reading import kept_passages
from hopgraph.nodes.sample_answers import sampling_of
from hopgraph.state import Query, Update
from hopgraph.state.baselines import DspContext, DspState
from hopgraph.state.events import QueriesGenerated
from hopgraph.tools.prompts import Value, clean


class SearchQuery(ReplyModel):
    """A reply of the role `write_query`."""

    rationale: LongText = ""
    query: ShortText


async def write_queries(state: DspState, runtime: Runtime[DspContext]) -> Update:
    """Write `queries`: samples of what to search for next, given the context so far (DSP's search).

    The question follows them where several are fused, and stands alone without any. Writes `sampled`, too, and
    `iteration`, the hop.
    """
    settings, count = runtime.context, runtime.context.queries_per_hop
    hop = state["iteration"] + 1 if state["knowledge"] else 1
    variables: dict[str, Value] = {"question": state["question"]}
    if hop > 1:
        variables["passages"] = kept_passages(state)[1]
    wanted = Ask("write_query", variables, SearchQuery, SearchQuery(query=""))
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
        **spending_update(state, answers),
    }


def _one_line(text: str) -> str:
    return " ".join(clean(text).split())
