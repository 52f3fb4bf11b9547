"""What a line or a passage says of a hop, word for word."""

import re
from functools import lru_cache

from hopgraph.tools.apps.evaluation.rehearsal.question_plan import GoldPassage, PlanHop, bare, holds, keyed
from hopgraph.tools.models.offline.prompt_blocks import Passage
from hopgraph.tools.models.offline.statements import write
from hopgraph.tools.text import content_terms, split_sentences

UNANSWERABLE, NOTHING = "unanswerable", "I don't know"
_ASIDES = re.compile(r"\s+(?:\(source: .*|\(not grounded\)|\[passages [\d, ]*\])\s*\Z", re.DOTALL)


@lru_cache(maxsize=4_096)
def asking(asked: str) -> re.Pattern[str]:
    """Find a question in a line, and what is said to it; search words begin the line, and no sign follows them."""
    before, sign = (r"(?<!\w)", r"\s*[?:]+") if asked.endswith("?") else (r"\A\s*", "")
    return re.compile(rf"{before}{re.escape(bare(asked))}{sign}\s+(?P<said>\S.{{0,2000}})", re.IGNORECASE)


def said_in(found: re.Match[str]) -> str:
    """Read an answer off a line; empty for an unknown one."""
    said = _ASIDES.sub("", found["said"]).strip().rstrip(".")
    return "" if said.casefold() in {"unknown", UNANSWERABLE} else said


def quotes(line: str, gold: GoldPassage, hop: PlanHop) -> bool:
    """Tell whether a line repeats a sentence of a gold passage that tells the hop's answer."""
    return any(holds(line, each) for each in _sentences(gold.text) if hop.carried_by(gold, each))


@lru_cache(maxsize=4_096)
def _sentences(text: str) -> tuple[str, ...]:
    return tuple(text[start:end] for start, end in split_sentences(text))


def says(said: str, answers: tuple[str, ...]) -> bool:
    """Tell whether an answer is one of the right ones, but for case and punctuation."""
    return any(keyed(said) == keyed(each) for each in answers)


def sentence_for(hop: PlanHop, gold: GoldPassage | None, passage: Passage) -> str:
    """Choose the shown sentence that tells the answer best, and let it stand alone under the passage's title."""
    sentences = [each.strip(" …") for each in _sentences(passage.text)]
    wanted = frozenset(content_terms(hop.template))
    supporting = gold.sentences if gold else ()

    def worth(sentence: str) -> tuple[bool, bool, int]:
        tells = any(holds(sentence, each) for each in hop.answers)
        supports = any(holds(sentence, each) for each in supporting)
        return tells, supports, len(wanted & frozenset(content_terms(sentence)))

    return write(passage.title, max(filter(None, sentences), key=worth, default=passage.text))
