"""Permissions and prohibitions in a prompt's instructions, as a careful model reads them, for the strict oracle."""

import re

from hopgraph.tools.apps.evaluation.rehearsal.question_plan import contains_words
from hopgraph.tools.models.players.prompt_reading import ParsedPrompt

_ONE_THING = re.compile(
    r"\b(?:only|just|exactly) (?:name )?(?:the )?(?:one|first|next|single)\b"
    r"|\bname (?:only )?(?:the )?(?:one|first|single)\b|\bone missing (?:thing|fact|piece)",
    re.IGNORECASE,
)
_BOTH_SIDES = re.compile(r"\bcomparison needs (?:both|each|every|all)\b|\bneeds both sides\b", re.IGNORECASE)
_NO_RECORD = re.compile(r"\bno record means none\b|\b(?:one|a single) side(?:'s record)? decides\b", re.IGNORECASE)
_IN_PART = re.compile(r"\bin part\b|\bbest-supported\b|\bbest (?:that )?you know\b|\bguess\b|\balways\b", re.IGNORECASE)


def names_one_thing(prompt: ParsedPrompt) -> bool:
    """Return whether only one of several missing things may be named."""
    return _ONE_THING.search(prompt.instructions) is not None


def one_side_decides(prompt: ParsedPrompt) -> bool:
    """Return whether a comparison may be answered where one described side has no record of what is compared."""
    said = prompt.instructions
    return _BOTH_SIDES.search(said) is None or _NO_RECORD.search(said) is not None


def partial_support_is_enough(prompt: ParsedPrompt) -> bool:
    """Return whether an answer may be given that the information supports only in part."""
    return _IN_PART.search(prompt.instructions) is not None


def only_missing(prompt: ParsedPrompt, questions: list[str]) -> list[str]:
    """Return the questions that the prompt's `missing` names; all of them where it names none."""
    missing = prompt.text("missing")
    return [each for each in questions if contains_words(missing, each)] or questions
