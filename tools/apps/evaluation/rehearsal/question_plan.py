"""How a question is answered, hop by hop, as the gold annotations tell it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from hopgraph.tools.models.offline.terms import WORD, key, term

_PLACE = re.compile(r"#(\d{1,2})")
_SIGNS = re.compile(r"[\s?.!]*\Z")


@lru_cache(maxsize=100_000)
def keyed(text: str) -> str:
    """Return a text as lower-case words, each between spaces, so that whole words are compared."""
    return f" {key(text)} "


def holds(text: str, part: str) -> bool:
    """Tell whether a text has the words of another, one after the other; no text holds a part without words."""
    return bool(keyed(part).strip()) and keyed(part) in keyed(text)


def bare(question: str) -> str:
    """Take the question mark off."""
    return _SIGNS.sub("", question)


@dataclass(frozen=True)
class GoldPassage:
    """A passage that a hop needs."""

    title: str
    text: str
    """Empty where the data set names the passage without its text."""
    sentences: tuple[str, ...] = ()
    """Its supporting sentences, where they are told."""

    def is_shown_as(self, title: str, text: str) -> bool:
        """Tell whether a passage in a prompt is this one: whole, cut off at an end, or some of its sentences."""
        if keyed(title) != keyed(self.title):
            return False
        return not self.text or any(self._has_piece(piece) for piece in text.split("…"))

    def _has_piece(self, piece: str) -> bool:
        words = keyed(piece).split()
        inner = words[1:-1] if len(words) > 4 else words  # an end may be cut in a word
        return bool(inner) and f" {' '.join(inner)} " in keyed(self.text)


@dataclass(frozen=True)
class PlanHop:
    """One fact that has to be found."""

    number: int
    """From 1."""
    template: str
    """The question, with `#1` for the first hop's answer."""
    answers: tuple[str, ...]
    """The usual form first; empty where the data set does not tell."""
    passages: tuple[GoldPassage, ...]
    """Each of them tells it; empty for a conclusion from other hops, and where the data set names none."""

    @property
    def answer(self) -> str:
        """The answer in its usual form."""
        return self.answers[0] if self.answers else ""

    @cached_property
    def needs(self) -> tuple[int, ...]:
        """The hops whose answers the question is built on."""
        return tuple(sorted({int(number) for number in _PLACE.findall(self.template)}))

    def asked_with(self, answers: Mapping[int, str]) -> str:
        """Put answers into the question; a place without one stays."""
        return f"{bare(_PLACE.sub(lambda place: answers.get(int(place[1]), place[0]), self.template))}?"

    def carried_by(self, gold: GoldPassage, text: str) -> bool:
        """Tell whether the part of its passage that is shown tells the answer."""
        if not any(holds(gold.text, each) for each in self.answers):
            return True
        return any(holds(text, each) for each in (*self.answers, *gold.sentences))


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
        return any(keyed(each) == keyed(self.hops[-1].answer) for each in self.answers)

    def standing_alone(self, hop: PlanHop) -> str:
        """Write a hop's question so that it can be asked before the others are answered: by descriptions."""
        described = {
            number: f"“{bare(self.standing_alone(self.hops[number - 1]))}”"
            for number in hop.needs
            if number < hop.number
        }
        return hop.asked_with(described)

    def gold_answers(self) -> dict[int, str]:
        """Return the right answer of each hop."""
        return {hop.number: hop.answer for hop in self.hops if hop.answer}


def in_other_words(question: str) -> str:
    """Write a question as search words: what is left without function words."""
    return " ".join(word for word in WORD.findall(question) if term(word))


def wordings(question: str) -> Sequence[str]:
    """List the ways in which a question is asked, one after the other; search words are more than a name."""
    words = in_other_words(question)
    return (question, words) if any(word[0].islower() for word in words.split()) else (question,)
