"""Self-Ask: follow-up questions, each answered before the next.

The paper's claim: language models know facts that they fail to compose. Letting the model ask itself simple
questions and answer them, with a search engine if available, narrows that gap.

Paper: "Measuring and Narrowing the Compositionality Gap in Language Models" (Press et al., 2023, arXiv 2210.03350),
with retrieval as the papers of MIGRES, BlendFilter and Tree of Reviews run it: a follow-up question, its passages, an
intermediate answer, until no further question is asked.

Where this differs from the paper:
* with `prompting=separate`, the default, the intermediate answer is a separate call over only the passages of its
  follow-up question, and the next follow-up question sees it with its source sentence; with `prompting=joint`
  the question is searched for first, and one prompt, with all passages so far before the question, answers the last
  follow-up question and gives the next one or the final answer, one call per turn, as those papers describe it
  (BlendFilter, appendix C; MIGRES, section 4.1 and the calls of Table 4; Tree of Reviews, section 4.3);
* there is a limit of follow-up questions, and a repeated one ends the run, both with one more call for a best-effort
  answer;
* zero-shot unless `demonstrations` is set.

H follow-up questions cost 2 H + 1 calls, minus one for each that finds no passage; H + 1 with `joint`.
"""

from typing import Literal, Unpack

from langgraph.runtime import Runtime

from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.deduce import make_deduce_node, route_deduced
from hopgraph.nodes.hops.next_step import FollowUp, JointFollowUp
from hopgraph.nodes.read_hop import make_best_answer_node, make_read_hop_node, observe
from hopgraph.nodes.retrieve import retrieve
from hopgraph.state.baselines import SelfAskContext
from hopgraph.state.hops import HopsState

Context = SelfAskContext


def route_prompting(_state: HopsState, runtime: Runtime[SelfAskContext]) -> Literal["separate prompts", "one prompt"]:
    """Choose between one prompt per intermediate answer and one per turn."""
    return "separate prompts" if runtime.context.prompting == "separate" else "one prompt"


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph or a variant of it, not yet compiled."""
    builder = AnswerGraph(HopsState, Context, **changes)
    builder.add_node("follow_up", make_deduce_node("follow_up", FollowUp), reserve_calls=1)
    builder.add_node(
        "follow_up_jointly", make_deduce_node("follow_up_jointly", JointFollowUp, answers_last=True), reserve_calls=1
    )
    builder.add_node("retrieve", retrieve)
    builder.add_node("intermediate_answer", make_read_hop_node(key="candidates", alone=True))
    builder.add_node("observe", observe)
    builder.add_node("best_answer", make_best_answer_node())

    builder.add_conditional_edges(
        "prepare", route_prompting, {"separate prompts": "follow_up", "one prompt": "retrieve"}
    )
    for asking in ("follow_up", "follow_up_jointly"):
        builder.add_conditional_edges(
            asking, route_deduced, {"next question": "retrieve", "finished": "finish", "no further hop": "best_answer"}
        )
    builder.add_conditional_edges(
        "retrieve", route_prompting, {"separate prompts": "intermediate_answer", "one prompt": "observe"}
    )
    builder.add_edge("intermediate_answer", "follow_up")
    builder.add_edge("observe", "follow_up_jointly")
    return builder.finish_after("best_answer")


graph = build().compile(name="Self-Ask")
