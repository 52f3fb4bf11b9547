"""MIGRES: missing-information guided retrieve, extract, solve.

The paper's claim: a language model knows well what is still missing for an answer, so asking for exactly
that (rather than decomposing the question beforehand) finds the next passage of a multi-hop chain. Cutting
passages down to their relevant sentences makes this cheap: in the paper, fewer than five passages per iteration.

Paper: "LLMs Know What They Need: Leveraging a Missing Information Guided Framework to Empower Retrieval-Augmented
Generation" (Wang et al., 2024, arXiv 2404.14043). Section 3.2 describes the nodes from retrieve to generate_queries,
and the memory; Table 5 compress; Table 11 the presets.

Where this differs from the paper:
* with `extraction=per_query` each query has its own call, and one that kept no passage its own recall; by default
  there is one call per iteration over at most five passages, and one recall if no query kept any, as in the
  authors' code;
* δ, the minimum score at which a passage or a sentence is kept, defaults to the reranker's own value: the paper's for
  multi-hop questions (3, on bge-reranker-base's scale); for the lexical reranker, one that keeps the gold sentences,
  lowered for queries for which no passage scores high; the paper's rule (appendix B) only asks that more than 80 % of
  the questions keep a passage;
* a shown sentence counts once, and once more when a kept statement cites it; at two it is set aside, as in the authors'
  code, but by sentence: parts of a passage that were not shown may still be shown;
* when the last iteration has no answer, the budget ends, or no new query can be written, one final call must
  answer or, with the setting `abstain` (the default), say that it cannot; without it the model may use its own
  knowledge; the paper does not say how such a run ends;
* T includes the first search; the authors' code runs T rounds after it;
* a statement is checked against the cited passages as a whole, joined and titled; the code checks it against the part
  shown of each, and accepts one match;
* recalled knowledge is dropped only if the whole reply amounts to "I don't know";
* a decision also names the statements that it relies on, for the citations;
* the model's own knowledge is cited as such, never as a passage.
"""

from typing import Literal, Unpack

from langgraph.runtime import Runtime

from hopgraph.nodes.compress import compress
from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.decide import decide, final_answer
from hopgraph.nodes.extract import extract
from hopgraph.nodes.generate_queries import generate_queries
from hopgraph.nodes.nli_verify import nli_verify
from hopgraph.nodes.recall_knowledge import recall_knowledge
from hopgraph.nodes.retrieve import make_retrieve_node, top_k
from hopgraph.nodes.sentence_filter import sentence_filter
from hopgraph.state.migres import MigresContext, MigresState

Context = MigresContext


def after_filter(
    state: MigresState, runtime: Runtime[MigresContext]
) -> Literal["to extract", "to recall", "to compress"]:
    """Route after the sentence filter; `compression` is "sentences" by default, which needs no further call."""
    if runtime.context.compression in ("summary", "snippet") and any(entry["excerpts"] for entry in state["knowledge"]):
        return "to compress"
    return extract_or_recall(state, runtime)


def extract_or_recall(state: MigresState, runtime: Runtime[MigresContext]) -> Literal["to extract", "to recall"]:
    """Route through `recall_knowledge`, if on, when no query (or, with `per_query`, not every one) kept a passage."""
    empty = [not entry["excerpts"] for entry in state["knowledge"]]
    lacking = all(empty) if runtime.context.extraction == "joint" else any(empty)
    return "to recall" if lacking and runtime.context.recall else "to extract"


def after_decision(state: MigresState) -> Literal["answerable", "missing", "limit reached"]:
    """Finish, search for what is missing, or force a final answer if the iterations or the budget are used up."""
    if state["stop_reason"] == "answered":
        return "answerable"
    return "limit reached" if state["stop_reason"] else "missing"


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph or a variant of it, not yet compiled."""
    builder = AnswerGraph(MigresState, Context, **changes)
    builder.add_node("retrieve", make_retrieve_node(top_k, allow_added_queries=True))
    builder.add_node("sentence_filter", sentence_filter)
    # reserve_calls: calls that the budget reserves for later nodes: 3 = an extraction, a decision and the final
    # answer; 1 = only the final answer, which a run goes to when no call is left for a decision. In runs that ask for
    # it, a person reviews before `retrieve` (node `review_queries`) and `decide` (`review_statements`).
    builder.add_node("compress", compress, reserve_calls=3)
    builder.add_node("recall_knowledge", recall_knowledge, reserve_calls=3)
    builder.add_node("extract", extract, reserve_calls=1)
    builder.add_node("nli_verify", nli_verify)
    builder.add_node("decide", decide, reserve_calls=1)
    builder.add_node("generate_queries", generate_queries, reserve_calls=1)
    builder.add_node("final_answer", final_answer)

    builder.chain("prepare", "retrieve", "sentence_filter")
    builder.add_conditional_edges(
        "sentence_filter",
        after_filter,
        {"to extract": "extract", "to recall": "recall_knowledge", "to compress": "compress"},
    )
    builder.add_conditional_edges(
        "compress", extract_or_recall, {"to extract": "extract", "to recall": "recall_knowledge"}
    )
    builder.chain("recall_knowledge", "extract", "nli_verify", "decide")
    builder.add_conditional_edges(
        "decide",
        after_decision,
        {"answerable": "finish", "missing": "generate_queries", "limit reached": "final_answer"},
    )
    builder.add_branch("generate_queries", "queries", {"new queries": "retrieve"}, {"none left": "final_answer"})
    return builder.finish_after("final_answer")


graph = build().compile(name="MIGRES")
