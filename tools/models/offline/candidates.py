"""Candidate answers: every span of the evidence that the question does not hold already, and how well it fits."""

import re
from dataclasses import dataclass

from hopgraph.tools.models.offline.evidence_graph import EvidenceGraph
from hopgraph.tools.models.offline.lexicon import class_words, countries, country_parts, in_class
from hopgraph.tools.models.offline.spans import Span, date_key
from hopgraph.tools.models.offline.statements import Statement
from hopgraph.tools.models.offline.terms import WORD, key, term, terms

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
    "title": -0.43,
    "phrase": -0.29,
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
    "words": 0.51,
}
"""The weight of each feature of a candidate: listwise logistic regression with an L2 penalty, fitted on the first
half of the training samples of HotpotQA, 2WikiMultihopQA and MuSiQue."""

_EVENT = re.compile(r"\b(?:born|died)\b")
_AFTER_PREPOSITION = re.compile(r"\b(?:in|at|near|from)\s(?:the\s)?$")


@dataclass(frozen=True)
class Candidate:
    """A possible answer in one statement."""

    text: str
    at: int
    """The statement's index in the evidence."""
    fits: bool
    """It may be the asked-for kind of answer."""
    score: float


def shape(span: Span, statement: Statement) -> str:
    """Return what a span looks like: person, place, country, group, quoted, date, number, phrase, or any name.

    A negative start marks the statement's own title.
    """
    words = key(span.text).split()
    if span.kind != "name" or not words:
        return span.kind
    before = statement.plain[max(0, span.start - 12) : max(0, span.start)].lower()
    if in_class(words[-1], "organisation", "group"):
        return "group"
    if ", " in span.text or span.text.lower() in country_parts() or in_class(words[-1], "place_name", "place"):
        return "place"
    if words[0] not in class_words("given") and _AFTER_PREPOSITION.search(before):
        return "place"
    inner = {"of", "the"}.intersection(words)
    return "person" if words[0] in class_words("given") or (2 <= len(words) <= 3 and not inner) else "name"


def _features(graph: EvidenceGraph, at: int, span: Span, looks: str) -> dict[str, float]:
    """Return how a span fits: its looks, its place, its neighbours, and the question's terms around it."""
    question, statement, chain = graph.question, graph.statements[at], graph.chains[at]
    inside = terms(span.text)
    words = key(span.text).split()
    fitting, possible = _FITTING.get(question.kind, (set[str](), set[str]()))
    carried, own = graph.carried(at) - inside, graph.own[at] - inside
    noun = term(question.noun)
    start = max(0, span.start)
    before = WORD.findall(statement.plain[max(0, start - 40) : start])
    lead = next(filter(None, (term(word) for word in reversed(before))), "")
    near = terms(statement.plain[max(0, start - 25) : start])
    if question.kind in ("person", "number"):
        near |= terms(" ".join(WORD.findall(statement.plain[span.end : span.end + 40])[:2]))
    return {
        "fits": float(looks in fitting),
        "clashes": float(bool(fitting) and looks not in fitting | possible),
        "title": float(span.start < 0),
        "phrase": float(looks == "phrase"),
        "first anchor": graph.anchors.get(graph.statements[chain[0]].key, 0.0),
        "linked by relation": float(graph.linked_by_relation(chain)),
        "event": _event(question.terms, statement.plain[max(0, span.start - 60) : max(0, span.start)]),
        "asked noun in sentence": float(noun in statement.terms),
        "asked noun inside": float(question.kind not in ("person", "work") and noun in inside),
        "chain cover": graph.cover(carried),
        "chain open cover": graph.cover(carried & graph.open),
        "own open cover": graph.cover(own & graph.open),
        "relation beside": float(span.start >= 0 and bool(near & (question.relations | {noun}))),
        "same lead": float(span.start >= 0 and lead != "" and lead == question.lead),
        "opening": float(statement.number == graph.openings[statement.key]),
        "words": min(len(words), 8) / 8,
    }


def _event(asked: frozenset[str], before: str) -> float:
    """Return 1 where the text before a span tells the asked-for event, birth or death; -1 for the other one."""
    told = _EVENT.findall(before)[-1:]
    return 0.0 if not told or asked.isdisjoint(("born", "died")) else 1.0 if told[0] in asked else -1.0


def _possible(graph: EvidenceGraph, statement: Statement) -> list[Span]:
    """Return the spans that the kind of question allows, and the statement's title."""
    kind = graph.question.kind
    found = list(statement.spans)
    if kind != "thing":
        wanted = ("date", "number") if kind in ("date", "number") else ("name", "quoted", "country")
        found = [span for span in found if span.kind in wanted]
    if statement.title:
        found.append(Span(statement.name, -1, "country" if statement.name.lower() in countries() else "name"))
    return found


def _is_in_question(graph: EvidenceGraph, span: Span) -> bool:
    """Whether the question itself holds the span, or all words of it."""
    name = key(span.text)
    if not name or f" {name} " in graph.question.flat:
        return True
    return span.kind != "number" and terms(name) <= graph.question.terms


def _candidate(graph: EvidenceGraph, at: int, span: Span) -> Candidate:
    looks = shape(span, graph.statements[at])
    if looks in ("name", "person", "quoted"):
        looks = graph.kinds.get(key(span.text), looks)
    if graph.question.kind == "country" and span.text.lower() in countries():
        looks = "country"
    features = _features(graph, at, span, looks)
    score = sum(_WEIGHTS[name] * value for name, value in features.items())
    day = date_key(span.text) if span.kind == "date" and graph.question.noun == "year" else None
    fits = not features["clashes"]
    return Candidate(str(day[0]) if day else span.text, at, fits, score)


def candidates(graph: EvidenceGraph) -> list[Candidate]:
    """Return the candidate answers, best first, ties in the order of the statements; empty without any."""
    found = [
        _candidate(graph, at, span)
        for at, statement in enumerate(graph.statements)
        for span in _possible(graph, statement)
        if not _is_in_question(graph, span)
    ]
    return sorted(found, key=lambda candidate: -candidate.score)
