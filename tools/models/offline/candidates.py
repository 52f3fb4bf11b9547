"""Candidate answers in the evidence and how well each fits: the offline model's reading."""

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from hopgraph.tools.models.offline.chain import Evidence
from hopgraph.tools.models.offline.lexicon import countries, country_names, country_parts, in_class
from hopgraph.tools.models.offline.spans import Span, life_date
from hopgraph.tools.models.offline.statements import Statement
from hopgraph.tools.models.offline.terms import key, term, terms

_YEARS = ("born", "died")


@dataclass(frozen=True)
class Candidate:
    """A possible answer in one statement."""

    text: str
    key: str
    at: int
    """The statement's place in the evidence."""
    features: dict[str, float]


def shape(span: Span, statement: Statement) -> str:
    """Return what a span looks like: person, place, country, organisation, name, date, number or phrase."""
    words = [word.lower() for word in key(span.text).split()]
    if span.kind != "name" or not words:
        return span.kind
    before = statement.text[max(0, span.start - 12) : span.start].lower()
    if in_class(words[-1], "organisation", "group") or in_class(words[0], "organisation"):
        return "organisation"
    if ", " in span.text or span.text.lower() in country_parts() or in_class(words[-1], "place_name", "place") or words[0] in ("lake", "mount"):
        return "place"
    if in_class(words[0], "given") or before.rstrip().endswith(" by") or in_class(words[0], "person"):
        return "person"
    if re.search(r"\b(?:in|at|near|from)\s(?:the\s)?$", before):
        return "place"
    return "person" if 2 <= len(words) <= 3 and not re.search(r"\b(?:of|the)\b", span.text) else "name"


def _features(evidence: Evidence, at: int, span: Span, counts: Counter[str]) -> dict[str, float]:
    question, statement = evidence.question, evidence.statements[at]
    carried = evidence.carried(at)
    chain = evidence.chains[at]
    inside = terms(span.text)
    words = key(span.text).split()
    before = statement.text[max(0, span.start - 40) : span.start]
    near = terms(before[-25:]) | terms(statement.text[span.end : span.end + 25])
    is_title = span.start < 0
    features = {
        f"{question.kind}>{'title ' if is_title else ''}{shape(span, statement)}": 1.0,
        "own cover": evidence.cover(evidence.own[at] - inside),
        "chain cover": evidence.cover(carried - inside),
        "anchor": evidence.anchors.get(statement.key, 0.0),
        "first anchor": evidence.anchors.get(evidence.statements[chain[0]].key, 0.0),
        "hops too few": float(max(0, question.hops - len(chain))),
        "hops too many": float(max(0, len(chain) - question.hops)),
        "linked by relation": float(evidence.related(chain)),
        "in question": evidence.cover(inside & question.terms),
        "asked noun inside": float(bool(words) and question.noun != "" and term(words[-1]) in question.rest),
        "asked noun near": float(bool(question.rest & near)),
        "asked noun in sentence": float(bool(question.rest & statement.terms)),
        "near cover": evidence.cover(near & question.terms),
        "place in sentence": min(max(span.start, 0), 300) / 300,
        "often": min(counts[key(span.text)], 5) / 5,
        "words": min(len(words), 8) / 8,
    }
    life = life_date(statement.text, span) if span.kind == "date" and not is_title else ""
    asked = [name for name in _YEARS if name in question.terms]
    if asked and span.kind == "date":
        features["life fits" if life in asked else "life differs"] = 1.0
    elif life:
        features["life unasked"] = 1.0
    if question.words and {"mother", "grandmother"} & set(question.words):
        features["mother after and"] = float(before.rstrip().endswith(" and"))
    if question.kind == "country" and span.kind == "country":
        features["country itself"] = float(span.text.lower() in country_names())
    return features


def _longer(evidence: Evidence, statement: Statement) -> list[Span]:
    """Return names grown to the asked-for noun ("Bonanno crime family") and, for a plural, to "A and B"."""
    noun, found = evidence.question.noun, [span for span in statement.spans if span.kind in ("name", "country")]
    grown: list[Span] = []
    for span in found if noun else ():
        after = statement.text[span.end : span.end + 60]
        if match := re.match(rf"(?: [a-z-]{{1,20}}){{0,2}} {re.escape(noun)}\b", after):
            grown.append(Span(span.text + match[0], span.start, "name"))
    if noun.endswith("s"):
        for one, two in pairwise(found):
            if statement.text[one.end : two.start] in (" and ", ", and "):
                grown.append(Span(statement.text[one.start : two.end], one.start, "name"))
    return grown


def _possible(evidence: Evidence, statement: Statement) -> list[Span]:
    kind = evidence.question.kind
    found = [*statement.spans, *_longer(evidence, statement)]
    if kind != "thing":
        found = [span for span in found if span.kind != "phrase"]
    if kind in ("person", "place", "named", "country"):
        found = [span for span in found if span.kind in ("name", "country")]
    if statement.title:
        found.append(Span(statement.name, -1, "country" if statement.name.lower() in countries() else "name"))
    return found


def candidates(evidence: Evidence) -> list[Candidate]:
    """Return every candidate answer with its features, in the order of the statements; names of the question left out."""
    found: list[Candidate] = []
    spans = [(at, span) for at, s in enumerate(evidence.statements) for span in _possible(evidence, s)]
    counts = Counter(key(span.text) for _, span in spans)
    for at, span in spans:
        name = key(span.text)
        if name and f" {name} " not in evidence.question.flat:
            found.append(Candidate(span.text, name, at, _features(evidence, at, span, counts)))
    return found
