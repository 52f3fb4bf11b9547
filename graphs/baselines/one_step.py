"""OneR-Direct: one retrieval, then the answer.

It shows the effect of retrieval with the question alone, the starting point of every multi-hop method.

Paper: OneR of "Interleaving Retrieval with Chain-of-Thought Reasoning for Knowledge-Intensive Multi-Step Questions"
(Trivedi et al., 2023, arXiv 2212.10509), as Tree of Reviews compares with it (section 4.3 and Table 2); the same
as RAG in RA-ISF (section 4.4). The top five passages as the retriever ranks them, no reranker; zero-shot unless
`demonstrations` is set. One call.
"""

from hopgraph.graphs.baselines import chain
from hopgraph.nodes.reading import make_answer_node
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.selection import take_top
from hopgraph.state.baselines import OneStepContext

Context = OneStepContext
build = chain(Context, retrieve=retrieve, take_top=take_top, answer=make_answer_node())
graph = build().compile(name="OneR-Direct")
