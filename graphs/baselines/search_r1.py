"""Search-R1: tagged reasoning interleaved with searches, by a model trained for it.

The paper's claim: reinforcement learning from the final answer alone teaches a model when to search and for what,
interleaved with its reasoning, better than prompting does.

Paper: "Search-R1: Training LLMs to Reason and Leverage Search Engines with Reinforcement Learning" (Jin et al., 2025,
arXiv 2503.09516). The model thinks in `<think>`, searches with `<search>`, reads results in `<information>`, and
ends with `<answer>`. With `prompting=base` or `instruct` its own weights continue over a completions endpoint (vLLM,
llama.cpp); the prompt, the format of passages, the hint after a turn with neither tag, and the limits are those of
the authors' published code, used in training. `records`, the default and *ours*, asks any model for each turn
as a JSON record: without the trained weights it is not Search-R1.

Where this differs:
* text of passages and questions that looks like a tag or a role marker is altered, so that it is neither;
* a missing closing tag is added, and the last opening tag counts; an empty search is ignored;
* greedy, where the authors' example samples; passages are not truncated;
* the answer cites the passages that contain it, else those of the last search;
* with the budget's last call, `<answer>` is opened for the model, after a search for the question if there was none.

H searches cost H + 1 calls.
"""

from typing import Unpack

from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.write_turn import route_turn, show_found, write_turn
from hopgraph.state.baselines import SearchR1Context, SearchR1State

Context = SearchR1Context


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph or a variant of it, not yet compiled."""
    builder = AnswerGraph(SearchR1State, Context, **changes)
    builder.add_node("write", write_turn)
    builder.add_node("retrieve", retrieve)
    builder.add_node("show", show_found)

    builder.chain("prepare", "write")
    builder.add_conditional_edges("write", route_turn, {"search": "retrieve", "neither": "write", "answer": "finish"})
    builder.chain("retrieve", "show", "write")
    return builder.finish_after()


graph = build().compile(name="Search-R1")
