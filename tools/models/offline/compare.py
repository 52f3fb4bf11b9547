"""Comparison rules: which came first, who is older, the same country, both of a kind."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hopgraph.tools.models.offline.chain import Evidence
from hopgraph.tools.models.offline.spans import Span, country_mentions, life, life_date, when
from hopgraph.tools.models.offline.statements import Statement
from hopgraph.tools.models.offline.terms import key, term, terms

_LAST = frozenset(["later", "latest", "last", "younger", "youngest", "recently", "newer", "newest"])
_FIRST = frozenset(["first", "earlier", "earliest", "before", "older", "oldest", "elder"])
_MAKERS = ("director", "composer", "performer", "writer", "producer", "founder")
_SAME = re.compile(r"\b(?:same|share|shared)\b.*\b(?:country|nationality|nation|state|city)\b|\bcountry of origin\b")
_NOT = re.compile(r"\b(?:not|never|no longer|neither|nor|without)\b")
_PLACE = re.compile(
    r" (?:is|was) an? (?:[\w-]+ ){0,3}?(?:village|town|city|river|county|district|airport|hamlet|municipality)\b"
)
Day = tuple[int, int, int]


@dataclass(frozen=True)
class Verdict:
    """What a rule found: an answer with the statements it rests on, and what is missing.

    With something missing the answer is a guess from what is there ("no" when only one side is known) or empty.
    """

    answer: str = ""
    used: tuple[int, ...] = ()
    missing: str = ""


@dataclass(frozen=True)
class _Side:
    """One side of a comparison: how the question names it, and the statements about it or about its maker."""

    name: str
    about: tuple[Statement, ...]
    missing: str
    path: tuple[int, ...] = ()


def _about(evidence: Evidence, option: str) -> tuple[Statement, ...]:
    """Return the statements about an option: those with its very title, else those whose title has its words."""
    wanted = key(option)
    exact = tuple(s for s in evidence.statements if wanted and wanted in (key(s.title), s.key))
    full = tuple(s for s in exact if key(s.title) == wanted)
    if exact:
        return full or exact
    words = set(wanted.split())
    near = [s for s in evidence.statements if words and s.key and words <= set(key(s.title).split())]
    near = near or [s for s in evidence.statements if len(s.key) > 4 and set(s.key.split()) < words]
    return tuple(s for s in near if s.title == near[0].title)


def sides(evidence: Evidence) -> list[str]:
    """Return the things that the question compares: its options, else the titles and names that stand in it."""
    question = evidence.question
    if question.options:
        return list(question.options)
    titles = [s.title for s in evidence.statements if evidence.anchors.get(s.key) == 1.0]
    found = sorted(dict.fromkeys(titles), key=lambda title: -len(title))
    kept: list[str] = []
    for title in found:
        if all(key(title) not in key(other) for other in kept):
            kept.append(title)
    rest = [name for name in question.names if all(name not in key(k) and key(k) not in name for k in kept)]
    return sorted([*kept, *rest], key=lambda name: question.flat.find(key(name)))[:2]


def _side(evidence: Evidence, option: str, wanted: str) -> _Side:
    """Resolve one side; for "the director of the film X" go on from the film to its director."""
    about = _about(evidence, option)
    maker = next((name for name in _MAKERS if name in evidence.question.terms), "")
    if not maker or any(s.key in evidence.question.flat and life(s.text) for s in about):
        return _Side(option, about, "" if about else f"{wanted} of {option}")
    best: tuple[int, Span, Statement] | None = None
    for statement in about:
        for span in statement.spans:
            before = terms(statement.text[max(0, span.start - 30) : span.start])
            if span.kind == "name" and maker in before and (best is None or len(span.text) > best[0]):
                best = best or (len(span.text), span, statement)
    if best is None:
        return _Side(option, (), f"the {maker} of {option}")
    person = _about(evidence, best[1].text)
    missing = "" if person else f"{wanted} of {best[1].text}"
    return _Side(option, person, missing, (best[2].number,))


def _day(side: _Side, wanted: str) -> tuple[Day, int] | None:
    """Return a side's date of the wanted kind (`born`, `died` or any) and its statement."""
    for statement in side.about:
        for span in statement.spans:
            fits = wanted == "date" or life_date(statement.text, span) == wanted
            if span.kind == "date" and fits and (found := when(span.text)):
                return found, statement.number
    return None


