"""All plans of a data set, found by what a prompt asks."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from hopgraph.tools.apps.evaluation.datasets import add_gold_texts, read_questions
from hopgraph.tools.apps.evaluation.rehearsal.chance import Chance
from hopgraph.tools.apps.evaluation.rehearsal.plan_derivation import derive_plan
from hopgraph.tools.apps.evaluation.rehearsal.question_plan import Plan, PlanHop, word_key, wordings
from hopgraph.tools.apps.evaluation.renaming import build_renamer
from hopgraph.tools.retrieval.corpora import CorpusReading, open_corpus


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


class PlanBook:
    """Finds the plan of a question, and of every sub-question that a plan would ask."""

    def __init__(self, plans: Iterable[Plan]) -> None:
        """Index the plans; of two that ask the same the first is found."""
        self.plans = list(plans)
        self._targets = {word_key(plan.question): Target(plan) for plan in reversed(self.plans)}
        for plan in self.plans:
            for hop in plan.asked:
                for question in (hop.filled_with(plan.gold_answers()), plan.self_contained(hop)):
                    for wording in wordings(question):
                        self._targets.setdefault(word_key(wording), Target(plan, hop))

    def find(self, text: str) -> Target | None:
        """Return what a question asks for; None for a text that is neither a question nor a part of one."""
        return self._targets.get(word_key(text))

    def wrong_answer(self, target: Target | None, chance: Chance, choice: str) -> str:
        """Return a wrong answer: the other of yes and no, else the answer to another question."""
        if target and target.hop is None and target.plan.is_yes_no:
            return "no" if target.plan.answer.casefold() == "yes" else "yes"
        right = {word_key(each) for each in target.answers} if target else set[str]()
        other = self._another(chance, choice, lambda plan: not plan.is_yes_no and word_key(plan.answer) not in right)
        return other.answer if other else "something else"

    def wrong_question(self, target: Target | None, chance: Chance, choice: str) -> str:
        """Return a wrong sub-question: one that belongs to another question."""
        other = self._another(chance, choice, lambda plan: target is None or plan is not target.plan, answered=False)
        return other.self_contained(other.asked[0]) if other else "What is something else?"

    def _another(
        self, chance: Chance, choice: str, suits: Callable[[Plan], bool], *, answered: bool = True
    ) -> Plan | None:
        picked = (self.plans[chance.pick(f"{choice}:{number}", len(self.plans))] for number in range(20))
        return next((plan for plan in picked if (plan.answer or not answered) and suits(plan)), None)


def read_book(path: Path, rename: int | None = None) -> PlanBook:
    """Read a data set and plan each of its questions, renamed as `--rename SEED` does. Blocks.

    Raises:
        CorpusError, BadRecordError: the data set cannot be read.
    """
    questions = add_gold_texts(path, list(read_questions(path)))
    if rename is None:
        return PlanBook(map(derive_plan, questions))
    renaming = build_renamer(open_corpus(path, None).records(CorpusReading()), rename)
    return PlanBook(derive_plan(renaming.question(question)) for question in questions)
