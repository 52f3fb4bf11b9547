"""Break a question down by its grammar: what it describes instead of naming, and the two sides that it compares."""

import re

from hopgraph.tools.models.offline.evidence_graph import EvidenceGraph
from hopgraph.tools.models.offline.lexicon import class_words, in_class, relations
from hopgraph.tools.models.offline.question import read_question
from hopgraph.tools.models.offline.spans import names
from hopgraph.tools.models.offline.terms import WORD, key, term

_MAKERS = ("director", "composer", "performer", "writer", "producer", "founder", "designer", "sculptor", "painter")
_DESCRIBED = re.compile(
    r"\b(?P<the>the (?:[\w-]{1,30} ){0,2}?)?(?P<noun>[a-z-]{3,30}) (?P<link>of|that|who|which|whose|where) "
)
_OWNED = re.compile(r"['\u2019]s ((?:[a-z-]{3,20} ){0,2}?([a-z-]{3,20}))\b")
_ASIDE = re.compile(r" \([^()\n]{1,60}\)")
_SAME = re.compile(r"\b(?:same|share|shared)\b (?:the )?(?:same )?(\w+)|\bcountry of origin\b")
WHAT_IS = re.compile(r"^(?:who|what|which) (?:is|are|was|were) ", re.IGNORECASE)
"""What a question that asks for a description begins with."""
ORDER = frozenset({"before", "after", "than"})
_MAX_CHARACTERS = 1_000


def _is_described(noun: str, link: str, the: bool) -> bool:
    """Whether noun and link describe something that the question does not name."""
    if link == "of":
        fact = term(noun) in ("born", "died", "nationality")
        return not fact and (noun in relations() or in_class(noun, "person", "work", "group"))
    return the and not in_class(noun, "stop", "auxiliary", "date", "number")


def _clause_end(question: str, start: int) -> int:
    """Return where a clause ends: with the question, or in the subject of "was … born?" before its last word."""
    words = list(WORD.finditer(question))
    before = {word[0].lower() for word in words if word.end() <= start}
    subject = words[-1][0] in relations() and not before.isdisjoint(("was", "were", "did"))
    if subject and not in_class(words[-2][0].lower(), "auxiliary"):
        return words[-2].end()
    return len(question.rstrip(" ?.!"))


def described(question: str) -> dict[str, str]:
    """Map what a question describes instead of naming, innermost first, to the question for who or what that is.

    As in "the mother of the author of X", "the city where X lived" and "X's father". At most the question's
    first thousand characters are read.
    """
    question = question[:_MAX_CHARACTERS]
    every = names(question)
    ends: dict[int, int] = {}
    asked: dict[str, str] = {}
    for match in reversed(list(_DESCRIBED.finditer(question))):
        after = [span for span in every if span.start >= match.end()]
        if not after or not _is_described(match["noun"], match["link"], bool(match["the"])):
            continue
        aside = _ASIDE.match(question, after[0].end)
        end = ends.get(match.end()) or (aside.end() if aside else after[0].end)
        if match["link"] != "of" or WHAT_IS.match(question):
            end = _clause_end(question, match.start())
        ends[match.start("noun")] = ends[match.start()] = end
        text = question[match.start() : end]
        person = in_class(match["noun"], "person") or match["link"] == "who"
        asked[text] = f"{'Who' if person else 'What'} is {text}?"
    for span in every:
        owned = _OWNED.match(question, span.end)
        if owned and in_class(owned[2], "person"):
            text = question[span.start : owned.end()]
            asked[text] = f"Who is {text}?"
    rest = WHAT_IS.sub("", question)
    return {text: each for text, each in asked.items() if not rest.startswith(text)}


def compared_sides(graph: EvidenceGraph) -> list[str]:
    """Return the two things that the question compares: its options, else the titles and names that stand in it.

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


def _compared_fact(graph: EvidenceGraph) -> str:
    """Return the fact that a comparison needs of each side, as "the date of birth"; empty where it compares none."""
    question = graph.question
    words = set(question.words)
    if question.kind == "yes_no" and not ORDER & words:
        same = _SAME.search(question.text.lower())
        noun = (same[1] or "country") if same else ""
        return "the country" if term(noun) == "nationality" else f"the {noun}" if noun else ""
    if not words & (class_words("earliest") | class_words("latest")):
        return ""
    if "died" in question.terms:
        return "the date of death"
    person = question.asking == "who" or _maker(graph)
    person = person or any(graph.kinds.get(key(side)) == "person" for side in compared_sides(graph))
    aged = "born" in question.terms or (person and question.terms & {"old", "young"}) or question.asking == "who"
    return "the date of birth" if aged else "the date"


def _maker(graph: EvidenceGraph) -> str:
    """Return the maker that the question names by a noun ("director"), if it compares those of two works; or empty."""
    nouns = (term(word) for word in graph.question.words if in_class(word, "person"))
    return next((noun for noun in nouns if noun in _MAKERS), "")


def comparison_parts(graph: EvidenceGraph) -> list[str]:
    """Return the two sub-questions whose answers decide a comparison; empty when the question compares nothing."""
    sides, fact, maker = compared_sides(graph), _compared_fact(graph), _maker(graph)
    question = graph.question
    if len(sides) < 2 or not (question.options or question.kind == "yes_no"):
        return []
    if fact:
        makes = [
            f"the {maker} of {side}"
            if maker and f"{maker} of" not in side and graph.kinds.get(key(side)) != "person"
            else side
            for side in sides
        ]
        return [f"What is {fact} of {each}?" for each in makes]
    first, last = question.words[0] if question.words else "", sides[-1]
    if question.kind != "yes_no" or last not in question.text:
        return []
    claim = re.sub(r"\bboth ", "", question.text[question.text.rfind(last) + len(last) :].strip(" ?,"))
    verb = {"are": "Is", "were": "Was"}.get(first, first.capitalize())
    return [f"{verb} {side} {claim}?" for side in sides]


def sub_questions(question: str) -> list[str]:
    """Break a question down into simpler ones, the simplest first; empty when its grammar offers none."""
    parts = comparison_parts(EvidenceGraph(read_question(question), []))
    inner = [each for part in parts or [question] for each in described(part).values()]
    return [part for part in dict.fromkeys([*inner, *parts]) if key(part) != key(question)]
