"""ReAct: alternate reasoning and acting.

The paper's claim: interleaved thoughts and actions do better than either alone, because a thought
says what to look up next, and what was found grounds the next thought.

Paper: "ReAct: Synergizing Reasoning and Acting in Language Models" (Yao et al., 2023, arXiv 2210.03629), as the papers
of MIGRES, BlendFilter and Tree of Reviews run it: search for the question first; then each call gives a thought and
an action, the action is a search or the answer, and the observation is the search result.

Where this differs from the paper:
* the actions are `search` and `finish`; `lookup` in a Wikipedia page does not apply to passages;
* a turn is one call with a JSON reply; the passages are one numbered list and the observations refer to
  them by number, so that a passage found again is shown once;
* `finish` names the passages that support the answer, for the citations;
* there is a limit of searches, and a repeated search ends the run, both with one more call for a best-effort answer;
* zero-shot unless `demonstrations` is set.

After the first search, H searches cost H + 1 calls.
"""

from typing import Unpack

from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.deduce import make_deduce_node, route_deduced
from hopgraph.nodes.hops.next_step import Action
from hopgraph.nodes.read_hop import make_best_answer_node, observe
from hopgraph.nodes.retrieve import retrieve
from hopgraph.state.baselines import ReactContext
from hopgraph.state.hops import HopsState

Context = ReactContext


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph or a variant of it, not yet compiled."""
    builder = AnswerGraph(HopsState, Context, **changes)
    builder.add_node("act", make_deduce_node("act", Action, show_passages=True), reserve_calls=1)
    builder.add_node("retrieve", retrieve)
    builder.add_node("observe", observe)
    builder.add_node("best_answer", make_best_answer_node(show_passages=True))

    builder.chain("prepare", "retrieve", "observe", "act")
    builder.add_conditional_edges(
        "act", route_deduced, {"next question": "retrieve", "finished": "finish", "no further hop": "best_answer"}
    )
    return builder.finish_after("best_answer")


graph = build().compile(name="ReAct")
