"""Break a question down by its grammar, and find its answer in statements, or by comparing two such answers."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp

from hopgraph.tools.models.offline.candidates import EvidenceGraph, candidates
from hopgraph.tools.models.offline.question import read_question
from hopgraph.tools.models.offline.statements import (
    Statement,
    class_words,
    countries,
    date_key,
    in_class,
    key,
    names,
    relations,
    term,
    terms,
)

_MAKERS = ("director", "composer", "performer", "writer", "producer", "founder", "designer", "sculptor", "painter")
_DESCRIBED = re.compile(r"\b(?:the (?:[\w-]{1,30} ){0,2}?)?(?P<noun>[a-z-]{3,30}) of ")
_OWNED = re.compile(r"['\u2019]s ((?:[a-z-]{3,20} ){0,2}?([a-z-]{3,20}))\b")
_ASIDE = re.compile(r" \([^()\n]{1,60}\)")
_SAME = re.compile(r"\b(?:same|share|shared)\b (?:the )?(?:same )?(\w+)|\bcountry of origin\b")
_WHAT_IS = re.compile(r"^(?:who|what|which) (?:is|are|was|were) ", re.IGNORECASE)
"""What a question that asks for a description begins with."""
_ORDER = frozenset({"before", "after", "than"})
_MAX_CHARACTERS = 1_000
_NOT = re.compile(r"\b(?:not|never|no longer|neither|nor|without)\b")
_MIN_SURE = 1.2
"""From this sum of cover and probability on, about three of four answers were right in the tuning halves."""
_COMPARED = 0.9
"""The probability of a comparison's answer: its facts were found, their reading may be wrong."""
_MIN_SHARED = 0.5  # share of a claim of which the statements about its subject must carry more for a yes


def described(question: str) -> dict[str, str]:
    """Map what a question describes instead of naming, innermost first, to the question for who or what that is.

    As in "the mother of the author of X" and "X's father". At most the question's first thousand characters are read.
    """
    question = question[:_MAX_CHARACTERS]
    every = names(question)
    nouns: dict[str, str] = {}
    for match in reversed(list(_DESCRIBED.finditer(question))):
        named = next((span for span in every if span.start >= match.end()), None)
        noun = match["noun"]
        leads_on = noun in relations() or in_class(noun, "person", "work", "group")
        if named and leads_on and term(noun) not in ("born", "died", "nationality"):
            aside = _ASIDE.match(question, named.end)
            end = aside.end() if aside else named.end
            if _WHAT_IS.match(question):
                end = len(question.rstrip(" ?.!"))
            nouns[question[match.start() : end]] = noun
    for span in every:
        owned = _OWNED.match(question, span.end)
        if owned and in_class(owned[2], "person"):
            nouns[question[span.start : owned.end()]] = owned[2]
    rest = _WHAT_IS.sub("", question)
    return {
        text: f"{'Who' if in_class(noun, 'person') else 'What'} is {text}?"
        for text, noun in nouns.items()
        if not rest.startswith(text)
    }


def _compared_sides(graph: EvidenceGraph) -> list[str]:
    """Return the two things that the question compares: its options, else the titles and names it contains.

    In the question's order; fewer than two when it compares nothing.
    """
    question = graph.question
    if question.options:
        return list(question.options)
    titles = {s.title for s in graph.statements if graph.anchors.get(s.key) == 1.0}
    kept: list[str] = []
    for name in [*sorted(titles, key=lambda title: (-len(title), title)), *question.names]:
        if all(key(name) not in key(other) and key(other) not in key(name) for other in kept):
            kept.append(name)
    return sorted(kept, key=lambda name: question.flat.find(key(name)))[:2]


def _compared_fact(graph: EvidenceGraph, of_persons: bool) -> str:
    """Return the fact that a comparison needs of each side, as "the date of birth"; empty where it compares none."""
    question = graph.question
    words = set(question.words)
    if question.kind == "yes_no" and not _ORDER & words:
        same = _SAME.search(question.text.lower())
        noun = (same[1] or "country") if same else ""
        return "the country" if term(noun) == "nationality" else f"the {noun}" if noun else ""
    if not words & (class_words("earliest") | class_words("latest")):
        return ""
    if "died" in question.terms:
        return "the date of death"
    aged = "born" in question.terms or (of_persons and question.terms & {"old", "young"})
    return "the date of birth" if aged or question.asking == "who" else "the date"


