"""Self-RAG: the model says whether to retrieve, answers from each passage and criticizes each answer.

The paper's claim: a model that is trained to write reflection tokens retrieves only when that helps, and says itself
which passage is relevant, which answer is supported by it, and which is useful, so the best can be chosen.

Paper: "Self-RAG: Learning to Retrieve, Generate, and Critique through Self-Reflection" (Asai et al., 2023), as RA-ISF
compares with it (section 4.2 and Table 1). Passages are retrieved if the share of Retrieval among the retrieval tokens
exceeds a threshold; an answer is written from each, side by side, and scored by its likelihood + relevance + support +
½ utility, each the probability of the group's good tokens among all of the group. The best answer is given.

`reflection` says who reflects: with `tokens` Self-RAG's own weights, whose tokens are read from a completions endpoint;
with `records`, the default and *ours*, any model, which is asked for the judgements in records. What has no weights has
no trained judgement: such a run is not the paper's Self-RAG.

Where this differs (the paper was not at hand; threshold, weights and forms are from memory, unchecked):
* one segment, the short answer, and so no beam over segments (the long form); all passages are weighed, none dropped;
* a record has no likelihood, so only its judgements count;
* servers list the likeliest 20 tokens of a place: a reflection token that is not among them counts as impossible;
* text of passages and questions that looks like a token or a tag is changed, so that it is neither.

k passages cost k + 1 calls in two turns; an answer from memory two.
"""

from typing import Literal

from langgraph.graph import END, START

from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.nodes.critique import critique
from hopgraph.nodes.decide_retrieval import decide_retrieval
from hopgraph.nodes.finish import finish
from hopgraph.nodes.prepare import prepare_for
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.take_top import take_top
from hopgraph.state.baselines import SelfRagContext, SelfRagState
from hopgraph.state.schemas import AnswerOutput, QuestionInput

Context = SelfRagContext


def where_from(state: SelfRagState) -> Literal["passages", "memory"]:
    """Whether the answer comes from passages."""
    return "passages" if state["needs_retrieval"] else "memory"


def build() -> MethodGraph:
    """Build the graph: its nodes and edges, not yet compiled."""
    builder = MethodGraph(SelfRagState, Context, input_schema=QuestionInput, output_schema=AnswerOutput)
    builder.add_node("prepare", prepare_for(SelfRagState))
    builder.add_node("decide", decide_retrieval, reserve_calls=1)
    builder.add_node("retrieve", retrieve)
    builder.add_node("take_top", take_top)
    builder.add_node("critique", critique)
    builder.add_node("finish", finish)

    builder.add_path(START, "prepare", "decide")
    builder.add_conditional_edges("decide", where_from, {"passages": "retrieve", "memory": "critique"})
    builder.add_path("retrieve", "take_top", "critique", "finish", END)
    return builder


graph = build().compile(name="Self-RAG")
