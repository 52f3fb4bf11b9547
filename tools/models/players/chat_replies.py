"""The replies to the steps of a chat, by rules: a follow-up stands alone, and small talk is none of them.

The rules know English pronouns ("when did she die?"), and what a short follow-up leaves out ("and his mother?"). Who
"he" is they guess by recency and by the look of a name, not by gender.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hopgraph.tools.models.players.prompt_reading import ParsedPrompt
from hopgraph.tools.models.players.wording import key, names

_MAX_MESSAGE = 1_000
_MAX_SMALL_TALK = 100
_SOURCES = re.compile(r" \(sources: ([^()]*(?:\([^()]*\)[^()]*)*)\)$")
_LEAD = re.compile(r"^(?:(?:and|but|or|so|ok|okay|then|what about|how about)[, ]+)+", re.IGNORECASE)
_ASKING = re.compile(r"(?:in |on |at )?(?:who|whom|whose|what|which|where|when|how)\b", re.IGNORECASE)
_VERB = re.compile(r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would)\b", re.IGNORECASE)
_PRONOUN = re.compile(
    r"\b(?:(?P<owner>his|their|her(?= [\w-]+))|he|she|him|her|they|them"
    r"|(?P<thing>it|(?P<thing_owner>its)|(?:this|that) [a-z]+|(?P<place>there)(?=\W*$)))\b",
    re.IGNORECASE,
)
_ASKED_FOR = {
    "person": re.compile(r"\bwho\b", re.IGNORECASE),
    "place": re.compile(r"\bwhere\b|\bin (?:which|what)\b", re.IGNORECASE),
    "thing": re.compile(r"\b(?:what|which)\b", re.IGNORECASE),
}
"""The kind of an earlier question's answer, by the first matching form."""
_THANKS = r"thanks|thank you|thx|cheers"
_SMALL_TALK = re.compile(
    rf"(?:(?:{_THANKS}|hi|hello|hey|good (?:morning|afternoon|evening|day|night)|bye|goodbye|see you|how are you"
    r"|who are you|what are you|what can you do|help|ok|okay|great|nice|perfect|sorry|please|yes|no|very much|a lot"
    r"|so much|again|there|you|too|that helps|that helped)(?: |$))+"
)


class _Turn(NamedTuple):
    question: str
    answer: str
    sources: Sequence[str]


def stand_alone_question(prompt: ParsedPrompt) -> dict[str, str]:
    """Replace pronouns with names and complete a short follow-up; else repeat the message."""
    message = prompt.text("message")[:_MAX_MESSAGE].strip()
    turns = _turns(prompt)
    return {"question": (_stand_alone(message, turns) if turns else "") or message}


def small_talk_reply(message: str) -> str | None:
    """Return a friendly reply to small talk, maybe an empty one; None for a question."""
    said = key(message)
    if len(said) > _MAX_SMALL_TALK or not _SMALL_TALK.fullmatch(said):
        return None
    return "You are welcome." if re.search(_THANKS, said) else ""


def _turns(prompt: ParsedPrompt) -> list[_Turn]:
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
    if _ASKING.fullmatch(short):
        return f"{short.capitalize()} {last.partition(' ')[2]}"
    full = bool(_ASKING.match(short) or _VERB.match(short)) or _LEAD.match(message) is None
    named = _name_pronouns(short, turns, full)
    if full:
        return f"{named[:1].upper()}{named[1:]}?" if named != short else ""
    previous = next(reversed(_names(last)), "")
    name = named.removeprefix("the ")
    if previous and ((name[:1].isupper() and named == short) or named.startswith(f"{previous}'")):
        return re.sub(rf"{re.escape(previous)}(?:'s? [\w-]+)?", lambda _: name, last, count=1)
    of = f" of {previous}" if previous and named == short and name != named else ""
    return f"{'Who' if re.search('(?:er|or|ist|ian)$', named) else 'What'} was {named}{of}?"


def _names(question: str) -> list[str]:
    """Return the names in a question; a single first word is none."""
    return [name for at, name in names(question) if at or " " in name]


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
        asked = _names(turn.question)
        if turn.answer and kind == next((name for name, form in _ASKED_FOR.items() if form.search(turn.question)), ""):
            yield turn.answer
        named = [*turn.sources, *asked] if found_first else [*asked, *turn.sources]
        yield from (name for name in named if _looks_like_a_person(name) == (kind == "person"))


def _looks_like_a_person(name: str) -> bool:
    """Return whether a name is made of two to four capitalised words, without "the" or a genitive."""
    words = name.split()
    return 2 <= len(words) <= 4 and "'s " not in name and " > " not in name and not name.startswith("The ")
