"""Data for RA-ISF's three modules, a graph for each.

Paper: RA-ISF, section 3.2 and Appendix A; 1,000 prompts per data set (section 4.5).
* self-knowledge (A.1): the model that will answer is asked without passages, few-shot; a question is known where its
  answer is the same as the gold one (Equation 5);
* relevance (A.2): the top k passages are taken one by one, and a large model says of each whether it is relevant;
* decomposition (A.3): a large model breaks the question down and lists its parts; the authors' code also takes the
  decompositions that come with data sets.

*Ours*: "the same" as in exact match, with the aliases of the data set, and the model reasons before it answers, as in
use; the annotation as the teacher of relevance, with the gold passages that were not retrieved added
(`own_passages`), so that there are relevant ones; sub-questions that refer to earlier answers, and their checks;
replies in the form that the roles have in use.
"""

from hopgraph.graphs.distillation import distillation_chain
from hopgraph.nodes.answer import answer_with
from hopgraph.nodes.distillation.label_classes import add_own_passages, label_known, label_passages
from hopgraph.nodes.distillation.list_parts import check_parts, list_parts
from hopgraph.nodes.retrieve import retrieve
from hopgraph.state.distillation import DecompositionDataContext, KnowledgeDataContext, RelevanceDataContext

self_knowledge = distillation_chain(
    KnowledgeDataContext, answer=answer_with("answer_step_by_step", own_knowledge=True), label=label_known
)
relevance = distillation_chain(
    RelevanceDataContext, retrieve=retrieve, add_own_passages=add_own_passages, judge=label_passages
)
decomposition = distillation_chain(DecompositionDataContext, decompose=list_parts, check=check_parts)
