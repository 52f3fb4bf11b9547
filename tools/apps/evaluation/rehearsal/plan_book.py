"""All plans of a data set, found by what a prompt asks."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from hopgraph.tools.apps.evaluation.datasets import add_gold_texts, read_questions
from hopgraph.tools.apps.evaluation.rehearsal.plan_derivation import derive_plan
from hopgraph.tools.apps.evaluation.rehearsal.question_plan import Plan, PlanHop, word_key, wordings
from hopgraph.tools.apps.evaluation.renaming import build_renamer
from hopgraph.tools.retrieval.corpora import CorpusReading, open_corpus


class Target(NamedTuple):
    """What a prompt asks for."""

    plan: Plan
    hop: PlanHop | None = None
    """None: the whole question."""

    @property
    def hops(self) -> tuple[PlanHop, ...]:
        """The hops that the answer needs."""
        return self.plan.hops if self.hop is None else (self.hop,)

    @property
    def answers(self) -> tuple[str, ...]:
        """The right answers; empty where there is none."""
        return self.plan.answers if self.hop is None else self.hop.answers


NO_TARGET = Target(Plan("", "", (), ()))
"""A text that is neither a question nor a part of one: no hops, no answers."""


class PlanBook:
    """Finds the plan of a question, and of every sub-question that a plan would ask."""

    def __init__(self, plans: Iterable[Plan]) -> None:
        """Index the plans; of two that ask the same the first is found."""
        self.plans = list(plans)
        self._targets = {word_key(plan.question): Target(plan) for plan in reversed(self.plans)}
        for plan in self.plans:
            for hop in plan.asked:
                for wording in wordings(plan.question_of(hop), plan.self_contained(hop)):
                    self._targets.setdefault(word_key(wording), Target(plan, hop))

    def find(self, text: str) -> Target:
        """Return what a question asks for, else `NO_TARGET`."""
        return self._targets.get(word_key(text), NO_TARGET)


def read_book(path: Path, rename: int | None = None) -> PlanBook:
    """Read a data set and plan each of its questions, renamed as `--rename SEED` does. Blocks.

    Raises:
        CorpusError, BadRecordError: the data set cannot be read.
    """
    questions = add_gold_texts(path, list(read_questions(path)))
    if rename is not None:
        renamer = build_renamer(open_corpus(path, None).records(CorpusReading()), rename)
        questions = map(renamer.question, questions)
    return PlanBook(map(derive_plan, questions))
