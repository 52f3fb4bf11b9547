"""Keep the sentences that are nearest to a query."""

from collections import defaultdict

from langgraph.runtime import Runtime

from hopgraph.nodes.core.excerpts import passages_by_id, with_title
from hopgraph.nodes.core.pair_scoring import score_pairs
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.sentence_filter import describe_excerpt
from hopgraph.state import Excerpt, Knowledge, Update
from hopgraph.state.events import Filtered
from hopgraph.state.revising import VerifyAndEditContext
from hopgraph.state.schemas import FoundState
from hopgraph.tools.io.background import LONG_SPLIT, in_turns
from hopgraph.tools.resources import get_reranker
from hopgraph.tools.text import split_sentences


async def nearest_sentences(state: FoundState, runtime: Runtime[VerifyAndEditContext]) -> Update:
    """Keep of all of a query's passages the `nearest_sentences` best, however low they score (Verify-and-Edit).

    The reranker compares each sentence, below its passage's title, with the query. Writes `knowledge`: an entry per
    query, the passage with the best sentence first; of a passage its kept sentences, in its own order.
    """
    most, reranker = runtime.context.nearest_sentences, await get_reranker(runtime.context)
    passages = passages_by_id(state["passages"])
    found = [(each["query"], key) for each in state["candidates"] for key in each["passage_ids"]]
    long = any(len(passages[key]["text"]) > LONG_SPLIT for _, key in found)
    split = await in_turns(lambda place: split_sentences(passages[place[1]]["text"]), found, long=long)
    places = [(query, key, span) for (query, key), spans in zip(found, split, strict=True) for span in spans]
    pairs = [(query, with_title(passages[key], passages[key]["text"][slice(*span)])) for query, key, span in places]
    scores, calls = await score_pairs(runtime, reranker, pairs)
    scored = list(zip(scores, places, strict=True))
    knowledge: list[Knowledge] = []
    for candidates in state["candidates"]:
        own = [(score, key, span) for score, (query, key, span) in scored if query == candidates["query"]]
        spans, best = defaultdict[str, list[list[int]]](list), dict[str, float]()
        for score, key, span in sorted(own, key=lambda each: -each[0])[:most]:
            spans[key].append([*span])
            best.setdefault(key, score)
        excerpts = [Excerpt(passage_id=key, spans=sorted(spans[key]), text="", score=best[key]) for key in best]
        knowledge.append(Knowledge(query=candidates["query"], excerpts=excerpts))
        event = Filtered(
            query=candidates["query"],
            threshold=None,
            passages_in=len(candidates["passage_ids"]),
            sentences_in=len(own),
            kept=[describe_excerpt(each, passages[each["passage_id"]]) for each in excerpts],
        )
        emit(runtime, event)
    return {"knowledge": knowledge, "calls": calls}
