"""Comparison rules: which came first, who is older, the same country, both of a kind."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hopgraph.tools.models.offline.chain import Evidence
from hopgraph.tools.models.offline.lexicon import class_words, in_class
from hopgraph.tools.models.offline.spans import country_mentions, life, life_event, when
from hopgraph.tools.models.offline.statements import Statement
from hopgraph.tools.models.offline.terms import key, term, terms

MAKERS = ("director", "composer", "performer", "writer", "producer", "founder", "designer", "sculptor", "painter")
_SAME = re.compile(r"\b(?:same|share|shared)\b (?:the )?(?:same )?(\w+)|\bcountry of origin\b")
_ORDER = frozenset({"before", "after", "than"})
_NOT = re.compile(r"\b(?:not|never|no longer|neither|nor|without)\b")
_OF = re.compile(r" \w+ of\b")
_MADE = re.compile(r"(?:the )?(\w+) of (?:the )?(?:film |song |book )?(.+)")
_PLACE = re.compile(
    r" (?:is|was) an? (?:[\w-]+ ){0,3}?(?:village|town|city|river|county|district|airport|hamlet|municipality)\b"
)
_DATES = {"born": "the date of birth", "died": "the date of death", "date": "the date"}
_ENOUGH_SHARED = 0.5
"""Share of what is said that the statements about a side must carry for a yes."""

_Fact = tuple[str, int]
"""A value and the number of the statement that tells it; days are written so that they sort as text."""


@dataclass(frozen=True)
class Verdict:
    """What a rule found: an answer with the statements it rests on, and what is missing.

    With something missing the answer is a guess from what is there ("no" when only one side is known) or empty.
    """

    answer: str = ""
    used: tuple[int, ...] = ()
    missing: str = ""


@dataclass(frozen=True)
class _Facts:
    """A fact looked up for each side: what was found, where, and what is missing."""

    names: list[str]
    """The sides as an answer names them: for the option "the director of X" the director."""
    found: list[str]
    used: tuple[int, ...]
    missing: str


def _about(evidence: Evidence, option: str) -> list[Statement]:
    """Return the statements about an option: those with its very title, else those whose title has its words."""
    wanted = key(option)
    words = set(wanted.split())
    tests: tuple[Callable[[Statement], bool], ...] = (
        lambda s: key(s.title) == wanted,
        lambda s: s.key == wanted,
        lambda s: bool(s.key) and words <= set(key(s.title).split()),
        lambda s: len(s.key) > 4 and set(s.key.split()) < words,
    )
    for test in tests if wanted else ():
        if found := [s for s in evidence.statements if test(s)]:
            return [s for s in found if s.title == found[0].title]
    return []


def sides(evidence: Evidence) -> list[str]:
    """Return the two things that the question compares: its options, else the titles and names that stand in it.

    In the question's order; fewer than two when it compares nothing.
    """
    question = evidence.question
    if question.options:
        return list(question.options)
    titles = {s.title: len(s.title) for s in evidence.statements if evidence.anchors.get(s.key) == 1.0}
    kept: list[str] = []
    for title in sorted(titles, key=lambda title: -titles[title]):
        if all(key(title) not in key(other) for other in kept):
            kept.append(title)
    rest = [name for name in question.names if all(key(name) not in key(k) and key(k) not in key(name) for k in kept)]
    return sorted([*kept, *rest], key=lambda name: question.flat.find(key(name)))[:2]


def _maker(about: Sequence[Statement], relation: str) -> _Fact | None:
    """Return the first name after a relation ("directed by …") and its statement."""
    for statement in about:
        for span in statement.spans:
            around = statement.text[max(0, span.start - 30) : span.start], statement.text[span.end : span.end + 20]
            if span.kind == "name" and relation in terms(" ".join(around)):
                return span.text, statement.number
    return None


def _asked_maker(evidence: Evidence, side: str) -> str:
    """Return the maker that the question names last before a side ("the director of X"), else of both; or empty."""
    flat = evidence.question.flat
    return ([*_makers(_OF.sub(" ", flat)), *_makers(flat.partition(key(side))[0])] or [""])[-1]


def _makers(text: str) -> list[str]:
    """Return the makers that a text names by a noun: "director", but not "directed"."""
    return [term(word) for word in text.split() if term(word) in MAKERS and in_class(word, "person")]


def _facts(evidence: Evidence, wanted: str, look_up: Callable[[Sequence[Statement]], _Fact | None]) -> _Facts:
    """Look a fact up for each side; for "the director of the film X" go on from the film to its director."""
    names: list[str] = []
    found: list[str] = []
    used: list[int] = []
    missing: list[str] = []
    for side in sides(evidence):
        made = _MADE.match(side)
        own = term(made[1]) if made and term(made[1]) in MAKERS else ""
        relation, name = own or _asked_maker(evidence, side), made[2] if made and own else side
        about = _about(evidence, name)
        if relation and not any(life(s.text) for s in about):
            maker = _maker(about, relation)
            if maker is None:
                missing.append(f"the {relation} of {name}")
                continue
            name, about = maker[0], _about(evidence, maker[0])
            used.append(maker[1])
        names.append(name if own else side)
        fact = look_up(about)
        if fact is None:
            missing.append(f"{wanted} of {about[0].name if about else name}")
        else:
            found.append(fact[0])
            used.append(fact[1])
    return _Facts(names, found, tuple(used), "; ".join(missing))


def _day(about: Sequence[Statement], wanted: str) -> _Fact | None:
    """Return the first date of the wanted kind (`born`, `died` or any `date`) and its statement."""
    for statement in about:
        for span in statement.spans:
            fits = wanted == "date" or life_event(statement.text, span.start) == wanted
            if span.kind == "date" and fits and (found := when(span.text)):
                return "{:04}-{:02}-{:02}".format(*found), statement.number
    return None


def _country(about: Sequence[Statement]) -> _Fact | None:
    """Return the country that the first telling statement names: for places the last one, else the first."""
    for statement in about:
        text = statement.text
        found = country_mentions(text)
        outside = [named for named in found if text.count("(", 0, named[0]) == text.count(")", 0, named[0])]
        if chosen := outside or found:
            return (chosen[-1] if _PLACE.search(text) else chosen[0])[1], statement.number
    return None


def wanted_fact(evidence: Evidence) -> str:
    """Return the fact that a comparison needs of each side, as "the date of birth"; empty where it compares none."""
    question = evidence.question
    if question.kind == "yes_no" and not _ORDER.intersection(question.words):
        same = _SAME.search(question.text.lower())
        noun = (same[1] or "country") if same else ""
        return "the country" if term(noun) == "nationality" else f"the {noun}" if noun else ""
    if not set(question.words) & (class_words("earliest") | class_words("latest")):
        return ""
    asked = question.terms
    lives = question.asking == "who" or bool(_makers(question.flat))
    lives = lives or any(life(s.text) for side in sides(evidence) for s in _about(evidence, side))
    aged = "born" in asked or (lives and asked & {"old", "young"})
    return _DATES["died" if "died" in asked else "born" if aged else "date"]


def choose(evidence: Evidence) -> Verdict:
    """Decide "A or B" by dates; empty when the question is about something else than time."""
    words = set(evidence.question.words)
    early, late = words & class_words("earliest"), words & class_words("latest")
    if not (early or late) or len(sides(evidence)) < 2:
        return Verdict()
    told = next((kind for kind, name in _DATES.items() if name == wanted_fact(evidence)), "date")
    facts = _facts(evidence, _DATES[told], lambda about: _day(about, told))
    if facts.missing:
        return Verdict(missing=facts.missing)
    one, two = facts.found
    second = two > one if late and not words & {"older", "oldest"} else two < one
    return Verdict(facts.names[int(second)], facts.used)


def judge(evidence: Evidence) -> Verdict:
    """Answer a yes/no question: one before the other, same country, both of a kind, or carried by the statements."""
    if _ORDER.intersection(evidence.question.words) and (order := choose(evidence)) != Verdict():
        return replace(order, answer=("yes" if order.answer == sides(evidence)[0] else "no") if order.answer else "")
    same = _SAME.search(evidence.question.text.lower())
    if not same or len(sides(evidence)) < 2:
        return _carried(evidence)
    wanted = wanted_fact(evidence)
    if wanted == "the country":
        facts = _facts(evidence, wanted, _country)
    else:
        noun = wanted.removeprefix("the ")
        facts = _facts(evidence, wanted, lambda about: _names_told(evidence, about, noun))
    if facts.missing:
        return Verdict("no" if facts.found else "", facts.used, facts.missing)
    one, two = (set(found.split("; ")) for found in facts.found)
    return Verdict("yes" if one & two else "no", facts.used)


def _names_told(evidence: Evidence, about: Sequence[Statement], noun: str) -> _Fact | None:
    """Return the names, joined by "; ", of the first statement with the asked relation; with the noun first."""
    relations = evidence.question.relations - {*MAKERS, term(noun)}
    for statement in about:
        names = [key(s.text) for s in statement.spans if s.kind in ("name", "country") and key(s.text) != statement.key]
        names = [name for name in names if noun in name.split()] or names
        if names and (not relations or relations & statement.terms):
            return "; ".join(names), statement.number
    return None


def _carried(evidence: Evidence) -> Verdict:
    """Say yes when what is said of each side is carried by the statements about it, and nothing is denied."""
    compared = sides(evidence)
    names = frozenset[str]().union(*(terms(name) for name in compared)) | {term("both")}
    said = frozenset(evidence.weights) - names
    used: list[Statement] = []
    shares: list[float] = []
    missing: list[str] = []
    for name in compared:
        about = _about(evidence, name)
        if not about:
            missing.append(f"facts about {name}")
            continue
        carried = frozenset[str]().union(*(s.terms for s in about))
        used.append(max(about, key=lambda s: (len(s.terms & said), -s.number)))
        shares.append(len(said & carried) / len(said) if said else 1.0)
    if missing or not compared:
        lacks = "; ".join(missing) or f"facts about {evidence.question.text}"
        return Verdict("no" if used else "", tuple(s.number for s in used), lacks)
    denied = any(_NOT.search(s.text) for s in used)
    yes = min(shares) >= _ENOUGH_SHARED and not denied
    return Verdict("yes" if yes else "no", tuple(s.number for s in used))
