"""GenGround: generate, then ground.

The paper's claim: reading an answer off retrieved passages leaves the model's own knowledge unused and is
at the mercy of the retriever. Letting the model answer one simple question at a time from memory, and then
correct that answer with what the passages say, combines both sources and suffers less from noise.

Paper: "Generate-then-Ground in Retrieval-Augmented Generation for Multi-hop Question Answering" (Shi et al., 2024,
arXiv 2406.14891). Sections: deduce 3.1; retrieve, ground, revise and keep 3.2; batches 3.3; the switches `deduction`,
`grounding` and `batches` Table 4; the counts in `revised` events 7.2 (`table_measures`).

Where this differs from the paper:
* there is a hop limit, and a repeated question ends the run, both with one more call for a best-effort answer;
* each sentence of a citation must occur in a shown passage (by the share of its words found there), else
  the batch is retried once, with the unsupported sentences named, and then counts as Empty; if no later
  batch is cited either, the revised answer, marked as not grounded, takes precedence over the generated one;
* citation and revision are JSON keys instead of the tags <ref> and <revise>, and a deduction first states what
  is settled and what is missing (`thought`);
* later hops see an answer with the passage sentences that match the citation, not the citation in
  the model's words, so that nothing is passed on as passage content that is not; an answer without
  support is marked there, and a hop without an answer is unknown;
* Equation 3 passes the whole question to the grounding, the text of section 3.2 and Equation 4 do not: here
  it sees the sub-question, its immediate answer and the passages;
* after an unusable deduction the whole question is asked; one whose immediate answer is "I don't know" has
  none, and if no passage can be cited either, the hop's answer is unknown;
* batches are read one after another, as in the paper, unless `speculative_batches` reads all in parallel.

H hops cost H + 1 deductions and one call per batch read, plus one if a citation was not found.
"""

from typing import Literal, Unpack

from langgraph.runtime import Runtime

from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.deduce import make_deduce_node, route_deduced
from hopgraph.nodes.ground import ground, keep_memory_answer, revise
from hopgraph.nodes.hops.next_step import NextQuestion
from hopgraph.nodes.read_hop import accept_last_answer, answer_from_memory, make_best_answer_node, make_read_hop_node
from hopgraph.nodes.retrieve import retrieve
from hopgraph.state.genground import GengroundContext, GengroundState

Context = GengroundContext


def route_retrieved(_state: GengroundState, runtime: Runtime[GengroundContext]) -> Literal["grounding", "no grounding"]:
    """Choose between grounding the generated answer and reading one from the passages."""
    return "grounding" if runtime.context.grounding else "no grounding"


def route_grounding(state: GengroundState) -> Literal["cited", "empty, more", "empty, none left"]:
    """Route by the grounding: revise with it, continue with the next batch, or keep the generated answer."""
    if state["grounding"] and state["grounding"]["evidence"]:
        return "cited"
    found = sum(len(each["passage_ids"]) for each in state["candidates"])
    return "empty, more" if state["read"] < found else "empty, none left"


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph or a variant of it, not yet compiled."""
    builder = AnswerGraph(GengroundState, Context, **changes)
    builder.add_node("deduce", make_deduce_node("deduce", NextQuestion), reserve_calls=1)
    builder.add_node("generate", answer_from_memory, reserve_calls=0)
    builder.add_node("retrieve", retrieve)
    builder.add_node("ground", ground)
    builder.add_node("revise", revise)
    builder.add_node("keep", keep_memory_answer)
    builder.add_node("read_passages", make_read_hop_node(key="candidates", alone=True, edits=True))
    builder.add_node("best_answer", make_best_answer_node())
    builder.add_node("accept", accept_last_answer)

    builder.add_branch("prepare", "deduction", {"hop by hop": "deduce"}, {"at once": "generate"})
    builder.add_edge("generate", "retrieve")
    builder.add_conditional_edges(
        "deduce", route_deduced, {"next question": "retrieve", "finished": "finish", "no further hop": "best_answer"}
    )
    builder.add_conditional_edges("retrieve", route_retrieved, {"grounding": "ground", "no grounding": "read_passages"})
    builder.add_conditional_edges(
        "ground", route_grounding, {"cited": "revise", "empty, more": "ground", "empty, none left": "keep"}
    )
    for closing in ("revise", "keep", "read_passages"):
        builder.add_branch(closing, "deduction", {"hop by hop": "deduce"}, {"at once": "accept"})
    return builder.finish_after("best_answer", "accept")


graph = build().compile(name="GenGround")
