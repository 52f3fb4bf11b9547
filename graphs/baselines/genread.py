"""GenRead: generate rather than retrieve.

The claim: a model makes better use of its own knowledge when it first writes a passage and then reads the answer
from it, than when it answers directly; no retriever is needed.

Paper: "Generate rather than Retrieve: Large Language Models are Strong Context Generators" (Yu et al., 2022, arXiv
2209.10063), as GenGround compares with it (Table 2 and section 5.2). `decomposition` is its variant for multi-hop
questions: sub-questions are answered in order, each with the previous answers, and each gets its own passage and
answer; the question is answered from those. GenGround only says that GenRead is used for each of them. The written
passage is cited as the model's own knowledge, never as a passage.
"""

from typing import Unpack

from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.parts import make_sub_questions_node, next_sub_question
from hopgraph.nodes.read_hop import make_best_answer_node, make_read_hop_node
from hopgraph.nodes.reading import make_answer_node
from hopgraph.nodes.recall_knowledge import write_passage
from hopgraph.state.baselines import GenReadContext, PartsState

Context = GenReadContext


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph or a variant of it, not yet compiled."""
    builder = AnswerGraph(PartsState, Context, **changes)
    builder.add_node("decompose", make_sub_questions_node(), reserve_calls=2)
    builder.add_node("next_part", next_sub_question)
    builder.add_node("generate", write_passage)
    builder.add_node("read", make_answer_node())
    builder.add_node("read_part", make_read_hop_node(), reserve_calls=1)
    builder.add_node("compose", make_best_answer_node())

    builder.add_branch("prepare", "decomposition", {"in parts": "decompose"}, {"whole question": "generate"})
    builder.add_edge("decompose", "next_part")
    builder.add_branch("next_part", "queries", {"look up": "generate"}, {"all answered": "compose"})
    builder.add_branch("generate", "hops", {"in parts": "read_part"}, {"whole question": "read"})
    builder.add_edge("read_part", "next_part")
    return builder.finish_after("read", "compose")


graph = build().compile(name="GenRead")
