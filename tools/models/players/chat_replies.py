"""Rules for chats: rewrite follow-up questions as standalone ones, and reply to small talk.

The rules resolve English pronouns ("when did she die?") and complete short follow-ups ("and his mother?"). They choose
the antecedent by recency and by the form of the name, not by gender.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hopgraph.tools.models.players.prompt_reading import ParsedPrompt
from hopgraph.tools.models.players.wording import find_names, key

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
"""Answer type of an earlier question → pattern; the first match counts."""
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


def make_standalone_question(prompt: ParsedPrompt) -> dict[str, str]:
    """Rewrite the message as a standalone question, if needed."""
    message = prompt.text("message")[:_MAX_MESSAGE].strip()
    turns = _turns(prompt)
    return {"question": (_rewrite(message, turns) if turns else "") or message}


def reply_to_small_talk(message: str) -> str | None:
    """Return a reply to small talk, perhaps empty; None for a question."""
    words = key(message)
    if len(words) > _MAX_SMALL_TALK or not _SMALL_TALK.fullmatch(words):
        return None
    return "You are welcome." if re.search(_THANKS, words) else ""


def _turns(prompt: ParsedPrompt) -> list[_Turn]:
    """Return the turns of the history, the latest first."""
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


def _rewrite(message: str, turns: list[_Turn]) -> str:
    """Return the rewritten message; empty if there is nothing to rewrite."""
    short = _LEAD.sub("", message).rstrip(" ?.!")
    last = turns[0].question
    if _ASKING.fullmatch(short):
        return f"{short.capitalize()} {last.partition(' ')[2]}"
    is_full = bool(_ASKING.match(short) or _VERB.match(short)) or _LEAD.match(message) is None
    named = _replace_pronouns(short, turns, is_full)
    if is_full:
        return f"{named[:1].upper()}{named[1:]}?" if named != short else ""
    previous = next(reversed(_names(last)), "")
    name = named.removeprefix("the ")
    if previous and ((name[:1].isupper() and named == short) or named.startswith(f"{previous}'")):
        return re.sub(rf"{re.escape(previous)}(?:'s? [\w-]+)?", lambda _: name, last, count=1)
    of = f" of {previous}" if previous and named == short and name != named else ""
    return f"{'Who' if re.search('(?:er|or|ist|ian)$', named) else 'What'} was {named}{of}?"


def _names(question: str) -> list[str]:
    """Return the names in a question; a single first word does not count."""
    return [name for at, name in find_names(question) if at or " " in name]


def _replace_pronouns(text: str, turns: list[_Turn], is_full: bool) -> str:
    """Replace pronouns with names from earlier turns; in a full question, preferably from the sources."""

    def name(match: re.Match[str]) -> str:
        kind = "place" if match["place"] else "thing" if match["thing"] else "person"
        found = "" if find_names(text[: match.start()]) else next(_antecedents(turns, kind, is_full), "")
        if not found:
            return match[0]
        owner = f"{found}'" if found.endswith("s") else f"{found}'s"
        return owner if match["owner"] or match["thing_owner"] else f"in {found}" if match["place"] else found

    return _PRONOUN.sub(name, text)


def _antecedents(turns: Sequence[_Turn], kind: str, sources_first: bool) -> Iterator[str]:
    """Yield the persons, or other things, in the turns, the latest first: answers, sources, and names in questions."""
    for turn in turns:
        asked = _names(turn.question)
        if turn.answer and kind == next((name for name, form in _ASKED_FOR.items() if form.search(turn.question)), ""):
            yield turn.answer
        named = [*turn.sources, *asked] if sources_first else [*asked, *turn.sources]
        yield from (name for name in named if _looks_like_a_person(name) == (kind == "person"))


def _looks_like_a_person(name: str) -> bool:
    """Return whether a name has two to four words, and neither "The" nor a possessive."""
    words = name.split()
    return 2 <= len(words) <= 4 and "'s " not in name and " > " not in name and not name.startswith("The ")
