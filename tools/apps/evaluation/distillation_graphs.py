"""The graphs that make training data by the student's role, and what they are given of a question."""

from typing import Any

from hopgraph.graphs.distillation import genground_examples, ra_isf_examples
from hopgraph.state import Passage
from hopgraph.state.distillation import SourceQuestion
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.rehearsal.question_plan import derive_plan

DISTILLATION_GRAPHS: dict[str, Any] = {
    "genground/ground": genground_examples.graph,
    "ra_isf/self_knowledge": ra_isf_examples.self_knowledge,
    "ra_isf/judge_relevance": ra_isf_examples.relevance,
    "ra_isf/decompose": ra_isf_examples.decomposition,
}


def source_of(question: EvalQuestion) -> SourceQuestion:
    """Return a question's annotation; the sub-questions are its steps, or questions for its evidence triples."""
    plan = derive_plan(question)
    there = {hop.number for hop in plan.asked}
    stand_alone = all(there.issuperset(hop.needs) for hop in plan.asked)
    hops = (plan.asked if stand_alone else plan.hops) if question.hops or question.triples else ()
    places = {hop.number: f"#{place}" for place, hop in enumerate(hops, start=1)}
    return SourceQuestion(
        id=question.id,
        answers=list(question.answers or ()),
        gold=list(question.gold),
        contexts=[
            Passage(id=each.id, title=each.title, text=each.text, score=0.0, source="data set", hop=1)
            for each in question.contexts
        ],
        sub_questions=[hop.filled_with(places) for hop in hops],
    )
