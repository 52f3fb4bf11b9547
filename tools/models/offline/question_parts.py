"""Break a question down by its grammar: what it describes instead of naming, and the two sides that it compares."""

import re

from hopgraph.tools.models.offline.candidates import EvidenceGraph
from hopgraph.tools.models.offline.question import read_question
from hopgraph.tools.models.offline.statements import names
from hopgraph.tools.models.offline.terms import class_words, in_class, key, relations, term

_MAKERS = ("director", "composer", "performer", "writer", "producer", "founder", "designer", "sculptor", "painter")
_DESCRIBED = re.compile(r"\b(?:the (?:[\w-]{1,30} ){0,2}?)?(?P<noun>[a-z-]{3,30}) of ")
_OWNED = re.compile(r"['\u2019]s ((?:[a-z-]{3,20} ){0,2}?([a-z-]{3,20}))\b")
_ASIDE = re.compile(r" \([^()\n]{1,60}\)")
_SAME = re.compile(r"\b(?:same|share|shared)\b (?:the )?(?:same )?(\w+)|\bcountry of origin\b")
WHAT_IS = re.compile(r"^(?:who|what|which) (?:is|are|was|were) ", re.IGNORECASE)
"""What a question that asks for a description begins with."""
ORDER = frozenset({"before", "after", "than"})
_MAX_CHARACTERS = 1_000


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
            if WHAT_IS.match(question):
                end = len(question.rstrip(" ?.!"))
            nouns[question[match.start() : end]] = noun
    for span in every:
        owned = _OWNED.match(question, span.end)
        if owned and in_class(owned[2], "person"):
            nouns[question[span.start : owned.end()]] = owned[2]
    rest = WHAT_IS.sub("", question)
    return {
        text: f"{'Who' if in_class(noun, 'person') else 'What'} is {text}?"
        for text, noun in nouns.items()
        if not rest.startswith(text)
    }


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


def _compared_fact(graph: EvidenceGraph, of_persons: bool) -> str:
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
    aged = "born" in question.terms or (of_persons and question.terms & {"old", "young"})
    return "the date of birth" if aged or question.asking == "who" else "the date"


def comparison_parts(graph: EvidenceGraph) -> list[str]:
    """Return the two sub-questions whose answers decide a comparison; empty when the question compares nothing."""
    question, sides = graph.question, compared_sides(graph)
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
    compared = comparison_parts(EvidenceGraph(read_question(question), []))
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
