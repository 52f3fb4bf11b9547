"""SNIPPET: retrieve, rerank, copy snippets of the best passages, then answer from the snippets.

The paper's claim: as with summaries, short snippets make room for the content of more passages, and they
keep the passages' own words.

Paper: "Enabling Large Language Models to Generate Text with Citations" (ALCE; Gao et al., 2023), as MIGRES
compares with it (sections 4.2 and 4.4, Tables 3 and 16): snippets are taken from the best passage down until
k = 5 are relevant, as many at the same time as are missing to k; zero-shot. *Ours*: at most `max_compressed`
of them. One call per snippet, and one for the answer, which cites the passages, not the snippets.
"""

from langgraph.graph import END, START

from hopgraph.graphs.baselines.summ import enough_relevant
from hopgraph.nodes.answer import answer_with
from hopgraph.nodes.compress_next import compress_next_with
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.nodes.finish import finish
from hopgraph.nodes.prepare import prepare_for
from hopgraph.nodes.rerank import rerank
from hopgraph.nodes.retrieve import retrieve
from hopgraph.state.baselines import CompressedState, SnippetContext
from hopgraph.state.schemas import AnswerOutput, QuestionInput

Context = SnippetContext


def build() -> MethodGraph:
    """Build the graph: its nodes and edges, not yet compiled."""
    builder = MethodGraph(CompressedState, Context, input_schema=QuestionInput, output_schema=AnswerOutput)
    builder.add_node("prepare", prepare_for(CompressedState))
    builder.add_node("retrieve", retrieve)
    builder.add_node("rerank", rerank)
    builder.add_node("snippet", compress_next_with("snippet"), reserve_calls=1)
    builder.add_node("answer", answer_with())
    builder.add_node("finish", finish)

    builder.add_path(START, "prepare", "retrieve", "rerank", "snippet")
    builder.add_conditional_edges("snippet", enough_relevant, {"enough": "answer", "too few, more left": "snippet"})
    builder.add_path("answer", "finish", END)
    return builder


graph = build().compile(name="SNIPPET")
