"""CoT-SC: several chains of thought, and the answer that most of them reach.

The paper's claim: different ways of thinking that lead to one answer make it more likely to be right, so
sampling many chains of thought and taking the most frequent answer beats the single likeliest chain.

Paper: "Self-Consistency Improves Chain of Thought Reasoning in Language Models" (Wang et al., 2023, arXiv 2203.11171),
as GenGround compares with it (section 5.2 and Table 2). *Ours*: five samples by default; answers that differ only in
case, punctuation and articles are equal, and ties go to the first one.
One call per sample, all concurrent. Nothing is cited: there are no passages.
"""

from hopgraph.graphs.baselines import chain
from hopgraph.nodes.draft_answers import make_sample_answers_node, vote
from hopgraph.state.baselines import CotScContext, SamplesState

Context = CotScContext
build = chain(Context, SamplesState, sample=make_sample_answers_node(own_knowledge=True), vote=vote)
graph = build().compile(name="CoT-SC")
