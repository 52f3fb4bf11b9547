"""Candidate answers: every span of the evidence that the question does not hold already."""

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from hopgraph.tools.models.offline.chain import Evidence
from hopgraph.tools.models.offline.dates import when
from hopgraph.tools.models.offline.features import Features, score, sentence_features, span_features
from hopgraph.tools.models.offline.lexicon import countries, in_class
from hopgraph.tools.models.offline.spans import Span
from hopgraph.tools.models.offline.statements import Statement
from hopgraph.tools.models.offline.terms import key, terms

_NAMES = ("name", "quoted", "country")


@dataclass(frozen=True)
class Candidate:
    """A possible answer in one statement."""

    text: str
    at: int
    """The statement's place in the evidence."""
    features: Features
    score: float


def _grown(evidence: Evidence, statement: Statement) -> list[Span]:
    """Return names grown to the asked-for noun ("Acme trading company") and, for a plural, to "A and B"."""
    noun, kind = evidence.question.noun, evidence.question.kind
    found = [span for span in statement.spans if span.kind in ("name", "country")]
    grown: list[Span] = []
    for span in found if noun and kind in ("group", "thing") else ():
        after = statement.text[span.end : span.end + 60]
        match = re.match(rf"(?: [a-z-]{{1,20}}){{0,2}} {re.escape(noun)}\b", after)
        if match and not any(in_class(word, "stop") for word in match[0].split()):
            grown.append(Span(span.text + match[0], span.start, "name"))
    if noun.endswith("s"):
        for one, two in pairwise(found):
            if statement.text[one.end : two.start] in (" and ", ", and "):
                grown.append(Span(statement.text[one.start : two.end], one.start, "name"))
    return grown


def _possible(evidence: Evidence, statement: Statement) -> list[Span]:
    """Return the spans that the kind of question allows, and the statement's title."""
    kind = evidence.question.kind
    found = [*statement.spans, *_grown(evidence, statement)]
    if kind in ("date", "number"):
        found = [span for span in found if span.kind != "phrase"]
    elif kind != "thing":
        found = [span for span in found if span.kind in _NAMES]
    if statement.title:
        found.append(Span(statement.name, -1, "country" if statement.name.lower() in countries() else "name"))
    return found


def _asked_already(evidence: Evidence, span: Span) -> bool:
    """Say whether the question itself holds the span, or all words of it."""
    name = key(span.text)
    if not name or f" {name} " in evidence.question.flat:
        return True
    return span.kind != "number" and terms(name) <= evidence.question.terms


def _said(evidence: Evidence, span: Span) -> str:
    """Return a span as an answer: of a date only the year when a year is asked for."""
    day = when(span.text) if span.kind == "date" and evidence.question.noun == "year" else None
    return str(day[0]) if day else span.text


def candidates(evidence: Evidence) -> list[Candidate]:
    """Return the candidate answers, best first, ties in the order of the statements; empty without any."""
    spans = [(at, span) for at, s in enumerate(evidence.statements) for span in _possible(evidence, s)]
    counts = Counter(key(span.text) for _, span in spans)
    shared = [sentence_features(evidence, at) for at in range(len(evidence.statements))]
    found: list[Candidate] = []
    for at, span in spans:
        if not _asked_already(evidence, span):
            features = {**shared[at], **span_features(evidence, at, span, counts[key(span.text)])}
            found.append(Candidate(_said(evidence, span), at, features, score(features)))
    return sorted(found, key=lambda candidate: -candidate.score)
