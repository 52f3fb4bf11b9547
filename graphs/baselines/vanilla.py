"""VANILLA: retrieve, rerank, then answer from the best passages.

It shows what a reader achieves with the k passages that a reranker scores highest, unmodified.

Paper: "Enabling Large Language Models to Generate Text with Citations" (Gao et al., 2023, arXiv 2305.14627; ALCE), as
MIGRES compares with it (section 4.2 and Table 3): 50 passages, reranked, k = 5, zero-shot. A short answer instead of
ALCE's long one. No passage is dropped for its score unless `threshold` is set. One call.
"""

from hopgraph.graphs.baselines import chain
from hopgraph.nodes.reading import make_answer_node
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.selection import rerank, take_best
from hopgraph.state.baselines import VanillaContext

Context = VanillaContext
build = chain(Context, retrieve=retrieve, rerank=rerank, take_best=take_best, answer=make_answer_node())
graph = build().compile(name="VANILLA")
