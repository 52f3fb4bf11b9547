"""How questions are answered, hop by hop, according to the gold annotations; found by what a prompt asks."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from hopgraph.tools.models.offline.terms import WORD, key, term

_PLACE = re.compile(r"#(\d{1,2})")
_SIGNS = re.compile(r"(?<![\s?.!])[\s?.!]*+\Z")


@lru_cache(maxsize=100_000)
def word_key(text: str) -> str:
    """Return a text as lower-case words, each between spaces, so that whole words are compared."""
    return f" {key(text)} "


def contains_words(text: str, part: str) -> bool:
    """Whether a text has the words of another, in sequence; a part without words is in no text."""
    return bool(word_key(part).strip()) and word_key(part) in word_key(text)


def is_among(text: str, others: Iterable[str]) -> bool:
    """Whether a text is one of others, but for case and punctuation."""
    return any(word_key(text) == word_key(each) for each in others)


def without_mark(question: str) -> str:
    """Return a question without its question mark."""
    return _SIGNS.sub("", question)


@dataclass(frozen=True)
class GoldPassage:
    """A passage that a hop needs."""

    title: str
    text: str
    """Empty where the data set names the passage without its text."""
    sentences: tuple[str, ...] = ()
    """Its supporting sentences, where they are annotated."""

    def is_shown_as(self, title: str, text: str) -> bool:
        """Whether a passage in a prompt is this one: whole, cut off at an end, or some of its sentences."""
        if word_key(title) != word_key(self.title):
            return False
        return not self.text or any(self._has_piece(piece) for piece in text.split("…"))

    def _has_piece(self, piece: str) -> bool:
        words = word_key(piece).split()
        inner = words[1:-1] if len(words) > 4 else words  # an end may be cut in a word
        return bool(inner) and f" {' '.join(inner)} " in word_key(self.text)


@dataclass(frozen=True)
class PlanHop:
    """One fact that has to be found."""

    number: int
    """From 1."""
    template: str
    """The question, with `#1` for the first hop's answer."""
    answers: tuple[str, ...]
    """The usual form first; empty where the data set has none."""
    passages: tuple[GoldPassage, ...]
    """Each of them has it; empty for a conclusion from other hops, and where the data set names none."""

    @property
    def answer(self) -> str:
        """The answer in its usual form."""
        return self.answers[0] if self.answers else ""

    @cached_property
    def needs(self) -> tuple[int, ...]:
        """The hops whose answers the question is built on."""
        return tuple(sorted({int(number) for number in _PLACE.findall(self.template)}))

    def filled_with(self, answers: Mapping[int, str]) -> str:
        """Return the question with answers in their places; a place without one stays."""
        return f"{without_mark(_PLACE.sub(lambda place: answers.get(int(place[1]), place[0]), self.template))}?"

    def is_answered_by(self, gold: GoldPassage, text: str) -> bool:
        """Whether the part of a gold passage that is shown has the answer."""
        if not any(contains_words(gold.text, each) for each in self.answers):
            return True
        return any(contains_words(text, each) for each in (*self.answers, *gold.sentences))


@dataclass(frozen=True)
class Plan:
    """A question with its hops."""

    id: str
    question: str
    answers: tuple[str, ...]
    """Empty for a question that cannot be answered."""
    hops: tuple[PlanHop, ...]

    @property
    def answer(self) -> str:
        """The answer in its usual form; empty for none."""
        return self.answers[0] if self.answers else ""

    @property
    def is_yes_no(self) -> bool:
        """Whether the answer is yes or no."""
        return self.answer.casefold() in {"yes", "no"}

    @cached_property
    def asked(self) -> tuple[PlanHop, ...]:
        """The hops that are looked up; the others follow from them."""
        return tuple(hop for hop in self.hops if hop.passages) or self.hops

    @property
    def last_decides(self) -> bool:
        """Whether the last hop's answer is the question's; if not, it follows from all of them."""
        return bool(self.hops) and is_among(self.hops[-1].answer, self.answers)

    @cached_property
    def gold_answers(self) -> dict[int, str]:
        """The right answer of each hop."""
        return {hop.number: hop.answer for hop in self.hops if hop.answer}

    def question_of(self, hop: PlanHop) -> str:
        """Return a hop's question with the right names."""
        return hop.filled_with(self.gold_answers)

    def self_contained(self, hop: PlanHop) -> str:
        """Return a hop's question with descriptions for the answers that it needs, so that it can be asked first."""
        needed = [self.hops[number - 1] for number in hop.needs if number < hop.number]
        return hop.filled_with({each.number: f"“{without_mark(self.self_contained(each))}”" for each in needed})


def wordings(*questions: str) -> list[str]:
    """List the ways in which questions are asked: as they are, then as search words, if those are more than a name."""
    ways: list[str] = []
    for question in dict.fromkeys(questions):
        words = [word for word in WORD.findall(question) if term(word)]
        ways += [question, " ".join(words)] if any(word[0].islower() for word in words) else [question]
    return ways


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
