"""Candidate answers: every span of the evidence that the question does not hold already, and how well it fits."""

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise

from hopgraph.tools.models.offline.chain import Evidence
from hopgraph.tools.models.offline.lexicon import class_words, countries, country_parts, in_class
from hopgraph.tools.models.offline.question import Question
from hopgraph.tools.models.offline.spans import Span, life, life_event, when
from hopgraph.tools.models.offline.statements import Statement
from hopgraph.tools.models.offline.terms import WORD, key, term, terms

FITS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "person": (frozenset({"person", "agent"}), frozenset({"words", "name"})),
    "place": (frozenset({"place", "country"}), frozenset({"name", "words"})),
    "country": (frozenset({"country"}), frozenset({"place"})),
    "date": (frozenset({"date"}), frozenset()),
    "number": (frozenset({"number"}), frozenset()),
    "work": (frozenset({"quoted"}), frozenset({"name", "words"})),
    "group": (frozenset({"organisation"}), frozenset({"name", "words", "agent"})),
}
"""For each kind of answer the shapes that fit, and those that may; a kind that is not here takes every shape."""

_AFTER_PREPOSITION = re.compile(r"\b(?:in|at|near|from)\s(?:the\s)?$")
_INNER_WORD = re.compile(r"\b(?:of|the)\b")


def shape(span: Span, statement: Statement) -> str:
    """Return what a span looks like: person, place, country, organisation, quoted, date, number, phrase.

    `agent` follows "by", `words` is two or three capitalised words that nothing else is known of, `name` any
    other name. A negative start marks the statement's own title.
    """
    words = key(span.text).split()
    if span.kind != "name" or not words:
        return span.kind
    before = statement.text[max(0, span.start - 12) : max(0, span.start)].lower()
    if before.endswith(" by "):
        return "agent"
    if in_class(words[-1], "organisation", "group") or in_class(words[0], "organisation"):
        return "organisation"
    if ", " in span.text or span.text.lower() in country_parts() or in_class(words[-1], "place_name", "place"):
        return "place"
    if (span.start < 0 and life(statement.text)) or words[0] in class_words("given"):
        return "person"
    if words[0] in ("lake", "mount") or _AFTER_PREPOSITION.search(before):
        return "place"
    plain = 2 <= len(words) <= 3 and not _INNER_WORD.search(span.text)
    return "words" if plain and not in_class(words[-1], "person") else "name"


Features = dict[str, float]
_NONE: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())


@lru_cache(maxsize=1)
def fitted() -> Features:
    """Return the fitted weight of each feature; a feature without one weighs nothing."""
    text = files("hopgraph.tools.models.offline").joinpath("weights.txt").read_text(encoding="utf-8")
    rows = (line.rpartition(" ") for line in text.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, _, value in rows}


def score(features: Features) -> float:
    """Return the weighted sum of the features."""
    weights = fitted()
    return sum(weights.get(name, 0.0) * value for name, value in features.items())


def sentence_features(evidence: Evidence, at: int) -> Features:
    """Return what all spans of a statement share: how its chain starts, links and goes on."""
    chain, statement = evidence.chains[at], evidence.statements[at]
    onward = (evidence.onward(at, name) for name in evidence.mentions[at])
    return {
        "first anchor": evidence.anchors.get(evidence.statements[chain[0]].key, 0.0),
        "linked by relation": float(evidence.related(chain)),
        "onward": max(onward, default=0.0),
        "asked noun in sentence": float(bool(evidence.question.rest & statement.terms)),
    }


def span_features(evidence: Evidence, at: int, span: Span, often: int) -> Features:
    """Return how a span itself fits: its looks, its place, its neighbours, and the question's terms around it."""
    question, statement = evidence.question, evidence.statements[at]
    inside = terms(span.text)
    words = key(span.text).split()
    looks = shape(span, statement)
    if looks in ("name", "words", "agent", "quoted"):
        looks = evidence.types.get(key(span.text), looks)
    fits, may = FITS.get(question.kind, _NONE)
    carried, own = evidence.carried(at) - inside, evidence.own[at] - inside
    named = "phrase in question" if looks == "phrase" else "in question"
    return {
        f"{question.kind}>{looks}": 1.0,
        "fits": float(looks in fits),
        "clashes": float(bool(fits) and looks not in fits and looks not in may),
        "title": float(span.start < 0),
        "chain cover": evidence.cover(carried),
        "chain open cover": evidence.cover(carried & evidence.open),
        "own open cover": evidence.cover(own & evidence.open),
        named: evidence.cover(inside & question.terms),
        "phrase from a verb": float(looks == "phrase" and words[0].endswith(("ed", "ing"))),
        "asked noun inside": float(question.kind not in ("person", "work") and term(words[-1]) in question.rest),
        "place in sentence": min(max(span.start, 0), 300) / 300,
        "often": min(often, 5) / 5,
        "words": min(len(words), 8) / 8,
        **_neighbours(question, statement, span, looks),
        **_life(question, statement, span, looks),
    }


def _neighbours(question: Question, statement: Statement, span: Span, looks: str) -> Features:
    """Return what stands right before and after a span; nothing for the title."""
    if span.start < 0:
        return {}
    before = WORD.findall(statement.text[max(0, span.start - 40) : span.start])
    lead = next(filter(None, (term(word) for word in reversed(before))), "")
    near = terms(statement.text[max(0, span.start - 25) : span.start])
    after = WORD.findall(statement.text[span.end : span.end + 40])[:2]
    if question.kind == "person":
        near |= terms(" ".join(after))
    return {
        "same lead": float(lead != "" and lead == question.lead),
        "relation beside": float(bool(near & question.relations)),
        "counts the noun": float(looks == "number" and any(term(word) in question.rest for word in after)),
    }


def _life(question: Question, statement: Statement, span: Span, looks: str) -> Features:
    """Return how a date or place agrees with a question about birth or death."""
    if looks not in ("date", "place", "name", "country") or span.start < 0:
        return {}
    told = life_event(statement.text, span.start)
    asked = question.terms & {"born", "died"}
    what = "date" if looks == "date" else "place"
    if asked and (told or looks == "date"):
        return {f"{what} of life fits" if told in asked else f"{what} of life differs": 1.0}
    return {f"{what} of life unasked": 1.0} if told else {}


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
