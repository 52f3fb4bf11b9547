"""Candidate answers in the evidence and how well each fits: the offline model's reading."""

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from hopgraph.tools.models.offline.chain import Evidence
from hopgraph.tools.models.offline.lexicon import class_words, countries, country_names, country_parts, in_class
from hopgraph.tools.models.offline.question import Question
from hopgraph.tools.models.offline.spans import Span, life, life_date
from hopgraph.tools.models.offline.statements import Statement
from hopgraph.tools.models.offline.terms import WORD, key, term, terms

_YEARS = ("born", "died")


@dataclass(frozen=True)
class Candidate:
    """A possible answer in one statement."""

    text: str
    key: str
    at: int
    """The statement's place in the evidence."""
    features: dict[str, float]


_FITS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "person": (frozenset({"person", "agent"}), frozenset({"words", "name"})),
    "place": (frozenset({"place", "country"}), frozenset({"name", "words"})),
    "country": (frozenset({"country"}), frozenset({"place"})),
    "date": (frozenset({"date"}), frozenset()),
    "number": (frozenset({"number"}), frozenset()),
    "work": (frozenset({"quoted"}), frozenset({"name", "words"})),
    "group": (frozenset({"organisation"}), frozenset({"name", "words", "agent"})),
}
"""For each kind of answer the shapes that fit and those that may."""


def shape(span: Span, statement: Statement) -> str:
    """Return what a span looks like: person, place, country, organisation, quoted, date, number, phrase.

    `agent` follows "by", `words` is two or three capitalised words that nothing else is known of, `name` any other name.
    """
    words = [word.lower() for word in key(span.text).split()]
    if span.kind != "name" or not words:
        return span.kind
    before = statement.text[max(0, span.start - 12) : max(0, span.start)].lower()
    if before.endswith(" by "):
        return "agent"
    if in_class(words[-1], "organisation", "group") or in_class(words[0], "organisation"):
        return "organisation"
    if ", " in span.text or span.text.lower() in country_parts() or in_class(words[-1], "place_name", "place"):
        return "place"
    if span.start < 0 and life(statement.text) or words[0] in class_words("given"):
        return "person"
    if words[0] in ("lake", "mount") or re.search(r"\b(?:in|at|near|from)\s(?:the\s)?$", before):
        return "place"
    plain = 2 <= len(words) <= 3 and not re.search(r"\b(?:of|the)\b", span.text)
    return "words" if plain and not in_class(words[-1], "person") else "name"


def _last_term(text: str) -> str:
    """Return the last content term of a text; empty without one."""
    return next(filter(None, (term(word) for word in reversed(WORD.findall(text)))), "")


def _life_features(question: Question, statement: Statement, span: Span, looks: str) -> dict[str, float]:
    """Return how a date or place agrees with a question about birth or death."""
    if looks not in ("date", "place", "name", "country") or span.start < 0:
        return {}
    told = life_date(statement.text, span)
    asked = [name for name in _YEARS if name in question.terms]
    dated = "date" if looks == "date" else "place"
    if asked and (told or looks == "date"):
        return {f"{dated} of life fits" if told in asked else f"{dated} of life differs": 1.0}
    return {f"{dated} of life unasked": 1.0} if told else {}


def _features(evidence: Evidence, at: int, span: Span, counts: Counter[str]) -> dict[str, float]:
    question, statement = evidence.question, evidence.statements[at]
    carried = evidence.carried(at)
    chain = evidence.chains[at]
    inside = terms(span.text)
    words = key(span.text).split()
    before = statement.text[max(0, span.start - 40) : span.start]
    near = terms(before[-25:]) | terms(statement.text[span.end : span.end + 25])
    is_title = span.start < 0
    looks = shape(span, statement)
    looks = evidence.types.get(key(span.text), looks) if looks in ("name", "words", "agent", "quoted") else looks
    fits, may = _FITS.get(question.kind, (frozenset[str](), frozenset[str]()))
    after = [term(word) for word in WORD.findall(statement.text[span.end : span.end + 40])[:2]] if not is_title else []
    features = {
        f"{question.kind}>{looks}": 1.0,
        "fits": float(looks in fits),
        "clashes": float(bool(fits) and looks not in fits and looks not in may),
        "title": float(is_title),
        "counts the noun": float(looks == "number" and bool(question.rest.intersection(after))),
        "onward": max(
            (evidence.onward(at, name) for name in evidence.mentions[at] if name != key(span.text)), default=0.0
        ),
        "told elsewhere": evidence.onward(at, key(span.text)),
        "own cover": evidence.cover(evidence.own[at] - inside),
        "chain cover": evidence.cover(carried - inside),
        "own open cover": evidence.cover((evidence.own[at] - inside) & evidence.open),
        "chain open cover": evidence.cover((carried - inside) & evidence.open),
        "same lead": float(question.lead != "" and question.lead == _last_term(before)),
        "anchor": evidence.anchors.get(statement.key, 0.0),
        "first anchor": evidence.anchors.get(evidence.statements[chain[0]].key, 0.0),
        "hops too few": float(max(0, question.hops - len(chain))),
        "hops too many": float(max(0, len(chain) - question.hops)),
        "linked by relation": float(evidence.related(chain)),
        "phrase in question" if looks == "phrase" else "in question": evidence.cover(inside & question.terms),
        "phrase from a verb": float(looks == "phrase" and bool(words) and words[0].endswith(("ed", "ing"))),
        "asked noun inside": float(bool(words) and question.kind not in ("person", "work") and term(words[-1]) in question.rest),
        "asked noun near": float(bool(question.rest & near)),
        "asked noun in sentence": float(bool(question.rest & statement.terms)),
        "relation before": float(bool(terms(before[-25:]) & question.relations)),
        "relation after": float(bool(terms(statement.text[span.end : span.end + 20]) & question.relations)),
        "near cover": evidence.cover(near & question.terms),
        "place in sentence": min(max(span.start, 0), 300) / 300,
        "often": min(counts[key(span.text)], 5) / 5,
        "words": min(len(words), 8) / 8,
    }
    features.update(_life_features(question, statement, span, looks))
    if question.words and {"mother", "grandmother"} & set(question.words):
        features["mother after and"] = float(before.rstrip().endswith(" and"))
    if question.kind == "country" and span.kind == "country":
        features["country itself"] = float(span.text.lower() in country_names())
    return features


def _longer(evidence: Evidence, statement: Statement) -> list[Span]:
    """Return names grown to the asked-for noun ("Bonanno crime family") and, for a plural, to "A and B"."""
    noun, found = evidence.question.noun, [span for span in statement.spans if span.kind in ("name", "country")]
    grown: list[Span] = []
    for span in found if noun and evidence.question.kind in ("group", "thing") else ():
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
    kind = evidence.question.kind
    found = [*statement.spans, *_longer(evidence, statement)]
    if kind != "thing":
        found = [span for span in found if span.kind != "phrase"]
    if kind in ("person", "place", "work", "group", "country"):
        found = [span for span in found if span.kind in ("name", "quoted", "country")]
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
        known = f" {name} " in evidence.question.flat or (
            span.kind != "number" and terms(name) <= evidence.question.terms
        )
        if name and not known:
            found.append(Candidate(span.text, name, at, _features(evidence, at, span, counts)))
    return found