def _comparison_parts(graph: EvidenceGraph) -> list[str]:
    """Return the two sub-questions whose answers decide a comparison; empty when the question compares nothing."""
    question, sides = graph.question, _compared_sides(graph)
    if len(sides) < 2 or not (question.options or question.kind == "yes_no"):
        return []
    maker = next((term(word) for word in question.words if term(word) in _MAKERS and in_class(word, "person")), "")
    are_persons = [graph.kinds.get(key(side)) == "person" for side in sides]
    fact = _compared_fact(graph, bool(maker) or any(are_persons))
    makes = [
        side if is_person or not maker or f"{maker} of" in side else f"the {maker} of {side}"
        for side, is_person in zip(sides, are_persons, strict=True)
    ]
    return [f"What is {fact} of {each}?" for each in makes] if fact else []


def sub_questions(question: str, in_order: bool = False) -> list[str]:
    """Break a question down into simpler ones, the simplest first; empty when its grammar offers none.

    In order, `#1` stands for the answer to the first, and the last asks what is left of the question, or of each side
    that it compares.
    """
    compared = _comparison_parts(EvidenceGraph(read_question(question), []))
    steps: dict[str, str] = {}  # what a step answers → the step

    def refer(text: str) -> str:
        for number, phrase in reversed([*enumerate(steps, start=1)]) if in_order else ():
            text = text.replace(phrase, f"#{number}")
        return text

    for part in compared or [question]:
        for phrase, asked in described(part).items():
            if phrase not in steps:
                steps[phrase] = refer(asked)
    steps |= {part: refer(part) for part in compared or [question]}
    if in_order:
        return [*steps.values()] if len(steps) > 1 else []
    return [step for step in dict.fromkeys(steps.values()) if key(step) != key(question)]


@dataclass(frozen=True)
class Finding:
    """An answer with how sure it is, what it rests on and what is missing."""

    text: str = ""
    """Empty when the evidence holds no candidate."""
    probability: float = 0.0
    used: tuple[int, ...] = ()
    """The numbers of the statements that it rests on, first link first."""
    missing: tuple[str, ...] = ()
    """The sub-questions of a comparison that have no answer yet; empty for other questions."""
    covered: float = 0.0
    """The share of the question's term weight that the chain carries, from 0 to 1."""
    complete: bool = False
    """The chain has as many links as the question seems to need, and the answer looks like the asked-for kind."""

    @property
    def enough(self) -> bool:
        """Whether the answer is sure: a whole chain whose cover and probability together reach a fitted sum."""
        return bool(self.text) and self.complete and not self.missing and self.covered + self.probability >= _MIN_SURE

    @property
    def missing_text(self) -> str:
        """What is missing, as in "the date of birth of X; the date of birth of Y"."""
        return "; ".join(_WHAT_IS.sub("", each).rstrip("?") for each in self.missing)


