"""Direct: the question, answered from the model's own knowledge.

It shows what a model knows without any passage, and so what a retriever adds.

Paper: "Language Models are Few-Shot Learners" (Brown et al., 2020, arXiv 2005.14165), as BlendFilter (appendix C) and
Tree of Reviews (section 4.3) compare with it; zero-shot unless `demonstrations` is set. One call. Nothing is cited:
there are no passages.
"""

from hopgraph.graphs.baselines import chain
from hopgraph.nodes.reading import make_answer_node
from hopgraph.state.baselines import DirectContext

Context = DirectContext
build = chain(Context, answer=make_answer_node(own_knowledge=True))
graph = build().compile(name="Direct")
