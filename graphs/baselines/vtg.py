"""VTG: write the answer sentence by sentence, and keep sentences that the cited passages support.

The paper's claim: text with citations is verifiable only if they are correct. So each sentence is checked against its
citations, cites again from memory or from new search results, or is rewritten; memory follows the text.

Paper: "Towards Verifiable Text Generation with Evolving Memory and Self-Reflection" (Sun et al., 2024, arXiv
2312.09075), as MIGRES compares with it (section 4.2 and Table 3). Memory holds the question's passages (long-term)
and those of the last search (short-term). A sentence is supported if its cited passages, or one of them, entail it;
else if a passage in memory does, which it then cites; else if one of those found for questions about
it does. An unsupported sentence is rewritten up to n times, then left out.

Checked against MIGRES's account of it, which says no more; the wording is ours and zero-shot, and so may be the limits
and that a single passage in memory must suffice. *Ours*: the short answer comes from the sentences as MIGRES's final
answer does from its statements; a repeated sentence ends the text.

A supported sentence costs one call, or two with a search; a sentence that is left out 2 (n + 1), and the answer one.
"""

from typing import Literal, Unpack

from hopgraph.nodes.cited_sentences import answer_from_sentences, ask_about_sentence, check_sentence, next_sentence
from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.selection import take_top
from hopgraph.state.baselines import VtgContext, VtgState

Context = VtgContext


def route_checked(state: VtgState) -> Literal["next sentence", "search"]:
    """Return whether an unsupported sentence still has to be looked up."""
    searched = {query["why"] for query in state["queries"]}
    return "search" if any(draft["statement"] not in searched for draft in state["drafts"]) else "next sentence"


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph or a variant of it, not yet compiled."""
    builder = AnswerGraph(VtgState, Context, **changes)
    builder.add_node("retrieve", retrieve)
    builder.add_node("take_top", take_top)
    builder.add_node("write", next_sentence, reserve_calls=1)
    builder.add_node("check", check_sentence)
    builder.add_node("ask", ask_about_sentence, reserve_calls=1)
    builder.add_node("answer", answer_from_sentences)

    builder.chain("prepare", "retrieve", "take_top")
    builder.add_branch("take_top", "drafts", {"sentence": "check"}, {"none": "write"})
    builder.add_branch("write", "drafts", {"sentence": "check"}, {"none": "answer"})
    builder.add_conditional_edges("check", route_checked, {"next sentence": "write", "search": "ask"})
    builder.add_branch("ask", "drafts", {"sentence": "retrieve"}, {"none": "answer"})
    return builder.finish_after("answer")


graph = build().compile(name="VTG")
