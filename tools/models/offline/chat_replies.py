"""What the offline model replies to the steps of a chat: a follow-up stands alone, a message is routed, by rules.

The rules know English pronouns ("when did she die?"), what a short follow-up leaves out ("and his mother?"), and
the common words of small talk. Who "he" is they tell by recency and by the look of a name; gender they do not know.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pydantic import JsonValue

from hopgraph.tools.models.offline.lexicon import class_words, countries, in_class, relations
from hopgraph.tools.models.offline.prompt_blocks import Prompt, unescape
from hopgraph.tools.models.offline.question import read_question
from hopgraph.tools.models.offline.spans import names
from hopgraph.tools.models.offline.terms import key

_LONGEST_MESSAGE = 1_000
_LONGEST_SMALL_TALK = 100
_SOURCES = re.compile(r" \(sources: ([^()]*(?:\([^()]*\)[^()]*)*)\)$")
_LEAD = re.compile(r"^(?:(?:and|but|or|so|ok|okay|then|what about|how about)[, ]+)+", re.IGNORECASE)
_PRONOUN = re.compile(
    r"\b(?:(?P<owner>his|their|its|her(?= [\w-]+))|(?P<person>he|she|him|her|they|them)|(?P<thing>it)"
    r"|(?P<place>there)(?=\W*$)|(?:this|that|the same) (?P<noun>[a-z]+))\b",
    re.IGNORECASE,
)
_DESCRIBED = re.compile(r"\bthe (?:[\w-]+ ){0,2}?([\w-]+) (?:of|that|who|which|whose|for|with) ")
_WHO_IS = re.compile(r"^(?:who|what|which) (?:is|are|was|were) ", re.IGNORECASE)
_ANSWERS_THAT_ARE_THINGS = ("place", "country", "work", "group", "thing")
_CLASSES = ("place", "work", "group")
_THANKS = r"thanks|thank you|thx|cheers|much appreciated"
_SMALL_TALK = re.compile(
    rf"(?:(?:{_THANKS}|hi|hello|hey|good (?:morning|afternoon|evening|day|night)|greetings|bye|goodbye|see you|welcome"
    r"|how are you|how do you do|how is it going|nice to meet you|who are you|what are you|what can you do|help"
    r"|ok|okay|great|cool|nice|perfect|wonderful|sorry|please|yes|no|very much|a lot|so much|again|there|you|too"
    r"|today|that helps|that helped|then|for now|later|for your help|for that|well done)(?: |$))+"
)
_BOTH = re.compile(r"\b(?:both|same|either|also|before|after|than|still|earlier|later|older|younger|and)\b")


class _Turn(NamedTuple):
    """One turn of the history."""

    asked: str
    said: str
    sources: tuple[str, ...]


def contextualise(prompt: Prompt) -> dict[str, JsonValue]:
    """Put names for pronouns and fill in what a short follow-up leaves out; else repeat the message."""
    message = unescape(prompt.blocks.get("message", ""))[:_LONGEST_MESSAGE].strip()
    return {"question": _stand_alone(message, _turns(prompt)) or message}


def route(prompt: Prompt) -> dict[str, JsonValue]:
    """Tell small talk by its words, a comparison by its options, and a bridge by what it describes without a name."""
    message = key(prompt.question)
    if len(message) <= _LONGEST_SMALL_TALK and _SMALL_TALK.fullmatch(message):
        return {"kind": "small_talk", "reply": "You are welcome." if re.search(_THANKS, message) else ""}
    question = read_question(prompt.question)
    compares = question.kind == "yes_no" and len(question.names) > 1 and _BOTH.search(question.text)
    if question.options or compares:
        return {"kind": "comparison", "reply": ""}
    asked = _WHO_IS.sub("", question.text)
    described = any(not asked.startswith(each[0]) and _is_noun(each[1]) for each in _DESCRIBED.finditer(question.text))
    return {"kind": "bridge" if described or question.hops > 1 else "single_hop", "reply": ""}


def _is_noun(word: str) -> bool:
    return in_class(word, "person", "place", "place_name", "work", "group") or word in relations()


def _turns(prompt: Prompt) -> list[_Turn]:
    """Read the history, the latest turn first."""
    turns: list[_Turn] = []
    for _, line in prompt.items("history"):
        speaker, _, text = line.partition(": ")
        if speaker == "User":
            turns.append(_Turn(text, "", ()))
        elif turns:
            told = _SOURCES.search(text)
            sources = tuple(told[1].split("; ")) if told else ()
            turns[-1] = _Turn(turns[-1].asked, text[: told.start()] if told else text, sources)
    return turns[::-1]


def _stand_alone(message: str, turns: list[_Turn]) -> str:
    """Rewrite a message; empty when there is nothing to rewrite it with."""
    if not turns:
        return ""
    short = _LEAD.sub("", message)
    words = [word.removesuffix("'s") for word in key(short).split(" ")]
    asks = words[0] in class_words("asking")
    if asks and len(words) == 1:
        return _asked_otherwise(short, turns[0].asked)
    full = short == message or asks or words[0] in class_words("auxiliary")
    named, referent = _without_pronouns(short, turns, full=full)
    if full:
        return named[:1].upper() + named[1:] if named != message else ""
    return _filled_in(named.rstrip(" ?.!"), referent, turns)


def _asked_otherwise(word: str, asked: str) -> str:
    """Put another question word ("and where?") before the last question; empty if that begins with none."""
    first, _, rest = asked.partition(" ")
    return f"{word.strip(' ?.!').capitalize()} {rest}" if rest and first.lower() in class_words("asking") else ""


def _without_pronouns(text: str, turns: list[_Turn], *, full: bool) -> tuple[str, str]:
    """Put names for the pronouns that refer to earlier turns; returns the last such name, too.

    In a full question they refer to what was found last, in a phrase to what was asked about.
    """
    referent = ""

    def named(match: re.Match[str]) -> str:
        nonlocal referent
        if names(text[: match.start()]):
            return match[0]  # it refers to a name in the message itself
        found = _referent(match, turns, full=full)
        referent = found or referent
        if not found:
            return match[0]
        if match["owner"]:
            return f"{found}'"[: None if found.endswith("s") else -1] + ("" if found.endswith("s") else "'s")
        return f"in {found}" if match["place"] else found

    return _PRONOUN.sub(named, text), referent


def _referent(match: re.Match[str], turns: list[_Turn], *, full: bool) -> str:
    word = match[0].lower()
    if noun := (match["noun"] or "").lower():
        return next(_things(turns, noun), "") if _is_noun(noun) else ""
    if match["thing"] or match["place"] or word == "its":
        return next(_things(turns), "")
    return next(_persons(turns, found_first=full), "") or (
        next(_things(turns), "") if word in ("they", "them", "their") else ""
    )


def _persons(turns: Iterable[_Turn], *, found_first: bool) -> Iterator[str]:
    """Name the persons that the turns speak of, the latest turn first: what it found, and what it asked about."""
    for turn in turns:
        question = read_question(turn.asked)
        asked = [name for name in reversed(question.names) if _looks_like_a_person(name)]
        named = question.kind == "person" and (_looks_like_a_person(turn.said) or " " not in turn.said)
        found = [turn.said] if turn.said and named else []
        found += [title for title in reversed(turn.sources) if _looks_like_a_person(title)]
        yield from [*found, *asked] if found_first else [*asked, *found]


def _things(turns: Iterable[_Turn], noun: str = "") -> Iterator[str]:
    """Name what the turns speak of that is no person, the likeliest first; an answer only if it can be the noun."""
    for turn in turns:
        question = read_question(turn.asked)
        fits = not noun or noun == question.noun or (question.kind in _CLASSES and in_class(noun, question.kind))
        if turn.said and turn.sources and question.kind in _ANSWERS_THAT_ARE_THINGS and fits:
            yield turn.said
        every = [*reversed(question.names), *reversed(turn.sources)]
        yield from (name for name in every if not _looks_like_a_person(name))
        yield from question.names


def _looks_like_a_person(name: str) -> bool:
    """Say whether a name is made of two or more capitalised words that are no place, work or group."""
    words = name.split()
    if len(words) < 2 or "'s " in f"{name} " or name.lower() in countries():
        return False
    kinds = ("place", "place_name", "work", "group", "organisation", "stop")
    return all(
        word.lower() in class_words("inner") or (word[0].isupper() and not in_class(word.lower(), *kinds))
        for word in words
    )


def _filled_in(phrase: str, referent: str, turns: list[_Turn]) -> str:
    """Ask of a phrase what the last question asked, or who or what it is."""
    asked = turns[0].asked
    if referent and referent in asked:
        owned = re.compile(rf"the [\w-]+ of {re.escape(referent)}\b|{re.escape(referent)}(?:'s? [\w-]+)?")
        return owned.sub(lambda _: phrase, asked, count=1)
    last = read_question(asked).names
    name = phrase.removeprefix("the ")
    if last and not referent and name[:1].isupper():
        before, _, after = asked.rpartition(last[-1])
        return f"{before}{name if before.endswith('the ') else phrase}{after}"
    role = key(phrase).removeprefix("the ")
    if not referent and in_class(role, "person"):
        roles = [word for word in re.findall(r"\bthe ([\w-]+)", asked) if in_class(word, "person")]
        if roles:
            return asked.replace(f"the {roles[0]}", f"the {role}", 1)
        about = next(_things(turns), "")
        phrase = f"the {role} of {about}" if about else phrase
    noun = key(phrase).rpartition(" ")[2]
    return f"{'Who' if referent or in_class(role, 'person') or in_class(noun, 'person') else 'What'} was {phrase}?"
