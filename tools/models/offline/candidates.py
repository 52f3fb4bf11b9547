"""Statements as a graph, and candidate answers in it: spans that the question does not hold, and how well each fits."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from hopgraph.tools.models.offline.question import Question
from hopgraph.tools.models.offline.statements import Span, Statement, date_key
from hopgraph.tools.models.offline.terms import (
    WORD,
    class_words,
    countries,
    country_parts,
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
        return self._carried(self.chains[at])

    def _carried(self, chain: tuple[int, ...]) -> frozenset[str]:
        return frozenset[str]().union(*(self.own[link] for link in chain))

    @cached_property
    def keys(self) -> list[str]:
        """The names that the statements are about, each once."""
        return list(dict.fromkeys(s.key for s in self.statements if len(s.key) > 2))

    @cached_property
    def openings(self) -> dict[str, int]:
        """The index of the first statement about each name."""
        return {s.key: at for at, s in reversed(list(enumerate(self.statements)))}

    @cached_property
    def anchors(self) -> dict[str, float]:
        """How far each name stands in the question: 1 word for word, else the share of its words."""
        found: dict[str, float] = {}
        for name in self.keys:
            inside = terms(name)
            whole = f" {name} " in self.question.flat
            found[name] = 1.0 if whole else len(inside & self.question.terms) / len(inside) if inside else 0.0
        return found

    @cached_property
    def chains(self) -> list[tuple[int, ...]]:
        """The best chain that ends in each statement: it alone, or after one that mentions the name it is about.

        A name that stands in the question is no link.
        """
        free = [name for name in self.keys if f" {name} " not in self.question.flat]
        mentioned_by = {
            name: [at for at, s in enumerate(self.statements) if s.key != name and f" {name} " in s.flat]
            for name in free
        }
        return [
            max([(at,), *((before, at) for before in mentioned_by.get(s.key, ()))], key=self._value)
            for at, s in enumerate(self.statements)
        ]

    def _value(self, chain: tuple[int, ...]) -> float:
        anchor = self.anchors.get(self.statements[chain[0]].key, 0.0)
        return self.cover(self._carried(chain)) + 0.15 * anchor - 0.03 * len(chain)

    def linked_by_relation(self, chain: tuple[int, ...]) -> bool:
        """Whether the link's name follows one of the question's terms ("directed by …"); false for a single link."""
        if len(chain) == 1:
            return False
        text, name = self.statements[chain[0]].flat, f" {self.statements[chain[1]].key} "
        before = text[: max(0, text.find(name))][-30:]
        return not terms(before).isdisjoint(self.question.terms)

    @cached_property
    def kinds(self) -> dict[str, str]:
        """What each name is, where a statement says it ("… is a town")."""
        return {s.key: s.kind for s in reversed(self.statements) if s.kind}

    @cached_property
    def open(self) -> frozenset[str]:
        """The question's terms outside the titles that stand in it: what it asks about them."""
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

_WEIGHTS = {
    "fits": 1.52,
    "clashes": -1.49,
    "first anchor": 1.55,
    "linked by relation": 1.40,
    "event": 0.84,
    "asked noun in sentence": 1.40,
    "asked noun inside": 1.34,
    "chain cover": 1.83,
    "chain open cover": 1.43,
    "own open cover": 1.31,
    "relation beside": 1.50,
    "same lead": 1.35,
    "opening": 0.45,
}
"""The weight of each feature of a candidate: listwise logistic regression with an L2 penalty, fitted on the first
half of the training samples of HotpotQA, 2WikiMultihopQA and MuSiQue."""

_EVENT = re.compile(r"\b(?:born|died)\b")
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


def _features(graph: EvidenceGraph, at: int, span: Span, looks: str) -> dict[str, float]:
    """Return how a span fits: its looks, its place, its neighbours, and the question's terms around it."""
    question, statement, chain = graph.question, graph.statements[at], graph.chains[at]
    inside = terms(span.text)
    fitting, possible = _FITTING.get(question.kind, (set[str](), set[str]()))
    carried, own = graph.carried(at) - inside, graph.own[at] - inside
    noun = term(question.noun)
    start = max(0, span.start)
    before = WORD.findall(statement.plain[max(0, start - 40) : start])
    lead = next(filter(None, (term(word) for word in reversed(before))), "")
    told = _EVENT.findall(statement.plain[max(0, start - 60) : start])[-1:]
    near = terms(statement.plain[max(0, start - 25) : start])
    if question.kind in ("person", "number"):
        near |= terms(" ".join(WORD.findall(statement.plain[span.end : span.end + 40])[:2]))
    return {
        "fits": float(looks in fitting),
        "clashes": float(bool(fitting) and looks not in fitting | possible),
        "first anchor": graph.anchors.get(graph.statements[chain[0]].key, 0.0),
        "linked by relation": float(graph.linked_by_relation(chain)),
        "event": float(told[0] in question.terms) if told else 0.0,
        "asked noun in sentence": float(noun in statement.terms),
        "asked noun inside": float(question.kind not in ("person", "work") and noun in inside),
        "chain cover": graph.cover(carried),
        "chain open cover": graph.cover(carried & graph.open),
        "own open cover": graph.cover(own & graph.open),
        "relation beside": float(span.start >= 0 and bool(near & (question.relations | {noun}))),
        "same lead": float(span.start >= 0 and lead != "" and lead == question.lead),
        "opening": float(at == graph.openings[statement.key]),
    }


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
            features = _features(graph, at, span, _looks(graph, statement, span))
            score = sum(_WEIGHTS[name] * value for name, value in features.items())
            day = date_key(span.text) if span.kind == "date" and graph.question.noun == "year" else None
            found.append(Candidate(str(day[0]) if day else span.text, at, not features["clashes"], score))
    return sorted(found, key=lambda candidate: -candidate.score)
