"""What the offline model replies to the steps of a chat: a follow-up stands alone, a message is routed, by rules.

The rules know English pronouns ("when did she die?"), what a short follow-up leaves out ("and his mother?"), and
the common words of small talk. Who "he" is they guess by recency and by the look of a name, not by gender.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from hopgraph.tools.models.offline.prompt_reading import Prompt
from hopgraph.tools.models.offline.question import read_question
from hopgraph.tools.models.offline.reader import described
from hopgraph.tools.models.offline.statements import class_words, countries, in_class, key, names

_MAX_MESSAGE = 1_000
_MAX_SMALL_TALK = 100
_SOURCES = re.compile(r" \(sources: ([^()]*(?:\([^()]*\)[^()]*)*)\)$")
_LEAD = re.compile(r"^(?:(?:and|but|or|so|ok|okay|then|what about|how about)[, ]+)+", re.IGNORECASE)
_PRONOUN = re.compile(
    r"\b(?:(?P<owner>his|their|her(?= [\w-]+))|he|she|him|her|they|them"
    r"|(?P<thing>it|(?P<thing_owner>its)|(?:this|that) [a-z]+|(?P<place>there)(?=\W*$)))\b",
    re.IGNORECASE,
)
_THANKS = r"thanks|thank you|thx|cheers|much appreciated"
_SMALL_TALK = re.compile(
    rf"(?:(?:{_THANKS}|hi|hello|hey|good (?:morning|afternoon|evening|day|night)|bye|goodbye|see you|welcome"
    r"|how are you|how is it going|nice to meet you|who are you|what are you|what can you do|help|ok|okay|great|cool"
    r"|nice|perfect|sorry|please|yes|no|very much|a lot|so much|again|there|you|too|that helps|that helped)(?: |$))+"
)
_RELATIVE = re.compile(r"\bthe (?:[\w-]{1,30} ){1,3}(?:who|that|which|whose|where) ")
_BOTH = re.compile(r"\b(?:both|same|either|also|before|after|than|still|earlier|later|older|younger|and)\b")


class _Turn(NamedTuple):
    question: str
    answer: str
    sources: Sequence[str]


def contextualise(prompt: Prompt) -> dict[str, JsonValue]:
    """Put names for pronouns and fill in what a short follow-up leaves out; else repeat the message."""
    message = prompt.text("message")[:_MAX_MESSAGE].strip()
    turns = _turns(prompt)
    return {"question": (_stand_alone(message, turns) if turns else "") or message}


def route(prompt: Prompt) -> dict[str, JsonValue]:
    """Recognise small talk by its words, a comparison by its options, and a bridge by what it describes."""
    message = key(prompt.question)
    if len(message) <= _MAX_SMALL_TALK and _SMALL_TALK.fullmatch(message):
        return {"kind": "small_talk", "reply": "You are welcome." if re.search(_THANKS, message) else ""}
    question = read_question(prompt.question)
    if question.options or (question.kind == "yes_no" and len(question.names) > 1 and _BOTH.search(question.text)):
        return {"kind": "comparison", "reply": ""}
    bridge = described(question.text) or question.hops > 1 or _RELATIVE.search(question.text)
    return {"kind": "bridge" if bridge else "single_hop", "reply": ""}


def _turns(prompt: Prompt) -> list[_Turn]:
    """Read the history, the latest turn first."""
    turns: list[_Turn] = []
    for _, line in prompt.items("history"):
        speaker, _, text = line.partition(": ")
        if speaker == "User":
            turns.append(_Turn(text, "", ()))
        elif turns:
            sources = _SOURCES.search(text)
            answer = text[: sources.start()] if sources else text
            turns[-1] = _Turn(turns[-1].question, answer, sources[1].split("; ") if sources else ())
    return turns[::-1]


def _stand_alone(message: str, turns: list[_Turn]) -> str:
    """Rewrite a message; empty when there is nothing to rewrite it with."""
    short = _LEAD.sub("", message).rstrip(" ?.!")
    last = turns[0].question
    words = key(short).split(" ")
    if len(words) == 1 and words[0] in class_words("asking"):
        return f"{short.capitalize()} {last.partition(' ')[2]}"
    full = words[0] in class_words("asking", "auxiliary") or _LEAD.match(message) is None
    named = _name_pronouns(short, turns, full)
    if full:
        return f"{named[:1].upper()}{named[1:]}?" if named != short else ""
    previous = next(reversed(read_question(last).names), "")
    name = named.removeprefix("the ")
    if previous and ((name[:1].isupper() and named == short) or named.startswith(f"{previous}'")):
        return re.sub(rf"{re.escape(previous)}(?:'s? [\w-]+)?", lambda _: name, last, count=1)
    of = f" of {previous}" if previous and named == short and name != named else ""
    return f"{'Who' if in_class(words[-1], 'person') else 'What'} was {named}{of}?"


def _name_pronouns(text: str, turns: list[_Turn], full: bool) -> str:
    """Put names for the pronouns that refer to earlier turns: in a full question to what was found last."""

    def name(match: re.Match[str]) -> str:
        kind = "place" if match["place"] else "thing" if match["thing"] else "person"
        found = "" if names(text[: match.start()]) else next(_referents(turns, kind, full), "")
        if not found:
            return match[0]
        owner = f"{found}'" if found.endswith("s") else f"{found}'s"
        return owner if match["owner"] or match["thing_owner"] else f"in {found}" if match["place"] else found

    return _PRONOUN.sub(name, text)


def _referents(turns: Sequence[_Turn], kind: str, found_first: bool) -> Iterator[str]:
    """Yield the persons, or all else, that the turns speak of, the latest turn first: found there, and asked about."""
    for turn in turns:
        question = read_question(turn.question)
        answer = [turn.answer] if turn.answer and question.kind == kind else []
        named = [*turn.sources, *question.names] if found_first else [*question.names, *turn.sources]
        yield from answer
        yield from (name for name in named if _looks_like_a_person(name) == (kind == "person"))


def _looks_like_a_person(name: str) -> bool:
    """Whether a name is made of two or more capitalised words that are no place, work or group."""
    words = name.split()
    if len(words) < 2 or "'s " in name or name.lower() in countries():
        return False
    kinds = ("place", "place_name", "work", "group", "organisation", "stop")
    return all(w in class_words("inner") or (w[0].isupper() and not in_class(w.lower(), *kinds)) for w in words)
