"""Graphs that make training data: from a question with its annotation to examples for a role's student.

**GenGround's grounding**: an answer from memory and passages, to a citation and the revised answer. GenGround, section
4.1 and Appendix III (Instructional Grounding Distillation): 50,000 questions of NQ, each with its gold document and
noise; the student's base answers from memory; a large model, helped by the gold document, writes what the student
learns. Dropped is what cites nothing, lacks a part, or does not agree with the gold evidence: 45,710 are left. Not
stated, and *ours*: noise is what the retriever finds, up to the batch that is shown in use, in a seeded order; how
agreement is decided (`filter_grounding`); JSON in place of the tags; examples without a gold passage (`negatives`).

**RA-ISF's three modules**. RA-ISF, section 3.2 and Appendix A; 1,000 prompts per data set (section 4.5).
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

from typing import Any

from langgraph.graph import END, START

from hopgraph.nodes.core.compiled_method import CompiledMethod
from hopgraph.nodes.core.method_graph import MethodGraph, Node
from hopgraph.nodes.distillation.ground_with_gold import filter_grounding, ground_with_gold, mix_with_noise
from hopgraph.nodes.distillation.label_classes import add_own_passages, label_known, label_passages
from hopgraph.nodes.distillation.list_parts import check_parts, list_parts
from hopgraph.nodes.distillation.record import record
from hopgraph.nodes.prepare import prepare_for
from hopgraph.nodes.read_hop import generate
from hopgraph.nodes.reading import answer_with
from hopgraph.nodes.retrieve import retrieve
from hopgraph.state.distillation import (
    DecompositionDataContext,
    DistillationContext,
    DistillationState,
    GroundingDataContext,
    KnowledgeDataContext,
    RelevanceDataContext,
)


def _chain(context: type[DistillationContext], **steps: Node) -> CompiledMethod:
    """Compile the graph whose steps, by their nodes' names, follow one another from `prepare` to `record`."""
    builder = MethodGraph(DistillationState, context)
    nodes: dict[str, Any] = {"prepare": prepare_for(DistillationState, given=("source",)), **steps, "record": record}
    for name, node in nodes.items():
        builder.add_node(name, node)
    return builder.add_path(START, *nodes, END).compile(name=f"data for {context.role}")


GRAPHS: dict[str, Any] = {
    "genground/ground": _chain(
        GroundingDataContext,
        generate=generate,
        retrieve=retrieve,
        mix=mix_with_noise,
        ground=ground_with_gold,
        filter=filter_grounding,
    ),
    "ra_isf/self_knowledge": _chain(
        KnowledgeDataContext, answer=answer_with("answer_step_by_step", own_knowledge=True), label=label_known
    ),
    "ra_isf/judge_relevance": _chain(
        RelevanceDataContext, retrieve=retrieve, add_own_passages=add_own_passages, judge=label_passages
    ),
    "ra_isf/decompose": _chain(DecompositionDataContext, decompose=list_parts, check=check_parts),
}
"""By the student's role."""
