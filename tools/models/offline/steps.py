"""What the offline model replies to the steps that go hop by hop, filter, judge, review or simply read."""

import re
from collections import Counter
from collections.abc import Callable

from pydantic import JsonValue

from hopgraph.tools.models.offline.answer import Finding, find, gather
from hopgraph.tools.models.offline.blocks import Passage, Prompt, unescape
from hopgraph.tools.models.offline.compare import sides
from hopgraph.tools.models.offline.lexicon import in_class, relations
from hopgraph.tools.models.offline.queries import next_queries
from hopgraph.tools.models.offline.question import read_question
from hopgraph.tools.models.offline.select import Sentence, sentences, useful
from hopgraph.tools.models.offline.spans import names
from hopgraph.tools.models.offline.statements import write
from hopgraph.tools.models.offline.terms import key
from hopgraph.tools.text import split_sentences

Reply = dict[str, JsonValue]
_UNANSWERABLE, _IGNORANCE = "unanswerable", "I don't know"
_COVER, _PROBABILITY = 0.9, 0.3
"""How much of the question a chain must carry, and how clearly its answer must lead, to be enough."""
_KINDS = ("person", "place", "place_name", "work", "group")
_DESCRIBED = re.compile(r"\bthe (?:[\w-]{1,30} ){0,2}([a-z-]{3,30}) (of|that|who|which|whose|for) ")
_ASKED = re.compile(r"search\[([^\]\n]{1,500})\]")
_SAID = re.compile(r"answer is: ([^\n]{1,300}?)\.?(?: \[passages [\d, ]{1,80}\])?$", re.MULTILINE)
_SHOWN_BY = re.compile(r" \[passages [\d, ]{1,80}\]$")
_WHO_WHAT = re.compile(r"^(?:who|what|which) (?:is|are|was|were) ", re.IGNORECASE)


def _phrases(question: str) -> list[str]:
    """Return what the question describes instead of naming it ("the director of X"), innermost first."""
    found: list[str] = []
    for told in reversed(list(_DESCRIBED.finditer(question))):
        after = names(question[told.end() :])
        if after and (in_class(told[1], *_KINDS) or told[1] in relations()):
            name = after[0 if told[2] in ("of", "for") else -1]
            end = told.end() + name.end
            found += [question[told.start() : end]] if not question.startswith("'s", end) else []
    return [phrase for phrase in found if not _WHO_WHAT.sub("", question).startswith(phrase)]


def _ask_for(phrase: str) -> str:
    head = (_DESCRIBED.match(f"{phrase} ") or ("", ""))[1]
    person = in_class(head, "person") or not in_class(head, *_KINDS) and head in relations() and head not in ("born", "birthplace")
    return f"{'Who' if person else 'What'} is {phrase}?"