@dataclass(frozen=True)
class Reader:
    """Finds answers in numbered statements and among the answers to earlier questions."""

    statements: Sequence[Statement]
    known: Mapping[str, str] = field(default_factory=dict[str, str])
    """The answers by the keys of their questions; empty for a question that has none."""

    def graph(self, question: str) -> EvidenceGraph:
        """Return the statements as evidence for a question."""
        return EvidenceGraph(read_question(question), self.statements)

    def resolve(self, question: str) -> str:
        """Put the known answers in place of what the question describes; a comparison has each side's found itself."""
        if _comparison_parts(self.graph(question)):
            return question
        for _ in self.known:  # an answer may describe something itself, even what it answers
            known = ((phrase, self.known.get(key(asked), "")) for phrase, asked in described(question).items())
            phrase, answer = next((each for each in known if each[1]), ("", ""))
            if not answer:
                break
            question = question.replace(phrase, answer, 1)
        return question

    def find(self, question: str, yes_no: bool = False, one_text: bool = False) -> Finding:
        """Find the best answer: yes or no, whatever the question looks like, where `yes_no` says so.

        If the statements are `one_text`, all of them are one chain, which must hold every relation, and nothing is
        compared within it.
        """
        if answer := self.known.get(key(question)):
            return Finding(answer, 1.0, covered=1.0, complete=True)
        graph = self.graph(question)
        if not one_text and (parts := _comparison_parts(graph)):
            return self._compare(graph, parts)
        if yes_no or graph.question.kind == "yes_no":
            return _judge_claim(graph)
        return _best(graph, one_text)

    def _compare(self, graph: EvidenceGraph, parts: Sequence[str]) -> Finding:
        """Answer both parts, and compare the answers: which comes first, or whether they are equal."""
        facts = [self._find_part(part) for part in parts]
        used = tuple(dict.fromkeys(number for fact in facts for number in fact.used))
        yes_no, words = graph.question.kind == "yes_no", set(graph.question.words)
        if missing := tuple(each for fact in facts for each in fact.missing):
            return Finding("no" if yes_no and used else "", 0.0, used, missing, 1.0, True)
        if not yes_no or words & _ORDER:
            days = [date_key(fact.text) or (0, 0, 0) for fact in facts]
            second = days[1] > days[0] if words & class_words("latest") - {"older", "oldest"} else days[1] < days[0]
            text = ("no" if second else "yes") if yes_no else self._side(_compared_sides(graph)[second])
        else:
            one, two = (countries().get(fact.text.lower(), key(fact.text)) for fact in facts)
            text = "yes" if one == two else "no"
        return Finding(text, _COMPARED, used, (), 1.0, True)

    def _find_part(self, part: str) -> Finding:
        """Answer a part of a comparison by way of what it describes; only sure answers count."""
        used: tuple[int, ...] = ()
        asked = next(iter(described(part).items()), None)
        if asked and not self.known.get(key(part)):
            found = self._look_up(asked[1])
            if not found.text:
                return Finding(missing=(asked[1],))
            part, used = part.replace(asked[0], found.text, 1), found.used
        found = self._look_up(part)
        return Finding(found.text, used=(*used, *found.used)) if found.text else Finding(missing=(part,))

    def _look_up(self, question: str) -> Finding:
        """Answer a question about one name from the statements about it; empty where they do not say it."""
        anchors = self.graph(question).anchors
        name = max((name for name, anchor in anchors.items() if anchor == 1.0), key=len, default="")
        about = Reader([s for s in self.statements if s.key == name != ""], self.known)
        found = about.find(question, one_text=True)
        return found if found.complete else Finding()

    def _side(self, side: str) -> str:
        """Return a side as an answer names it: for "the director of X" the director."""
        return self._look_up(f"Who is {side}?").text if described(f"Is it {side}?") else side


def _judge_claim(graph: EvidenceGraph) -> Finding:
    """Say yes when the statements about the question's subject, or about both of two, carry what it says."""
    about = [(at, s) for at, s in enumerate(graph.statements) if graph.anchors.get(s.key) == 1.0]
    claim = graph.open
    if not about:
        return Finding(missing=(graph.question.text,))
    _, best = max(about, key=lambda row: (len(graph.own[row[0]] & claim), -row[0]))
    carried: dict[str, frozenset[str]] = {}
    for at, statement in about:
        subject = statement.key if "both" in graph.question.words else ""
        carried[subject] = carried.get(subject, frozenset()) | graph.own[at]
    whole = all(len(claim & each) > _MIN_SHARED * len(claim) for each in carried.values())
    yes = whole and not _NOT.search(best.text)
    return Finding("yes" if yes else "no", _COMPARED, (best.number,), (), 1.0, True)


def _best(graph: EvidenceGraph, one_text: bool) -> Finding:
    """Return the candidate with the highest score; its probability is its share of all of them.

    A chain that carries not one word of the names in the question is about something else and is left out.
    """
    whole = frozenset[str]().union(*graph.own)
    named = frozenset[str]().union(*(terms(name) for name in graph.question.names))
    every = candidates(graph)
    found = [one for one in every if not named or not named.isdisjoint(whole if one_text else graph.carried(one.at))]
    if not found:
        return Finding()
    best = found[0]
    weights = [exp(other.score - best.score) for other in found]
    same = sum(w for w, other in zip(weights, found, strict=True) if key(other.text) == key(best.text))
    chain = graph.chains[best.at]
    used = tuple(graph.statements[link].number for link in chain)
    carried = whole if one_text else graph.carried(best.at)
    asked = graph.question.relations
    long = asked <= carried if one_text else len(chain) >= min(2, graph.question.hops)
    return Finding(best.text, same / sum(weights), used, (), graph.cover(carried), long and best.fits)
