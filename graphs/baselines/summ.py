"""SUMM: retrieve, rerank, summarize the best passages, then answer from the summaries.

The paper's claim: summaries let a prompt hold the content of more passages; MIGRES finds that this helps
with multi-hop questions, at one call per passage.

Paper: "Enabling Large Language Models to Generate Text with Citations" (Gao et al., 2023, arXiv 2305.14627; ALCE), as
MIGRES compares with it (sections 4.2 and 4.4, Tables 3 and 16): passages are summarized from the top down until
five (k) are relevant, in batches of as many as are still missing; zero-shot. *Ours*: at most `max_compressed` of
them. One call per summary, and one for the answer, which cites the passages, not the summaries.
"""

from collections.abc import Callable
from typing import Literal, Unpack

from langgraph.runtime import Runtime

from hopgraph.nodes.compress import make_compress_next_node
from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.reading import excerpts_of_all_queries, make_answer_node
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.selection import rerank
from hopgraph.state.baselines import CompressedContext, CompressedState, SummContext

Context = SummContext


def route_compressed(
    state: CompressedState, runtime: Runtime[CompressedContext]
) -> Literal["enough", "too few, more left"]:
    """Return whether k passages are relevant or none is left to read."""
    k = runtime.context.context_passages
    found = sum(len(each["passage_ids"]) for each in state["candidates"])
    left = state["read"] < min(found, runtime.context.max_compressed) and state["stop_reason"] != "budget"
    return "too few, more left" if left and len(excerpts_of_all_queries(state["knowledge"])) < k else "enough"


def compressing(
    context: type[CompressedContext], step: Literal["summarize", "snippet"]
) -> Callable[..., AnswerGraph[Context]]:
    """Return the `build` of a method with a step that compresses passages, one call each, until k are relevant."""

    def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
        """Build the graph or a variant of it, not yet compiled."""
        builder = AnswerGraph(CompressedState, context, **changes)
        builder.add_node("retrieve", retrieve)
        builder.add_node("rerank", rerank)
        builder.add_node(step, make_compress_next_node(step), reserve_calls=1)
        builder.add_node("answer", make_answer_node())

        builder.chain("prepare", "retrieve", "rerank", step)
        builder.add_conditional_edges(step, route_compressed, {"enough": "answer", "too few, more left": step})
        return builder.finish_after("answer")

    return build


build = compressing(Context, "summarize")
graph = build().compile(name="SUMM")
