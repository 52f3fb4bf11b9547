"""VANILLA-s: retrieve, keep the relevant sentences, then answer from them.

MIGRES's claim for it: dropping irrelevant passages and sentences before the reader sees them improves the
answers on every data set and costs fewer tokens.

Paper: "LLMs Know What They Need: Leveraging a Missing Information Guided Framework to Empower Retrieval-Augmented
Generation" (Wang et al., 2024, arXiv 2404.14043; MIGRES, section 4.2 and Table 3), based on VANILLA. The sentence
filter is MIGRES's, including δ; zero-shot. One call, even if nothing was kept.
"""

from hopgraph.graphs.baselines import chain
from hopgraph.nodes.reading import make_answer_node
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.sentence_filter import sentence_filter
from hopgraph.state.baselines import VanillaSContext

Context = VanillaSContext
build = chain(Context, retrieve=retrieve, sentence_filter=sentence_filter, answer=make_answer_node())
graph = build().compile(name="VANILLA-s")
