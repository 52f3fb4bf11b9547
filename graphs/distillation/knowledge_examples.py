"""Data for RA-ISF's self-knowledge module: a question, to known or unknown.

Paper: RA-ISF, section 3.2 and Appendix A.1: the model that will answer is asked without passages, few-shot; a question
is known where its answer is the same as the gold one (Equation 5).

*Ours*: the same as in exact match, with the aliases of the data set; the model reasons before it answers, as in use.
"""

from hopgraph.graphs.distillation import distillation_chain
from hopgraph.nodes.answer import answer_with
from hopgraph.nodes.distillation.label_classes import label_known
from hopgraph.state.distillation import KnowledgeDataContext

graph = distillation_chain(
    KnowledgeDataContext, answer=answer_with("answer_step_by_step", own_knowledge=True), label=label_known
)
