"""DSP: sampled queries hop by hop, fused retrieval, and the majority of sampled answers.

The paper's claim: a pipeline that passes texts between model and retriever, with automatically annotated
demonstrations, searches that build on one another and aggregated predictions, beats retrieving once and reading.

Paper: "Demonstrate-Search-Predict: Composing retrieval and language models for knowledge-intensive NLP" (Khattab et
al., 2022, arXiv 2212.14024), as GenGround compares with it (Table 2, DSPy). Demonstrate: `hopgraph build dsp` keeps the
steps of correctly answered training questions as worked examples (`demonstrations`). Search: for each of two hops
ten queries are sampled, each with its rationale, and the passages found by them and the question are ranked by summed
scores. The best replace the context of the previous hop; after the first hop a sample's rationale is put first.
Predict: twenty chains of thought over them are sampled, and the majority answers. `--preset dspy`, one query for three
passages in each hop, all hops' passages kept, and one answer, is the multi-hop pipeline of DSPy's documentation.

Checked against the authors' published code and notebooks. *Ours*: zero-shot unless `demonstrations` is set; the
rationale is cited as the model's own words. H hops of Q queries and S answers cost H Q + S calls: 40, or 3 as in DSPy.
"""

from typing import Literal, Unpack

from langgraph.runtime import Runtime

from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.draft_answers import make_sample_answers_node, vote
from hopgraph.nodes.generate_queries import write_queries
from hopgraph.nodes.retrieve import make_retrieve_node
from hopgraph.nodes.selection import fuse_query_rankings
from hopgraph.state.baselines import DspContext, DspState

Context = DspContext


def passages_to_fuse(settings: DspContext, _iteration: int) -> int:
    """Return the passages to retrieve per query: three times the number kept, if several queries are fused."""
    return settings.top_k * (3 if settings.queries_per_hop > 1 else 1)


def route_hop(state: DspState, runtime: Runtime[DspContext]) -> Literal["next hop", "last hop"]:
    """Route by the number of hops so far."""
    return "next hop" if state["iteration"] < runtime.context.max_hops else "last hop"


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph or a variant of it, not yet compiled."""
    builder = AnswerGraph(DspState, Context, **changes)
    builder.add_node("write_queries", write_queries, reserve_calls=1)
    builder.add_node("retrieve", make_retrieve_node(passages_to_fuse))
    builder.add_node("fuse", fuse_query_rankings)
    builder.add_node("sample", make_sample_answers_node())
    builder.add_node("vote", vote)

    builder.chain("prepare", "write_queries", "retrieve", "fuse")
    builder.add_conditional_edges("fuse", route_hop, {"next hop": "write_queries", "last hop": "sample"})
    builder.chain("sample", "vote")
    return builder.finish_after("vote")


graph = build().compile(name="DSP")
