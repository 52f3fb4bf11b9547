"""All plans of a data set, found by what a prompt asks."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hopgraph.tools.apps.evaluation.datasets import read_questions
from hopgraph.tools.apps.evaluation.gold_texts import add_gold_texts
from hopgraph.tools.apps.evaluation.rehearsal.chance import Chance
from hopgraph.tools.apps.evaluation.rehearsal.plan_derivation import plan_of
from hopgraph.tools.apps.evaluation.rehearsal.question_plan import Plan, PlanHop, keyed, wordings
from hopgraph.tools.apps.evaluation.renaming import build_renamer
from hopgraph.tools.retrieval.corpora import ReadState, open_corpus

_TRIES = 20


@dataclass(frozen=True)
class Target:
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


class Book:
    """Finds the plan of a question, and of every sub-question that a plan would ask."""

    def __init__(self, plans: Iterable[Plan]) -> None:
        """Index the plans; of two that ask the same the first is found."""
        self.plans = list(plans)
        self._whole: dict[str, Plan] = {}
        self._parts: dict[str, Target] = {}
        for plan in self.plans:
            self._whole.setdefault(keyed(plan.question), plan)
            for hop in plan.asked:
                self._add_part(plan, hop)

    def _add_part(self, plan: Plan, hop: PlanHop) -> None:
        for asked in (hop.asked_with(plan.gold_answers()), plan.standing_alone(hop)):
            for wording in wordings(asked):
                self._parts.setdefault(keyed(wording), Target(plan, hop))

    def find(self, text: str) -> Target | None:
        """Find what a question asks for; None for a text that is neither a question nor a part of one."""
        whole = self._whole.get(keyed(text))
        return Target(whole) if whole else self._parts.get(keyed(text))

    def another_answer(self, target: Target | None, chance: Chance, choice: str) -> str:
        """Take a wrong answer: the other of yes and no, else the answer to another question."""
        right = {keyed(each) for each in target.answers} if target else set[str]()
        if target and target.hop is None and target.plan.is_yes_no:
            return "no" if target.plan.answer.casefold() == "yes" else "yes"
        for number in range(_TRIES):
            other = self.plans[chance.place(f"{choice}:{number}", len(self.plans))]
            if other.answer and not other.is_yes_no and keyed(other.answer) not in right:
                return other.answer
        return "something else"

    def another_question(self, target: Target | None, chance: Chance, choice: str) -> str:
        """Take a wrong sub-question: one that belongs to another question."""
        for number in range(_TRIES):
            other = self.plans[chance.place(f"{choice}:{number}", len(self.plans))]
            if target is None or other is not target.plan:
                return other.standing_alone(other.asked[0])
        return "What is something else?"


def read_book(path: Path, rename: int | None = None) -> Book:
    """Read a data set and plan each of its questions, renamed as `--rename SEED` does. Blocks.

    Raises:
        CorpusError, BadRecordError: the data set cannot be read.
    """
    questions = add_gold_texts(path, list(read_questions(path)))
    if rename is None:
        return Book(map(plan_of, questions))
    renaming = build_renamer(open_corpus(path, None).records(ReadState()), rename)
    return Book(plan_of(renaming.question(question)) for question in questions)
