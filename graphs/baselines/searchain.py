"""SearChain: the model plans a whole chain of queries with answers, and search corrects it node by node.

The paper's claim: a chain that is planned as a whole keeps its reasoning coherent, and search that only verifies and
completes its nodes does not mislead the model where it is right.

Paper: "Search-in-the-Chain: Interactively Enhancing Large Language Models with Search for Knowledge-intensive Tasks"
(Xu et al., 2023, arXiv 2304.14732), as GenGround compares with it (Tables 2, 3, 5 and 7). Up to five rounds: the model
writes a chain of queries, each answered or marked unsolved. In order, skipping queries seen before unless
they are still unsolved, a reader answers each from its passages, with its confidence. An unsolved node gets the
reader's answer; a node that the reader confidently contradicts is corrected. The first such feedback ends the round:
with it and the node's passages the chain is rewritten, where the model may keep its own answer. Without feedback,
or after the last round, the question is answered from all nodes.

Checked against the authors' published code, which shows the reader only the first passage; as that is often the wrong
one, ours sees all search results. The wording is ours and zero-shot. *Ours*: the reader is the model, and states its
confidence, 1 to 5, in its reply; nodes are compared by their words; an answer to an unsolved node that the reader
is unsure of is marked as not grounded; an unsolved node that nothing answers is fed back as unknown; the answer is
short, where the paper's is long.

R rounds with N nodes read cost R + N + 1 calls.
"""

from typing import Literal, Unpack

from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.parts import next_sub_question
from hopgraph.nodes.read_hop import SureAnswer, make_best_answer_node, make_read_hop_node
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.selection import take_top
from hopgraph.nodes.write_chain import write_chain
from hopgraph.state.baselines import SearchainContext, SearchainState

Context = SearchainContext


def route_feedback(state: SearchainState) -> Literal["feedback", "no feedback"]:
    """Return whether the reader answered or corrected a node, or could do neither for an unsolved one."""
    hop = state["hops"][-1]
    return "no feedback" if hop["answer"] and hop["answer"] == hop["generated"] else "feedback"


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph or a variant of it, not yet compiled."""
    builder = AnswerGraph(SearchainState, Context, **changes)
    builder.add_node("chain", write_chain, reserve_calls=1)
    builder.add_node("next_link", next_sub_question)
    builder.add_node("retrieve", retrieve)
    builder.add_node("take_top", take_top)
    builder.add_node("check", make_read_hop_node("read_chain_node", SureAnswer, alone=True), reserve_calls=1)
    builder.add_node("answer", make_best_answer_node())

    builder.chain("prepare", "chain", "next_link")
    builder.add_branch("next_link", "queries", {"look up": "retrieve"}, {"all answered": "answer"})
    builder.chain("retrieve", "take_top", "check")
    builder.add_conditional_edges("check", route_feedback, {"feedback": "chain", "no feedback": "next_link"})
    return builder.finish_after("answer")


graph = build().compile(name="SearChain")
