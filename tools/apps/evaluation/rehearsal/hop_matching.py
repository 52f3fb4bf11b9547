"""What a line or a passage says of a hop, word for word."""

import re
from functools import lru_cache
from typing import NamedTuple

from hopgraph.tools.apps.evaluation.rehearsal.question_plan import GoldPassage, PlanHop, contains_words, without_mark
from hopgraph.tools.models.offline.prompt_blocks import PromptPassage
from hopgraph.tools.models.offline.statements import write
from hopgraph.tools.text import content_terms, split_sentences

UNANSWERABLE, UNKNOWN = "unanswerable", "I don't know"
_ASIDES = re.compile(r"(?<!\s)\s+(?:\(source: .*|\(not grounded\)|\[passages [\d, ]*\])\s*\Z", re.DOTALL)


class HopAnswer(NamedTuple):
    """A hop's answer, read somewhere in the prompt."""

    hop: PlanHop
    answer: str
    """As it is written there; right in a passage, maybe wrong in a history."""
    statement: str
    """A self-contained sentence that says so."""


@lru_cache(maxsize=4_096)
def _pattern(question: str) -> re.Pattern[str]:
    """Match a question and what follows it; search words begin the line, and no sign follows them."""
    before, sign = (r"(?<!\w)", r"\s*[?:]+") if question.endswith("?") else (r"\A\s*", "")
    return re.compile(rf"{before}{re.escape(without_mark(question))}{sign}\s+(?P<said>\S.{{0,2000}})", re.IGNORECASE)


def answer_after(question: str, line: str) -> str | None:
    """Return the answer that follows a question in a line: empty for an unknown one, None without the question."""
    found = _pattern(question).search(line)
    if found is None:
        return None
    said = _ASIDES.sub("", found["said"]).strip().rstrip(".")
    return "" if said.casefold() in {"unknown", UNANSWERABLE} else said


@lru_cache(maxsize=4_096)
def sentences_of(text: str) -> tuple[str, ...]:
    """Split a text into its sentences."""
    return tuple(text[start:end] for start, end in split_sentences(text))


def quotes_evidence(line: str, hop: PlanHop) -> bool:
    """Whether a line repeats a sentence of a gold passage that has the hop's answer."""
    evidence = (each for gold in hop.passages for each in sentences_of(gold.text) if hop.is_answered_by(gold, each))
    return any(contains_words(line, each) for each in evidence)


def sentence_for(hop: PlanHop, gold: GoldPassage | None, passage: PromptPassage) -> str:
    """Return the shown sentence that best gives the answer, under the passage's title."""
    wanted = frozenset(content_terms(hop.template))

    def worth(sentence: str) -> tuple[bool, bool, int]:
        answers = any(contains_words(sentence, each) for each in hop.answers)
        supports = any(contains_words(sentence, each) for each in (gold.sentences if gold else ()))
        return answers, supports, len(wanted & frozenset(content_terms(sentence)))

    sentences = (each.strip(" …") for each in sentences_of(passage.text))
    return write(passage.title, max(filter(None, sentences), key=worth, default=passage.text))
