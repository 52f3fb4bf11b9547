"""Break a question down by its grammar, and put known answers back into it."""

import re
from collections.abc import Mapping, Sequence

from hopgraph.tools.models.offline.answer_selection import find, gather
from hopgraph.tools.models.offline.chain import Evidence
from hopgraph.tools.models.offline.comparison_rules import MAKERS, sides, wanted_fact
from hopgraph.tools.models.offline.lexicon import in_class, relations
from hopgraph.tools.models.offline.question import read_question
from hopgraph.tools.models.offline.spans import names
from hopgraph.tools.models.offline.terms import WORD, key, term

_DESCRIBED = re.compile(
    r"\b(?P<the>the (?:[\w-]{1,30} ){0,2}?)?(?P<noun>[a-z-]{3,30}) "
    r"(?P<link>of|for|that|who|which|whose|where|(?:[a-z]{2,15}ed|written|sung|led) (?:by|after|in|on|at)) "
)
_OWNED = re.compile(r"['\u2019]s ((?:[a-z-]{3,20} ){0,2}?([a-z-]{3,20}))\b")
_CLAUSE = re.compile(r"\b(?:that|who|which|whose|where|[a-z]{2,15}ed)\b")
WHICH_IS = re.compile(r"^(?:who|what|which) (?:is|are|was|were) ", re.IGNORECASE)
"""What a question that asks for a description begins with."""
_ASIDE = re.compile(r" \([^()\n]{1,60}\)")
_STOP = re.compile(r"[?,;]")
_LONGEST = 1_000
_NAMED_BY_OF = ("capital", "birthplace", "hometown")
"""The places that "of" tells by a relation; in "the city of Rome" it only names the kind."""
_BOTH = re.compile(r"(are|were) (?:both [a-z ]{1,40}, )?.{2,200}? and .{2,200}", re.IGNORECASE)
_ONE = {"are": "Is", "were": "Was"}


def _end(question: str, after: int, clause: bool, subject: bool) -> int:
    """Return where a description ends whose last name ends at `after`, brackets behind the name included.

    Words after the name belong to it if they open with a possessive, or in a clause with a verb: up to the
    predicate in the subject of "was … born?", else up to the end of the sentence.
    """
    aside = _ASIDE.match(question, after)
    after = aside.end() if aside else after
    stop = _STOP.search(question, after)
    tail = list(WORD.finditer(question, after, stop.start() if stop else len(question)))
    owned = question.startswith(("'s ", "\u2019s "), after)
    verb = clause and bool(tail) and in_class(tail[0][0].lower(), "auxiliary")
    if not tail or not (owned or verb):
        return after
    last = len(tail) if not subject else 2 if verb else len(tail) - 1
    return tail[min(last, len(tail)) - 1].end()


def _named(told: re.Match[str]) -> bool:
    """Say whether noun and link describe somebody or something that the question does not name."""
    noun, link = told["noun"], told["link"]
    if in_class(noun, "stop", "auxiliary", "date", "number") or not told["the"]:
        return in_class(noun, "person") and link == "of"
    if link in ("of", "for"):
        return noun in _NAMED_BY_OF or noun in relations() or in_class(noun, "person", "work", "group")
    return True


def described(question: str) -> dict[str, str]:
    """Return what a question describes instead of naming, innermost first, with who or what that is as a question.

    As in "the mother of the author of X", "the city where X lived" and "X's father". At most the question's
    first thousand characters are read.
    """
    question = question[:_LONGEST]
    found: list[tuple[int, str, bool]] = []
    every, subject = names(question), False
    for told in _DESCRIBED.finditer(question):
        after = [span for span in every if span.start >= told.end()]
        if not after or not _named(told):
            continue
        clause = told["link"] not in ("of", "for") or _CLAUSE.search(question, told.end(), after[0].start)
        before = WORD.findall(question[: told.start()])[-1:]
        subject = subject or (bool(before) and in_class(before[0].lower(), "auxiliary"))
        end = _end(question, after[-1 if clause else 0].end, bool(clause), subject)
        person = in_class(told["noun"], "person") or told["link"] == "who" or term(told["noun"]) in MAKERS
        found.append((told.start(), question[told.start() : end], person))
    for span in every:
        owned = _OWNED.match(question, span.end)
        if owned and in_class(owned[2], "person"):
            found.append((span.start, question[span.start : owned.end()], True))
    asked = {text: f"{'Who' if who else 'What'} is {text}?" for _, text, who in sorted(found, reverse=True)}
    rest = WHICH_IS.sub("", question)
    return {text: each for text, each in asked.items() if not rest.startswith(text) and not _goes_on(question, text)}


def _goes_on(question: str, text: str) -> bool:
    end = question.find(text) + len(text)
    return question.startswith(("'s", "\u2019s"), end)


def resolved(question: str, known: Mapping[str, str]) -> str:
    """Put the known answers (by the key of the question that they answer) in place of what is described."""
    for _ in range(4):
        parts = described(question)
        phrase = next((each for each in reversed(parts) if known.get(key(parts[each]))), "")
        question = question.replace(phrase, known[key(parts[phrase])], 1) if phrase else question
    return question


def lacking(evidence: Evidence, missing: str) -> list[str]:
    """Ask for each thing that a comparison lacks; empty when nothing is missing or it cannot be asked."""
    if not missing.startswith("facts about "):
        return [f"{'Who' if _maker(part) else 'What'} is {part}?" for part in missing.split("; ") if part]
    both = _BOTH.match(evidence.question.text)
    compared = sides(evidence)
    if both is None or len(compared) < 2 or any(name not in both[0] for name in compared):
        return []
    text, last = evidence.question.text, compared[-1]
    said = re.sub(r"\bboth ", "", text[text.rfind(last) + len(last) :].strip(" ?,"))
    return [
        f"{_ONE[both[1].lower()]} {name} {said}?" for name in compared if f"facts about {name}" in missing.split("; ")
    ]


def _maker(part: str) -> bool:
    return any(part.startswith(f"the {maker} of ") for maker in MAKERS)


def sub_questions(question: str) -> list[str]:
    """Break a question down into simpler ones, the simplest first; empty when its grammar offers none.

    A comparison asks the same of both sides, of "the director of the film X" after who that is.
    """
    evidence = gather(question, [])
    missing = find(evidence).missing
    parts = lacking(evidence, missing)
    if not parts and not read_question(question).options:
        parts = list(described(question).values())
    wanted = wanted_fact(evidence)
    makers = filter(_maker, missing.split("; "))
    parts += [f"What is {wanted} of {maker}?" for maker in makers if wanted]
    return _new(parts, question)


def _new(parts: Sequence[str], question: str) -> list[str]:
    return [part for part in dict.fromkeys(parts) if key(part) != key(question)]
