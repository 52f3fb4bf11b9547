"""Data for RA-ISF's relevance module: a question and a passage, to relevant or irrelevant.

Paper: RA-ISF, section 3.2 and Appendix A.2: the top k passages of a question are taken one by one, and a large model
says of each whether it is relevant; that is what the module learns to say. 1,000 prompts per data set (section 4.5).

*Ours*: the annotation of the data set as the teacher; gold passages that were not retrieved are added
(`own_passages`), so that there are relevant ones; the reply in the form that the role has in use.
"""

from hopgraph.graphs.distillation import distillation_chain
from hopgraph.nodes.distillation.label_classes import add_own_passages, label_passages
from hopgraph.nodes.retrieve import retrieve
from hopgraph.state.distillation import RelevanceDataContext

graph = distillation_chain(
    RelevanceDataContext, retrieve=retrieve, add_own_passages=add_own_passages, judge=label_passages
)
