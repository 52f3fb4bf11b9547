"""Statements as a graph, and the candidate answers in it: spans that the question does not hold, and how each fits."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log

from hopgraph.tools.models.offline.question import Question
from hopgraph.tools.models.offline.statements import ParsedStatement, Span, date_key, term, terms
from hopgraph.tools.models.players.wording import WORD, key
from hopgraph.tools.text.common_words import COMMON_WORDS

_COMMON = frozenset(COMMON_WORDS.split())
_IN = re.compile(r"\b(?:in|at|near|from)\s(?:the\s)?$", re.IGNORECASE)
_PRONOUN = re.compile(r"(?:He|She|It|They|His|Her|Its|Their|The)\b")
_FITTING = {
    "person": ({"person"}, {"name"}),
    "place": ({"place"}, {"name", "person"}),
    "date": ({"date"}, set[str]()),
    "number": ({"number"}, set[str]()),
}
"""For each kind of answer the shapes that fit, and those that may; a kind that is not here takes every shape."""


@dataclass(frozen=True)
class Candidate:
    """A possible answer in one statement."""

    text: str
    at: int
    """The statement's index in the evidence."""
    fits: bool
    """True if it may be the kind of answer asked for."""
    score: float


@dataclass
class RankedSentences:
    """A question and its statements; a link is a name that one statement mentions and another one is about."""

    question: Question
    statements: Sequence[ParsedStatement]

    @cached_property
    def weights(self) -> dict[str, float]:
        """The weight of each of the question's terms, rare ones and names more; they add up to 1."""
        counts = Counter(found for statement in self.statements for found in statement.terms)
        weights: dict[str, float] = {}
        for position, word in enumerate(WORD.findall(self.question.text)):
            if stem := term(word):
                general = 0.4 if word.lower() in _COMMON else 1.0
                name = 1.5 if position and word[0].isupper() else 1.0
                rare = log(1 + (len(self.statements) + 1) / (counts[stem] + 0.5))
                weights[stem] = max(weights.get(stem, 0.0), general * name * rare)
        total = sum(weights.values())
        return {stem: weight / total for stem, weight in weights.items()}

    def cover(self, found: frozenset[str]) -> float:
        """Return the share of the question's term weight that these terms carry, from 0 to 1."""
        return sum(weight for stem, weight in self.weights.items() if stem in found)

    @cached_property
    def own(self) -> list[frozenset[str]]:
        """The question's terms that each statement carries."""
        return [statement.terms & frozenset(self.weights) for statement in self.statements]

    def carried(self, at: int) -> frozenset[str]:
        """Return the question's terms along the best chain that ends in a statement."""
        return frozenset[str]().union(*(self.own[link] for link in self.chains[at]))

    @cached_property
    def anchors(self) -> dict[str, float]:
        """Return how well each name in a statement matches the question: 1 if verbatim, else by its words."""
        found: dict[str, float] = {}
        for name in dict.fromkeys(s.key for s in self.statements if len(s.key) > 2):
            inside = terms(name)
            whole = f" {name} " in self.question.flat
            found[name] = 1.0 if whole else len(inside & self.question.terms) / len(inside) if inside else 0.0
        return found

    @cached_property
    def chains(self) -> list[tuple[int, ...]]:
        """The best chain that ends in each statement: it alone, or after one that mentions the name it is about.

        A name that occurs in the question is not a link.
        """
        mentioned_by = {
            name: [at for at, s in enumerate(self.statements) if s.key != name and f" {name} " in s.flat]
            for name in self.anchors
            if f" {name} " not in self.question.flat
        }
        return [
            max([(at,), *((before, at) for before in mentioned_by.get(s.key, ()))], key=self._value)
            for at, s in enumerate(self.statements)
        ]

    def _value(self, chain: tuple[int, ...]) -> float:
        anchor = self.anchors.get(self.statements[chain[0]].key, 0.0)
        carried = frozenset[str]().union(*(self.own[link] for link in chain))
        return self.cover(carried) + 0.15 * anchor - 0.03 * len(chain) + 0.1 * self._linked_by(chain)

    def _linked_by(self, chain: tuple[int, ...]) -> float:
        """Return the share of the open terms that stand next to the name by which a chain goes on."""
        if len(chain) == 1 or not self.open:
            return 0.0
        before, name = self.statements[chain[0]].flat, f" {self.statements[chain[1]].key} "
        at = before.find(name)
        near = before[max(0, at - 25) : at] + " " + before[at + len(name) : at + len(name) + 25]
        return self.cover(terms(near) & self.open) / self.cover(self.open)

    @cached_property
    def open(self) -> frozenset[str]:
        """The question's terms outside the titles it contains: what it asks about them."""
        named = (terms(name) for name, anchor in self.anchors.items() if anchor == 1.0)
        return frozenset(self.weights) - frozenset[str]().union(*named)

    @cached_property
    def _mentioned(self) -> frozenset[str]:
        """The names that some sentence has, so that a title is more than a heading; its first word alone is none."""
        spans = (span for statement in self.statements for span in statement.spans if span.kind == "name")
        return frozenset(key(span.text) for span in spans if span.start or " " in span.text)

    def candidates(self) -> list[Candidate]:
        """Return the candidate answers, best first, ties in the order of the statements; empty without any."""
        found: list[Candidate] = []
        kind = self.question.kind
        wanted = {"date": {"date"}, "number": {"number"}}.get(kind, {"name", "quoted"})
        for at, statement in enumerate(self.statements):
            spans = [span for span in statement.spans if kind == "thing" or span.kind in wanted]
            if kind == "date":
                spans += [s for s in statement.spans if s.kind == "number" and re.fullmatch(r"\d{3,4}", s.text)]
            if statement.key in self._mentioned and kind not in ("date", "number"):
                spans.append(Span(statement.name, -1, "name"))
            spans += self._kinds_of_noun(statement)
            for span in spans:
                opens = span.kind == "name" and not span.start and key(span.text) not in self._mentioned
                if opens or not key(span.text) or f" {key(span.text)} " in self.question.flat:
                    continue
                fits, score = self._score(at, span)
                day = date_key(span.text) if span.kind == "date" and self.question.noun == "year" else None
                found.append(Candidate(str(day[0]) if day and day[0] else _with_unit(statement, span), at, fits, score))
        return sorted(found, key=lambda candidate: -candidate.score)

    def _kinds_of_noun(self, statement: ParsedStatement) -> list[Span]:
        """Return the phrases that end in the noun asked for, such as "platform team" for "which team"."""
        noun = self.question.noun
        if self.question.kind != "thing" or not noun:
            return []
        phrase = rf"\b(?:[Tt]he|[Aa]n?) ((?:[\w-]{{1,30}} ){{1,2}}{re.escape(noun)})\b"
        return [Span(found[1], found.start(1), "kind") for found in re.finditer(phrase, statement.plain)]

    def _looks(self, statement: ParsedStatement, span: Span) -> str:
        """Return what a span looks like: person, place, quoted, date, number or any name."""
        words = span.text.split()
        if span.kind != "name":
            return span.kind
        if ", " in span.text or _IN.search(statement.plain[max(0, span.start - 12) : max(0, span.start)]):
            return "place"
        return "person" if 2 <= len(words) <= 3 and words[0] != "The" else "name"

    def _score(self, at: int, span: Span) -> tuple[bool, float]:
        """Return whether a span may be the asked-for kind of answer, and its score.

        Its looks, the chain that leads to it and the question's terms around it are weighed as a listwise logistic
        regression did on the first halves of the training samples of HotpotQA, 2WikiMultihopQA and MuSiQue.
        """
        question, statement, inside = self.question, self.statements[at], terms(span.text)
        looks = self._looks(statement, span)
        fitting, possible = _FITTING.get(question.kind, ({looks}, set[str]()))
        fits = looks in fitting | possible
        carried, own = self.carried(at) - inside, self.own[at] - inside
        start, noun = max(0, span.start), term(question.noun)
        near = terms(span.label or statement.plain[max(0, start - 25) : start])
        if question.kind in ("person", "number") and not span.label:
            near |= terms(" ".join(WORD.findall(statement.plain[start + len(span.text) :][:40])[:2]))
        by_looks = 0.0 if question.kind not in _FITTING else 1.52 if looks in fitting else 0.0 if fits else -1.49
        in_chain = 1.55 * self.anchors.get(self.statements[self.chains[at][0]].key, 0.0)
        told = near & (self.open | {noun}) if span.start >= 0 else frozenset[str]()
        around = 1.40 * bool(noun and noun in statement.terms) + 1.50 * bool(told)
        cover = 1.83 * self.cover(carried) + 1.43 * self.cover(carried & self.open) + 1.31 * self.cover(own & self.open)
        return fits, by_looks + in_chain + around + cover + 2.0 * self._linked_by(self.chains[at])


def _with_unit(statement: ParsedStatement, span: Span) -> str:
    """Return the text of a span; a number in a table gets the currency that its row has in another cell."""
    units = [cell for cell in statement.cells.values() if re.fullmatch(r"[A-Z]{3}|[$£€%]", cell)]
    return f"{span.text} {units[0]}" if span.kind == "number" and span.label and len(units) == 1 else span.text
