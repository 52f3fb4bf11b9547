"""What the preliminary experiments show a model: sub-questions with their answers, and some passages of many."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from hopgraph.state import Passage, SettingsError
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.rehearsal.plan_derivation import derive_plan
from hopgraph.tools.apps.evaluation.rehearsal.question_plan import without_mark

PASSAGES_SHOWN = 5
"""Passages drawn for each question (section 2.1)."""


@dataclass(frozen=True)
class KnownSubQuestion:
    """One step of a question's decomposition, with the right names in it."""

    question: str
    answers: tuple[str, ...]
    """The first one is the usual form."""
    gold: tuple[str, ...] = ()
    """Ids of the passages that are annotated as its evidence."""

    @property
    def statement(self) -> str:
        """The question and its answer as one piece of information."""
        return f"{without_mark(self.question)}: {self.answers[0]}."


def annotated_sub_questions(question: EvalQuestion) -> list[KnownSubQuestion]:
    """Read the sub-questions from the annotated decomposition, or write them from the evidence triples.

    Raises:
        SettingsError: the data set has no answers to its steps.
    """
    if not question.triples and not any(hop.answer for hop in question.hops):
        raise SettingsError(
            f"question {question.id!r} has no annotated sub-answers, which this experiment needs; use MuSiQue or "
            "2WikiMultihopQA"
        )
    plan = derive_plan(question)
    ids = {(each.title, each.text): each.id for each in question.contexts}
    return [
        KnownSubQuestion(
            plan.question_of(hop), hop.answers, tuple(filter(None, (ids.get((p.title, p.text)) for p in hop.passages)))
        )
        for hop in plan.asked
        if hop.answer
    ]


def draw_passages(question: EvalQuestion, found: Sequence[Passage]) -> list[Passage]:
    """Draw five passages among those found and those that come with the question; the same ones every time.

    *Ours*: one of them is a gold passage, where the data set has its text; of 60 passages five at random would mostly
    hold nothing to extract.

    Returns:
        In an order that is drawn, too; all of them where there are fewer.
    """
    own = [
        Passage(id=each.id, title=each.title, text=each.text, score=0.0, source="data set", hop=1)
        for each in question.contexts
    ]
    pool = list({each["id"]: each for each in [*own, *found]}.values())
    ordered = sorted(pool, key=lambda each: _draw_key(question.id, each["id"]))
    sure = next((each for each in ordered if each["id"] in question.gold), None)
    chosen = [*([sure] if sure else []), *(each for each in ordered if each is not sure)][:PASSAGES_SHOWN]
    return sorted(chosen, key=lambda each: _draw_key(each["id"], question.id))


def draw_known_part(key: str, parts: Sequence[KnownSubQuestion]) -> list[KnownSubQuestion]:
    """Draw the sub-questions that are given with their answers: some or none, never all; in their order."""
    count = int.from_bytes(_draw_key(key, "how many")[:8]) % len(parts)
    chosen = sorted(range(len(parts)), key=lambda number: _draw_key(key, str(number)))[:count]
    return [parts[number] for number in sorted(chosen)]


def _draw_key(*parts: str) -> bytes:
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).digest()
