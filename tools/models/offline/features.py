"""How well a span fits as the answer: the signals that the fitted weights add up."""

from functools import lru_cache
from importlib.resources import files

from hopgraph.tools.models.offline.chain import Evidence
from hopgraph.tools.models.offline.dates import life_event
from hopgraph.tools.models.offline.question import Question
from hopgraph.tools.models.offline.shapes import FITS, shape
from hopgraph.tools.models.offline.spans import Span
from hopgraph.tools.models.offline.statements import Statement
from hopgraph.tools.models.offline.terms import WORD, key, term, terms

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
