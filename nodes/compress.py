"""Let the model compress passages to a summary or a snippet: the kept ones, or a ranking from its top."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import CallResult, ModelCall, ask_all, calls_of, usage_update
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages, whole_excerpt
from hopgraph.nodes.core.method_graph import Node
from hopgraph.nodes.core.reply_text import ReplyModel, ShortText
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.reading import excerpts_of_all_queries
from hopgraph.state import Excerpt, Knowledge, MethodState, Passage, Update
from hopgraph.state.baselines import CompressedContext, CompressedState
from hopgraph.state.events import Compressed, CompressedPassage
from hopgraph.state.passage_filtering import KnowledgeContext
from hopgraph.tools.prompts import Value, clean


class CompressionReply(ReplyModel):
    """A reply of the roles `summarize` and `snippet`."""

    text: ShortText


def compress_ask(
    step: str, query: str, excerpt: Excerpt, passages: Mapping[str, Passage]
) -> ModelCall[CompressionReply]:
    """Return the call that compresses one passage to what matters for a query; step is `summarize` or `snippet`."""
    variables: dict[str, Value] = {"passages": prompt_passages([excerpt], passages), "question": query}
    return ModelCall(step, variables, CompressionReply, CompressionReply(text="irrelevant"))


async def compress(state: MethodState, runtime: Runtime[KnowledgeContext]) -> Update:
    """Ask once per kept passage for what matters to its query (SUMM and SNIPPET of MIGRES, Table 5).

    In `knowledge` the model's text replaces the passage's; irrelevant passages and those without a usable reply are
    dropped. Reads `knowledge` and `passages`; writes `knowledge`.
    """
    step = "summarize" if runtime.context.compression == "summary" else "snippet"
    passages = passages_by_id(state["passages"])
    places = [(entry["query"], excerpt) for entry in state["knowledge"] for excerpt in entry["excerpts"]]
    asks = [compress_ask(step, query, excerpt, passages) for query, excerpt in places]
    answers = await ask_all(runtime, state, asks)
    written = iter(answers)
    knowledge = [
        Knowledge(
            query=entry["query"],
            excerpts=[shorter for each in entry["excerpts"] if (shorter := rewritten(each, next(written)))],
        )
        for entry in state["knowledge"]
    ]
    for before, after in zip(state["knowledge"], knowledge, strict=True):
        report_compressed(runtime, step, after["query"], len(before["excerpts"]), after["excerpts"])
    return {"knowledge": knowledge, "calls": calls_of(answers)}


def rewritten(excerpt: Excerpt, answer: CallResult[CompressionReply]) -> Excerpt | None:
    """Replace an excerpt's text with the model's; None if the passage is irrelevant or the reply unusable."""
    text = clean(answer.record.text).strip()
    if text.casefold().rstrip(".") in {"", "irrelevant"}:
        return None
    return Excerpt(passage_id=excerpt["passage_id"], spans=[], text=text, score=excerpt["score"])


def report_compressed(runtime: Runtime[Any], step: str, query: str, passages_in: int, kept: Sequence[Excerpt]) -> None:
    """Report the compression of a query's passages as a `compressed` event."""
    texts = [CompressedPassage(passage_id=each["passage_id"], text=each["text"]) for each in kept]
    emit(runtime, Compressed(query=query, how=step, passages_in=passages_in, kept=texts))


def make_compress_next_node(step: Literal["summarize", "snippet"]) -> Node:
    """Return the node that compresses as many of the next passages as are missing to k (ALCE's SUMM and SNIPPET).

    Irrelevant passages make room for others further down the ranking: MIGRES, section 4.4, counts about 8 calls for
    5 relevant passages. The node adds to `knowledge` and counts `read`. Passages beyond the budget stay whole.
    """

    async def compress_next(state: CompressedState, runtime: Runtime[CompressedContext]) -> Update:
        settings, passages = runtime.context, passages_by_id(state["passages"])
        [ranking], kept = state["candidates"], excerpts_of_all_queries(state["knowledge"])
        first = state["read"]
        last = min(first + settings.context_passages - len(kept), settings.max_compressed)
        scored = zip(ranking["passage_ids"][first:last], ranking["scores"][first:last], strict=True)
        batch = [whole_excerpt(passages[key], score) for key, score in scored]
        wanted = [compress_ask(step, ranking["query"], each, passages) for each in batch]
        answers = await ask_all(runtime, state, wanted)
        found: list[Excerpt] = []
        for excerpt, answered in zip(batch, answers, strict=True):
            shorter = excerpt if answered.outcome == "budget" else rewritten(excerpt, answered)
            found += [shorter] if shorter else []
        report_compressed(runtime, step, ranking["query"], len(batch), found)
        return {
            "knowledge": [Knowledge(query=ranking["query"], excerpts=[*kept, *found])],
            "read": first + len(batch),
            **usage_update(state, answers),
        }

    return compress_next
