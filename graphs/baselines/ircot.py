"""IRCoT: alternates one sentence of a chain of thought with one retrieval.

The paper's claim: what to look up next depends on what has been derived, and what to derive on what has been
found; so each sentence of the chain becomes a query, and each retrieval guides the next sentence.

Paper: "Interleaving Retrieval with Chain-of-Thought Reasoning for Knowledge-Intensive Multi-Step Questions" (Trivedi et
al., 2023, arXiv 2212.10509), as RA-ISF (section 4.4) and Tree of Reviews (section 4.3) compare with it. The default
limits, eight sentences and fifteen passages, are the paper's (section 3.1); Tree of Reviews stops at three turns.

Where this differs from the paper:
* zero-shot unless `demonstrations` is set; five passages per query, as in Tree of Reviews;
* a missing or repeated sentence also ends the chain; one that only says that the answer is
  not given, or not known, does not end it, and is searched for like any other;
* the reader is a chain of thought over all collected passages, after the sentences so far; at the limit of
  sentences and at the end of the budget it answers from what is available.

As in the authors' code, a conclusion ("Thus, …") is not searched for; the last other sentence is the query again.

N sentences cost N + 1 calls.
"""

from typing import Unpack

from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.next_thought import next_thought
from hopgraph.nodes.reading import answer_from_thoughts
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.selection import add_passages
from hopgraph.state.baselines import IrcotContext, IrcotState

Context = IrcotContext


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph or a variant of it, not yet compiled."""
    builder = AnswerGraph(IrcotState, Context, **changes)
    builder.add_node("retrieve", retrieve)
    builder.add_node("add_passages", add_passages)
    builder.add_node("reason", next_thought, reserve_calls=1)
    builder.add_node("read", answer_from_thoughts)

    builder.chain("prepare", "retrieve", "add_passages", "reason")
    builder.add_branch("reason", "queries", {"next sentence": "retrieve"}, {"chain ends": "read"})
    return builder.finish_after("read")


graph = build().compile(name="IRCoT")
