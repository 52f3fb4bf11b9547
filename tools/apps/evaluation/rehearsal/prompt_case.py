"""One prompt as the rehearsal model understands it: what is asked, what is shown, what is known by it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from hopgraph.tools.apps.evaluation.rehearsal.chance import Chance, draw
from hopgraph.tools.apps.evaluation.rehearsal.hop_matching import answer_after, is_right, quotes_evidence, sentence_for
from hopgraph.tools.apps.evaluation.rehearsal.plan_book import PlanBook, Target
from hopgraph.tools.apps.evaluation.rehearsal.question_plan import PlanHop, contains_words, word_key, wordings
from hopgraph.tools.apps.evaluation.rehearsal.rehearsal_options import RehearsalOptions
from hopgraph.tools.models.offline.prompt_blocks import Prompt, PromptPassage, unescape

_LISTS = ("history", "sub_answers", "thoughts", "information", "assertions")


class HopAnswer(NamedTuple):
    """A hop's answer, read somewhere in the prompt."""

    hop: PlanHop
    answer: str
    """As it is written there; right in a passage, maybe wrong in a history."""
    statement: str
    """A self-contained sentence that says so."""


@dataclass
class PromptCase:
    """A prompt with everything that a reply is made of."""

    prompt: Prompt
    book: PlanBook
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

    @cached_property
    def _has_gold(self) -> bool:
        """Whether the data set names passages for the question."""
        return self.target is not None and any(hop.passages for hop in self.target.plan.hops)

    def block(self, name: str) -> str:
        """Return a block of the prompt as plain text; empty when it is missing."""
        return unescape(self.prompt.blocks.get(name, ""))

    @cached_property
    def by_passage(self) -> dict[int, list[HopAnswer]]:
        """What each passage shown says, by its number; those that say nothing are left out."""
        return {each.number: found for each in self.prompt.passages if (found := self._found_in(each))}

    def by_item(self, name: str) -> dict[int, list[HopAnswer]]:
        """Return what each text of a list says, by its number; those that say nothing are left out."""
        return {number: found for number, text in self.prompt.items(name) if (found := self.found_in_text(text))}

    def _found_in(self, passage: PromptPassage) -> list[HopAnswer]:
        """Return what a passage says of the hops: a gold one what it is annotated with, another what it recalls.

        Where the data set names no passages, any that has the answer counts.
        """
        found: list[HopAnswer] = []
        for hop in self.hops:
            gold = next((each for each in hop.passages if each.is_shown_as(passage.title, passage.text)), None)
            if gold and hop.is_answered_by(gold, passage.text):
                found.append(HopAnswer(hop, hop.answer, sentence_for(hop, gold, passage)))
        found = found or self.found_in_text(passage.text)
        if found or self.target is None or self._has_gold or self.target.plan.is_yes_no:
            return found
        hop = self.hops[-1]
        has_answer = any(contains_words(passage.text, each) for each in hop.answers)
        return [HopAnswer(hop, hop.answer, sentence_for(hop, None, passage))] if has_answer else []

    def found_in_text(self, text: str) -> list[HopAnswer]:
        """Return what a text says of the hops: by question and answer, or with a sentence of a gold passage.

        A hop that is asked about but has no answer there is not found.
        """
        pairs = ((line, hop) for line in text.splitlines() for hop in self.hops)
        return [HopAnswer(hop, said, line.strip()) for line, hop in pairs if (said := self._answer_in(line, hop))]

    def _answer_in(self, line: str, hop: PlanHop) -> str:
        said = self._answer_to(hop, line, self._names)
        if said is not None:
            return said
        return hop.answer if any(quotes_evidence(line, gold, hop) for gold in hop.passages) else ""

    def _answer_to(self, hop: PlanHop, line: str, names: Mapping[int, str]) -> str | None:
        """Find a hop's question in a line: with the right names, with those given before, or with descriptions."""
        if self.target is None:
            return None
        plan = self.target.plan
        filled = (hop.filled_with(plan.gold_answers()), hop.filled_with(names), plan.self_contained(hop))
        ways = (wording for question in dict.fromkeys(filled) for wording in wordings(question))
        return next((said for wording in ways if (said := answer_after(wording, line)) is not None), None)

    @cached_property
    def _names(self) -> dict[int, str]:
        """What was answered to each hop, right or wrong, by the lists of the prompt in their order."""
        names: dict[int, str] = {}
        for _, line in (item for name in _LISTS for item in self.prompt.items(name)):
            for hop in self.hops:
                if said := self._answer_to(hop, line, names):
                    names.setdefault(hop.number, said)
        return names

    def known(self, *lists: str) -> dict[int, str]:
        """Return the answer of each hop that can be read from the passages, else from these lists of the prompt.

        What follows from other hops is known when they are.
        """
        sources = [*self.by_passage.values(), *(found for name in lists for found in self.by_item(name).values())]
        known: dict[int, str] = {}
        for each in (each for found in sources for each in found):
            known.setdefault(each.hop.number, each.answer)
        return self._with_conclusions(known)

    def remembered(self) -> dict[int, str]:
        """Return the answer of each hop that the model knows from memory; another seed knows others.

        Nothing where names were renamed: what it knows it knows of the old ones.
        """
        if self.options.rename is not None or self.target is None:
            return {}
        seed, plan, rate = self.options.seed, self.target.plan.id, self.options.knowledge
        known = {
            hop.number: hop.answer for hop in self.hops if hop.answer and draw(seed, "knows", plan, hop.number) < rate
        }
        return self._with_conclusions(known) if known else known

    def _with_conclusions(self, known: Mapping[int, str]) -> dict[int, str]:
        every = dict(known)
        for hop in (hop for hop in self.hops if self._has_gold and not hop.passages):
            needs = hop.needs or tuple(other.number for other in self.hops if other.number < hop.number)
            if all(number in every for number in needs):
                every.setdefault(hop.number, hop.answer)
        return every

    def errs(self, decision: str, number: int = 0) -> bool:
        """Whether a decision is wrong; `number` tells decisions of one kind apart."""
        return self.chance.happens(self.options.error, decision, number)

    def answers(self, known: Mapping[int, str]) -> bool:
        """Whether what is known answers the question."""
        return self.target is not None and bool(self.target.answers) and all(hop.number in known for hop in self.hops)

    def is_enough(self, known: Mapping[int, str]) -> bool:
        """Judge whether what is known answers the question."""
        return self.answers(known) != self._is_misled("enough")

    def _is_misled(self, decision: str) -> bool:
        """Whether a judgement of all that is shown is wrong: by itself, or because some passage misleads."""
        idle = sum(each.number not in self.by_passage for each in self.prompt.passages)
        right = (1.0 - self.options.error) * (1.0 - self.options.distraction) ** idle
        return self.chance.happens(1.0 - right, decision)

    def conclude(self, known: Mapping[int, str]) -> str:
        """Return the answer that follows from what is known; made up where it does not, and in an error."""
        target = self.target
        if target is None or not self.answers(known) or self._is_misled("answer"):
            return self.made_up("answer")
        if target.hop is not None:
            return known[target.hop.number]
        if all(is_right(known[hop.number], hop.answers) for hop in target.hops):
            return target.plan.answer
        return known[target.hops[-1].number] if target.plan.last_decides else self.made_up("answer")

    def made_up(self, choice: str) -> str:
        """Return a wrong answer, taken from elsewhere."""
        return self.book.wrong_answer(self.target, self.chance, choice)

    def or_wrong(self, question: str, number: int) -> str:
        """Return a question to ask, or in an error one about something else."""
        if self.errs("query", number):
            return self.book.wrong_question(self.target, self.chance, f"query:{number}")
        return question

    def open_questions(self, known: Mapping[int, str], asked: Iterable[str] = ()) -> list[str]:
        """Ask for each hop that is not known and can be asked now, in words in which it was not asked before.

        An unknown question is asked again in other words.
        """
        before = tuple(word_key(text) for text in asked)
        wanted = _questions_for(self.target, known) if self.target else [self.prompt.question]
        found = (_first_new(wordings(text), before) for text in wanted)
        return [self.or_wrong(text, number) for number, text in enumerate(found) if text]

    def next_question(self, known: Mapping[int, str], asked: Iterable[str] = ()) -> str:
        """Return the first of the open questions; empty for none."""
        return next(iter(self.open_questions(known, asked)), "")

    def question_of(self, hop: PlanHop) -> str:
        """Return a hop's question with the right names."""
        return hop.filled_with(self.target.plan.gold_answers() if self.target else {})

    def statements(self, known: Mapping[int, str]) -> list[str]:
        """Write what is known as self-contained sentences, in the order of the hops."""
        names = {number: answer for number, answer in known.items() if answer}
        return [
            f"{hop.filled_with(names).rstrip('?')}: {names[hop.number]}."
            for hop in self.hops
            if hop.number in names and hop.passages
        ]


def _questions_for(target: Target, known: Mapping[int, str]) -> list[str]:
    """Write the open hops of a question as questions; a part of a question with the right names."""
    if target.hop is not None:
        return [target.hop.filled_with(target.plan.gold_answers())] if target.hop.number not in known else []
    ready = (hop for hop in target.plan.asked if all(number in known for number in hop.needs))
    return [hop.filled_with(known) for hop in ready if hop.number not in known]


def _first_new(ways: Iterable[str], before: tuple[str, ...]) -> str:
    """Return the first way to ask that begins none of the texts before; empty without one."""
    return next((each for each in ways if not any(text.startswith(word_key(each)) for text in before)), "")
