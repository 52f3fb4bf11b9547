"""Statements as a graph, and candidate answers in it: spans that the question does not hold, and how well each fits."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from hopgraph.tools.models.offline.question import Question
from hopgraph.tools.models.offline.statements import (
    WORD,
    Span,
    Statement,
    class_words,
    countries,
    country_parts,
    date_key,
    in_class,
    key,
    term,
    terms,
    weigh,
)


@dataclass
class EvidenceGraph:
    """A question and its statements; a link is a name that one statement mentions and another one is about."""

    question: Question
    statements: Sequence[Statement]

    @cached_property
    def weights(self) -> dict[str, float]:
        """The weight of each of the question's terms; they add up to 1."""
        return weigh(self.question.text, [statement.terms for statement in self.statements])

    def cover(self, found: frozenset[str]) -> float:
        """Return the share of the question's term weight that these terms carry, from 0 to 1."""
        return sum(weight for stem, weight in self.weights.items() if stem in found)

    @cached_property
    def own(self) -> list[frozenset[str]]:
        """The question's terms that each statement carries."""
        asked = frozenset(self.weights)
        return [statement.terms & asked for statement in self.statements]

    def carried(self, at: int) -> frozenset[str]:
        """Return the question's terms along the best chain that ends in a statement."""
        return frozenset[str]().union(*(self.own[link] for link in self.chains[at]))

    @cached_property
    def anchors(self) -> dict[str, float]:
        """How well each name that a statement is about matches the question: 1 if verbatim, else by its words."""
        found: dict[str, float] = {}
        for name in dict.fromkeys(s.key for s in self.statements if len(s.key) > 2):
            inside = terms(name)
            whole = f" {name} " in self.question.flat
            found[name] = 1.0 if whole else len(inside & self.question.terms) / len(inside) if inside else 0.0
        return found

    @cached_property
    def chains(self) -> list[tuple[int, ...]]:
        """The best chain that ends in each statement: it alone, or after one that mentions the name it is about.

        A name that stands in the question is no link.
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
        return self.cover(carried) + 0.15 * anchor - 0.03 * len(chain)

    @cached_property
    def kinds(self) -> dict[str, str]:
        """What each name is, where a statement says it ("… is a town")."""
        return {s.key: s.kind for s in reversed(self.statements) if s.kind}

    @cached_property
    def open(self) -> frozenset[str]:
        """The question's terms outside the titles it contains: what it asks about them."""
        named = (terms(name) for name, anchor in self.anchors.items() if anchor == 1.0)
        return frozenset(self.weights) - frozenset[str]().union(*named)


_FITTING: dict[str, tuple[set[str], set[str]]] = {
    "person": ({"person"}, {"name"}),
    "place": ({"place"}, {"country", "name", "person"}),
    "country": ({"country"}, set()),
    "date": ({"date"}, set()),
    "number": ({"number"}, set()),
    "work": ({"quoted", "work"}, {"name", "person"}),
    "group": ({"group"}, {"name", "person"}),
}
"""For each kind of answer the shapes that fit, and those that may; a kind that is not here takes every shape."""
_AFTER_PREPOSITION = re.compile(r"\b(?:in|at|near|from)\s(?:the\s)?$", re.IGNORECASE)


@dataclass(frozen=True)
class Candidate:
    """A possible answer in one statement."""

    text: str
    at: int
    """The statement's index in the evidence."""
    fits: bool
    """It may be the asked-for kind of answer."""
    score: float


def _looks(graph: EvidenceGraph, statement: Statement, span: Span) -> str:
    """Return what a span looks like: person, place, country, group, quoted, date, number, or any name."""
    if span.text.lower() in countries() and graph.question.kind == "country":
        return "country"
    if span.kind == "quoted":
        return graph.kinds.get(key(span.text), "quoted")
    if span.kind != "name":
        return span.kind
    words = key(span.text).split()
    is_given = words[0] in class_words("given")
    if in_class(words[-1], "organisation", "group"):
        return "group"
    if ", " in span.text or span.text.lower() in country_parts() or in_class(words[-1], "place_name", "place"):
        return "place"
    if not is_given and _AFTER_PREPOSITION.search(statement.plain[max(0, span.start - 12) : max(0, span.start)]):
        return "place"
    return graph.kinds.get(key(span.text), "person" if is_given or 2 <= len(words) <= 3 else "name")


def _score(graph: EvidenceGraph, at: int, span: Span, looks: str) -> tuple[bool, float]:
    """Return whether a span may be the asked-for kind of answer, and its score.

    Its looks, the chain that leads to it and the question's terms around it are weighed as a listwise logistic
    regression did on the first halves of the training samples of HotpotQA, 2WikiMultihopQA and MuSiQue.
    """
    question, statement, inside = graph.question, graph.statements[at], terms(span.text)
    fitting, possible = _FITTING.get(question.kind, ({looks}, set[str]()))
    fits = looks in fitting | possible
    carried, own = graph.carried(at) - inside, graph.own[at] - inside
    noun, start = term(question.noun), max(0, span.start)
    near = terms(statement.plain[max(0, start - 25) : start])
    if question.kind in ("person", "number"):
        near |= terms(" ".join(WORD.findall(statement.plain[span.end : span.end + 40])[:2]))
    by_looks = 0.0 if question.kind not in _FITTING else 1.52 if looks in fitting else 0.0 if fits else -1.49
    in_chain = 1.55 * graph.anchors.get(graph.statements[graph.chains[at][0]].key, 0.0)
    around = 1.40 * (noun in statement.terms) + 1.50 * (span.start >= 0 and bool(near & (question.relations | {noun})))
    cover = (
        1.83 * graph.cover(carried) + 1.43 * graph.cover(carried & graph.open) + 1.31 * graph.cover(own & graph.open)
    )
    return fits, by_looks + in_chain + around + cover


def _spans(graph: EvidenceGraph, statement: Statement) -> list[Span]:
    """Return the spans that the kind of question allows, and the statement's title."""
    kind = graph.question.kind
    found = list(statement.spans)
    if kind != "thing":
        wanted = ("date", "number") if kind in ("date", "number") else ("name", "quoted", "country")
        found = [span for span in found if span.kind in wanted]
    if statement.title:
        found.append(Span(statement.name, -1, "name"))
    return found


def candidates(graph: EvidenceGraph) -> list[Candidate]:
    """Return the candidate answers, best first, ties in the order of the statements; empty without any."""
    found: list[Candidate] = []
    for at, statement in enumerate(graph.statements):
        for span in _spans(graph, statement):
            if not key(span.text) or f" {key(span.text)} " in graph.question.flat:
                continue
            fits, score = _score(graph, at, span, _looks(graph, statement, span))
            day = date_key(span.text) if span.kind == "date" and graph.question.noun == "year" else None
            found.append(Candidate(str(day[0]) if day else span.text, at, fits, score))
    return sorted(found, key=lambda candidate: -candidate.score)
