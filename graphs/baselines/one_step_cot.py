"""OneR-CoT: one retrieval, then a chain of thought.

Compared with OneR-Direct, it shows what reasoning over the same passages adds.

Paper: OneR of "Interleaving Retrieval with Chain-of-Thought Reasoning for Knowledge-Intensive Multi-Step Questions"
(Trivedi et al., 2023, arXiv 2212.10509), as Tree of Reviews compares with it (section 4.3 and Table 2); BlendFilter's
CoT with retrieval (appendix C). The retriever's top five passages, no reranker; zero-shot unless
`demonstrations` is set. One call.
"""

from hopgraph.graphs.baselines import chain
from hopgraph.nodes.reading import make_answer_node
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.selection import take_top
from hopgraph.state.baselines import OneStepCotContext

Context = OneStepCotContext
build = chain(Context, retrieve=retrieve, take_top=take_top, reason=make_answer_node("answer_step_by_step"))
graph = build().compile(name="OneR-CoT")