def country(statements: Sequence[Statement]) -> tuple[str, int] | None:
    """Return the country that the first telling statement names: for people the first one, for places the last."""
    for statement in statements:
        text = statement.text
        found = country_mentions(text)
        outside = [named for named in found if text.count("(", 0, named[0]) == text.count(")", 0, named[0])]
        if chosen := outside or found:
            return (chosen[-1] if _PLACE.search(text) else chosen[0])[1], statement.number
    return None


def _kind(evidence: Evidence) -> str:
    asked = evidence.question.terms
    if "died" in asked:
        return "died"
    return "born" if asked & {"born", "old", "young"} else "date"


_PHRASE = {"born": "the date of birth", "died": "the date of death", "date": "the date"}


def choose(evidence: Evidence) -> Verdict:
    """Decide "A or B" by dates; empty when the question is about something else than time."""
    words = set(evidence.question.words)
    if not words & (_LAST | _FIRST) or len(sides(evidence)) < 2:
        return Verdict()
    wanted = _kind(evidence)
    both = [_side(evidence, option, _PHRASE[wanted]) for option in sides(evidence)]
    found = [_day(side, wanted) for side in both]
    gaps = [
        side.missing or f"{_PHRASE[wanted]} of {side.about[0].name}"
        for side, day in zip(both, found, strict=True)
        if day is None
    ]
    if gaps:
        return Verdict(missing="; ".join(gaps))
    (one, first), (two, second) = (day for day in found if day)
    late = bool(words & _LAST) and not words & {"older", "oldest"}
    pick = both[int((two > one) == late)] if one != two else both[0]
    return Verdict(pick.name, (*both[0].path, first, *both[1].path, second))


def judge(evidence: Evidence) -> Verdict:
    """Answer a yes/no question: same country, both of a kind, or carried by the statements."""
    compared = sides(evidence)
    if _SAME.search(evidence.question.text.lower()) and len(compared) == 2:
        both = [_side(evidence, name, "the country") for name in compared]
        found = [country(side.about) for side in both]
        gaps = [
            side.missing or f"the country of {side.about[0].name}"
            for side, place in zip(both, found, strict=True)
            if place is None
        ]
        if gaps:
            known = tuple(place[1] for place in found if place)
            return Verdict("no" if known else "", known, "; ".join(gaps))
        (one, first), (two, second) = (place for place in found if place)
        return Verdict("yes" if one == two else "no", (*both[0].path, first, *both[1].path, second))
    return _carried(evidence, compared)


def _carried(evidence: Evidence, compared: list[str]) -> Verdict:
    """Say yes when what is said of each side is carried by the statements about it."""
    names = frozenset[str]().union(*(terms(name) for name in compared)) | {term("both")}
    said = [stem for stem in evidence.weights if stem not in names]
    used: list[int] = []
    shares: list[float] = []
    for name in compared:
        about = _about(evidence, name)
        if not about:
            return Verdict("no" if used else "", tuple(used), f"facts about {name}")
        best = max(about, key=lambda s: (len(s.terms & set(said)), -s.number))
        carried = frozenset[str]().union(*(s.terms for s in about))
        used.append(best.number)
        shares.append(sum(stem in carried for stem in said) / len(said) if said else 1.0)
    if not shares:
        return Verdict(missing="facts about the question")
    denied = any(_NOT.search(s.text) for s in evidence.statements if s.number in used)
    return Verdict("yes" if min(shares) >= 0.5 and not denied else "no", tuple(used))
