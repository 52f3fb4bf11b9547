"""Verify-and-Edit: if sampled chains of thought disagree, look up their sentences and edit them.

The paper's claim: answers that few samples agree on come from rationales with wrong facts. Looking up each sentence and
replacing it with what was found corrects the rationale, and with it the answer.

Paper: "Verify-and-Edit: A Knowledge-Enhanced Chain-of-Thought Framework" (Zhao et al., 2023, arXiv 2305.03268), as
GenGround compares with it (Table 2). Of n chains of thought at temperature 0.7 the majority's answer is returned if at
least half of them agree. Otherwise each sentence of the rationale of the majority's first sample gets a question,
and an answer of one sentence from the three nearest sentences of its passages, which always replaces it. The answer
follows from the edited rationale.

Checked against the authors' published code. The wording is ours and zero-shot; the reranker finds the nearest
sentences, where the code compares embeddings. *Ours*: a sentence is kept, marked as not grounded, if nothing is found
or the model abstains, and serves as its own query if there is no usable question.

n calls if the samples agree; otherwise 2 S + 1 more for a rationale of S sentences.
"""

from typing import Literal, Unpack

from langgraph.runtime import Runtime

from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.draft_answers import count_votes, make_sample_answers_node, vote
from hopgraph.nodes.parts import next_sub_question, verifying_questions
from hopgraph.nodes.read_hop import make_best_answer_node, make_read_hop_node
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.selection import nearest_sentences
from hopgraph.state.baselines import EditingState, VerifyAndEditContext

Context = VerifyAndEditContext


def route_vote(state: EditingState, runtime: Runtime[VerifyAndEditContext]) -> Literal["agreed", "disagreed"]:
    """Return whether at least half of the samples give the same answer."""
    votes = count_votes([draft["answer"] for draft in state["drafts"]])
    return "agreed" if 2 * max(votes, default=0) >= runtime.context.samples else "disagreed"


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph or a variant of it, not yet compiled."""
    builder = AnswerGraph(EditingState, Context, **changes)
    builder.add_node("sample", make_sample_answers_node(own_knowledge=True), reserve_calls=1)
    builder.add_node("vote", vote)
    builder.add_node("ask", verifying_questions, reserve_calls=1)
    builder.add_node("next", next_sub_question)
    builder.add_node("retrieve", retrieve)
    builder.add_node("nearest_sentences", nearest_sentences)
    builder.add_node("edit", make_read_hop_node("answer_in_a_sentence", alone=True, edits=True), reserve_calls=1)
    builder.add_node("answer", make_best_answer_node())

    builder.chain("prepare", "sample")
    builder.add_conditional_edges("sample", route_vote, {"agreed": "vote", "disagreed": "ask"})
    builder.chain("ask", "next")
    builder.add_branch("next", "queries", {"look up": "retrieve"}, {"all answered": "answer"})
    builder.chain("retrieve", "nearest_sentences", "edit", "next")
    return builder.finish_after("vote", "answer")


graph = build().compile(name="Verify-and-Edit")
