"""What a graph that makes training data is given of a question."""

from hopgraph.state import Passage
from hopgraph.state.distillation import SourceQuestion
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.rehearsal.question_plan import derive_plan


def source_of(question: EvalQuestion) -> SourceQuestion:
    """Return a question's annotation; the sub-questions are its steps, or questions for its evidence triples."""
    hops = derive_plan(question).asked if question.hops or question.triples else ()
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
