"""RERANK: sample four answers over the best passages, and return the best-cited one.

The paper's claim: answers with correct citations are better answers, so of several samples the one with the
highest citation recall is worth its three extra calls.

Paper: "Enabling Large Language Models to Generate Text with Citations" (Gao et al., 2023, arXiv 2305.14627; ALCE), as
MIGRES compares with it (section 4.2 and Table 3): 50 passages, reranked, k = 5, four samples at ALCE's temperature 0.5,
zero-shot.

Where this differs from the paper:
* a sample is a chain of thought with a short answer, and names its passages once, not after each statement:
  * ties go to the first sample; one without an answer never wins.
* of a tie the first sample is taken, and one without an answer never.

One call per sample, all concurrent.
"""

from hopgraph.graphs.baselines import chain
from hopgraph.nodes.draft_answers import best_cited, make_sample_answers_node
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.selection import rerank, take_best
from hopgraph.state.baselines import RerankContext, SamplesState

Context = RerankContext
build = chain(
    Context,
    SamplesState,
    retrieve=retrieve,
    rerank=rerank,
    take_best=take_best,
    sample=make_sample_answers_node(),
    best_cited=best_cited,
)
graph = build().compile(name="RERANK")
