"""CoT: a chain of thought from the model's own knowledge.

The paper's claim: a large model that writes intermediate steps before its answer solves problems that it fails to
answer directly. Compared with Direct, it shows what reasoning adds without any passage.

Paper: "Chain-of-Thought Prompting Elicits Reasoning in Large Language Models" (Wei et al., 2022, arXiv 2201.11903), as
BlendFilter (appendix C), GenGround (section 5.2) and Tree of Reviews (section 4.3) compare with it; zero-shot unless
`demonstrations` is set, as MIGRES's baselines are. One call. Nothing is cited: there are no passages.
"""

from hopgraph.graphs.baselines import chain
from hopgraph.nodes.reading import make_answer_node
from hopgraph.state.baselines import CotContext

Context = CotContext
build = chain(Context, reason=make_answer_node("answer_step_by_step", own_knowledge=True))
graph = build().compile(name="CoT")
