"""One prompt as the rehearsal model understands it: what is asked, what is shown, what is known by it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from hopgraph.tools.apps.evaluation.rehearsal.chance import Chance, unit
from hopgraph.tools.apps.evaluation.rehearsal.hop_matching import asking, quotes, said_in, says, sentence_for
from hopgraph.tools.apps.evaluation.rehearsal.plan_book import Book, Target
from hopgraph.tools.apps.evaluation.rehearsal.question_plan import PlanHop, holds, keyed, wordings
from hopgraph.tools.apps.evaluation.rehearsal.rehearsal_options import RehearsalOptions
from hopgraph.tools.models.offline.prompt_blocks import Passage, Prompt

_LISTS = ("history", "sub_answers", "thoughts", "information", "assertions")


class Found(NamedTuple):
    """A hop's answer, read somewhere in the prompt."""

    hop: PlanHop
    answer: str
    """As it is said there; right in a passage, maybe wrong in a history."""
    statement: str
    """The sentence that says so, standing alone."""


@dataclass
class Case:
    """A prompt with everything that a reply is made of."""

    prompt: Prompt
    book: Book
    options: RehearsalOptions
    chance: Chance

    @cached_property
    def target(self) -> Target | None:
        """What the question is; None when no plan knows it."""
        return self.book.find(self.prompt.question)

    @property
    def hops(self) -> tuple[PlanHop, ...]:
        """The hops that the answer needs; none for an unknown question."""
        return self.target.hops if self.target else ()

    def found_in(self, passage: Passage) -> list[Found]:
        """List what a passage that is shown tells of the hops that are needed."""
        found: list[Found] = []
        for hop in self.hops:
            gold = next((each for each in hop.passages if each.is_shown_as(passage.title, passage.text)), None)
            if gold and hop.carried_by(gold, passage.text):
                found.append(Found(hop, hop.answer, sentence_for(hop, gold, passage)))
        return found or self._found_without_gold(passage)

    def _found_without_gold(self, passage: Passage) -> list[Found]:
        """Read what was recalled, and any passage for a question whose data set names no passages: by its answer."""
        recalled = self.found_in_text(passage.text)
        if recalled or self.target is None or any(hop.passages for hop in self.target.plan.hops):
            return recalled
        hop = self.hops[-1]
        told = not self.target.plan.is_yes_no and any(holds(passage.text, each) for each in hop.answers)
        return [Found(hop, hop.answer, sentence_for(hop, None, passage))] if told else []

    def found_in_text(self, text: str) -> list[Found]:
        """List what a text tells of the hops: by asking and answering, or with a sentence of a gold passage.

        A hop that is asked about but has no answer there is not found.
        """
        found: list[Found] = []
        for line in text.splitlines():
            for hop in self.hops:
                said = self._said_of(hop, line)
                found += [Found(hop, said, line.strip())] if said else []
        return found

    def _said_of(self, hop: PlanHop, line: str) -> str:
        for asked in self._ways_to_ask(hop, self._names):
            if found := asking(asked).search(line):
                return said_in(found)
        return hop.answer if any(quotes(line, gold, hop) for gold in hop.passages) else ""

    def _ways_to_ask(self, hop: PlanHop, names: Mapping[int, str]) -> list[str]:
        """List how a hop may have been asked: with the right names, with those given before, or by descriptions."""
        if self.target is None:
            return []
        plan = self.target.plan
        filled = (hop.asked_with(plan.gold_answers()), hop.asked_with(names), plan.standing_alone(hop))
        return [wording for asked in dict.fromkeys(filled) for wording in wordings(asked)]

    @cached_property
    def _names(self) -> dict[int, str]:
        """Return what was answered to each hop, right or wrong, as the lists of the prompt tell in their order."""
        names: dict[int, str] = {}
        for _, line in (item for name in _LISTS for item in self.prompt.items(name)):
            for hop in self.hops:
                ways = self._ways_to_ask(hop, names)
                found = next((match for asked in ways if (match := asking(asked).search(line))), None)
                if found and (said := said_in(found)):
                    names.setdefault(hop.number, said)
        return names

    @cached_property
    def by_passage(self) -> dict[int, list[Found]]:
        """What each passage shown tells, by its number; passages that tell nothing are left out."""
        return {each.number: found for each in self.prompt.passages if (found := self.found_in(each))}

    def by_item(self, name: str) -> dict[int, list[Found]]:
        """What each text of a list tells, by its number; those that tell nothing are left out."""
        return {number: found for number, text in self.prompt.items(name) if (found := self.found_in_text(text))}

    def known(self, *lists: str) -> dict[int, str]:
        """Return the answer of each hop that can be read from the passages, else from these lists of the prompt.

        What follows from other hops is known when they are.
        """
        sources = [*self.by_passage.values(), *(found for name in lists for found in self.by_item(name).values())]
        known: dict[int, str] = {}
        for each in (each for found in sources for each in found):
            known.setdefault(each.hop.number, each.answer)
        return self._concluded(known)

    def remembered(self) -> dict[int, str]:
        """Return the answer of each hop that the model knows from memory; another seed knows others.

        Nothing where names were renamed: what it knows it knows of the old ones.
        """
        if self.options.rename is not None:
            return {}
        known = {hop.number: hop.answer for hop in self.hops if self._remembers(hop)}
        return self._concluded(known) if known else known

    def _remembers(self, hop: PlanHop) -> bool:
        plan = self.target.plan.id if self.target else ""
        return bool(hop.answer) and unit(self.options.seed, "knows", plan, hop.number) < self.options.knowledge

    def _concluded(self, known: Mapping[int, str]) -> dict[int, str]:
        if self.target is None or not any(hop.passages for hop in self.target.plan.hops):
            return dict(known)
        every = dict(known)
        for hop in (hop for hop in self.hops if not hop.passages):
            needs = hop.needs or tuple(other.number for other in self.hops if other.number < hop.number)
            if all(number in every for number in needs):
                every.setdefault(hop.number, hop.answer)
        return every

    def errs(self, decision: str, number: int = 0) -> bool:
        """Tell whether a decision is wrong."""
        return self.chance.errs(decision, number)

    def is_enough(self, known: Mapping[int, str]) -> bool:
        """Judge whether what is known answers the question."""
        true = self.target is not None and bool(self.target.answers) and all(hop.number in known for hop in self.hops)
        return true != self._is_misled("enough")

    def _is_misled(self, decision: str) -> bool:
        """Tell whether a judgement of all that is shown is wrong: by itself, or because some passage misleads."""
        idle = sum(each.number not in self.by_passage for each in self.prompt.passages)
        right = (1.0 - self.options.error) * (1.0 - self.options.distraction) ** idle
        return self.chance.happens(1.0 - right, decision)

    def conclude(self, known: Mapping[int, str]) -> str:
        """Give the answer that follows from what is known; made up where it does not, and in an error."""
        target = self.target
        complete = target is not None and all(hop.number in known for hop in target.hops)
        if target is None or not complete or not target.answers or self._is_misled("answer"):
            return self.made_up("answer")
        if target.hop is not None:
            return known[target.hop.number]
        if all(says(known[hop.number], hop.answers) for hop in target.hops):
            return target.plan.answer
        return known[target.hops[-1].number] if target.plan.last_decides else self.made_up("answer")

    def made_up(self, choice: str) -> str:
        """Take a wrong answer from elsewhere."""
        return self.book.another_answer(self.target, self.chance, choice)

    def open_questions(self, known: Mapping[int, str], asked: Iterable[str] = ()) -> list[str]:
        """Ask for each hop that is not known and can be asked now, in words in which it was not asked before.

        In an error a question is about something else. An unknown question is asked again in other words.
        """
        before = tuple(keyed(text) for text in asked)
        wanted = list(_to_ask(self.target, known)) if self.target else [self.prompt.question]
        found = [_new(wordings(text), before) for text in wanted]
        return [
            self.book.another_question(self.target, self.chance, f"query:{number}")
            if self.errs("query", number)
            else text
            for number, text in enumerate(found)
            if text
        ]

    def asked_of(self, hop: PlanHop) -> str:
        """Write a hop's question with the right names."""
        return hop.asked_with(self.target.plan.gold_answers() if self.target else {})

    def statements(self, known: Mapping[int, str]) -> list[str]:
        """Write what is known as sentences that stand alone, in the order of the hops."""
        names = {number: answer for number, answer in known.items() if answer}
        return [
            f"{hop.asked_with(names).rstrip('?')}: {known[hop.number]}."
            for hop in self.hops
            if known.get(hop.number) and hop.passages
        ]


def _to_ask(target: Target, known: Mapping[int, str]) -> Iterable[str]:
    """Write the open hops of a question as questions; a part of a question with the right names."""
    if target.hop is not None:
        return [target.hop.asked_with(target.plan.gold_answers())] if target.hop.number not in known else []
    ready = (hop for hop in target.plan.asked if all(number in known for number in hop.needs))
    return [hop.asked_with(known) for hop in ready if hop.number not in known]


def _new(ways: Iterable[str], before: tuple[str, ...]) -> str:
    """Choose the first way to ask that begins none of the texts before; empty without one."""
    return next((each for each in ways if not any(text.startswith(keyed(each)) for text in before)), "")
