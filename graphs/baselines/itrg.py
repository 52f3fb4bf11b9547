"""ITRG: a document written from retrieved passages serves as the next query, and is then rewritten.

The paper's claim: generation and retrieval complement each other. A document that the model writes about the question
finds better passages than the question alone, and better passages make a better document, round by round.

Paper: "Retrieval-Generation Synergy Augmented Large Language Models" (Feng et al., 2023, arXiv 2310.05149), as MIGRES
compares with it (section 4.2 and Table 3). The first document is written from the top five passages for the question
alone. Each of five rounds retrieves as many for the question and the document together; `mode` says how they make the
next document: `refresh` writes one from the question and all of them, which is better on three of the paper's four data
sets; `refine` updates the last one with those that the previous round did not find. The question is answered from the
last round's passages and document; the document is cited as the model's own words.

Checked against public accounts of the paper. The wording is ours and zero-shot; MIGRES does not say which mode its row
has. *Ours*: a round that leaves the document unchanged is the last.

T rounds cost T + 2 calls and T + 1 searches; a round of `refine` that finds nothing new costs no call.
"""

from typing import Unpack

from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.reading import make_answer_node
from hopgraph.nodes.recall_knowledge import write_document
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.selection import take_top
from hopgraph.state.baselines import ItrgContext, ItrgState

Context = ItrgContext


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph or a variant of it, not yet compiled."""
    builder = AnswerGraph(ItrgState, Context, **changes)
    builder.add_node("write", write_document, reserve_calls=1)
    builder.add_node("retrieve", retrieve)
    builder.add_node("take_top", take_top)
    builder.add_node("read", make_answer_node())

    builder.chain("prepare", "retrieve", "take_top", "write")
    builder.add_branch("write", "queries", {"next round": "retrieve"}, {"last round": "read"})
    return builder.finish_after("read")


graph = build().compile(name="ITRG")
