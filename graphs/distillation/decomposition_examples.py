"""Data for RA-ISF's decomposition module: a question, to the list of its sub-questions.

Paper: RA-ISF, section 3.2 and Appendix A.3: a large model is told to break the question down and list its parts.
Its code also takes the decompositions that come with data sets.

*Ours*: sub-questions that refer to earlier answers, as the role gives them in use, and the checks.
"""

from hopgraph.graphs.distillation import distillation_chain
from hopgraph.nodes.distillation.list_parts import check_parts, list_parts
from hopgraph.state.distillation import DecompositionDataContext

graph = distillation_chain(DecompositionDataContext, decompose=list_parts, check=check_parts)
