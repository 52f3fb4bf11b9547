"""Read everything a prompt gives: its passages and what was asked and answered before, as one body of evidence."""

import re
from typing import NamedTuple

from hopgraph.tools.models.offline.answer_selection import Finding, find, gather
from hopgraph.tools.models.offline.chain import Evidence
from hopgraph.tools.models.offline.prompt_blocks import Prompt
from hopgraph.tools.models.offline.question_splitting import WHICH_IS, resolved
from hopgraph.tools.models.offline.select import Sentence, sentences
from hopgraph.tools.models.offline.spans import names
from hopgraph.tools.models.offline.statements import write
from hopgraph.tools.models.offline.terms import key

_ASIDE = re.compile(r" \([^()\n]{1,60}\)")


class Reading(NamedTuple):
    """What the passages and the answered questions of a prompt come to."""

    question: str
    """The question with the names that earlier answers gave."""
    known: dict[str, str]
    """The questions asked before, as keys, with their answers; an unknown answer is empty."""
    shown: list[Sentence]
    evidence: Evidence
    told: list[str]
    """The answered questions as statements, numbered after the sentences shown."""
    found: Finding

    @property
    def cited(self) -> list[Sentence]:
        """The sentences shown that the answer rests on."""
        return [self.shown[number - 1] for number in self.found.used if number <= len(self.shown)]


def read_all(prompt: Prompt) -> Reading:
    """Read a prompt; without passages only a comparison rule answers, since a fact told in passing is not asked for."""
    question, told, known = prompt.question, list[str](), dict[str, str]()
    for _, line in [*prompt.items("history"), *prompt.items("sub_answers")]:
        asked, _, rest = line.partition("? ")
        said, _, source = rest.partition(" (source: ")
        known[key(asked)] = "" if said == "unknown" or not key(said) else said
        name = next((span.text for span in reversed(names(_ASIDE.sub("", asked)))), "")
        if known[key(asked)]:
            fact = f"{WHICH_IS.sub('', asked)} is {'not' if said == 'no' else said}"
            told.append(write(name, source.removesuffix(")") or fact))
    question = resolved(question, known)
    shown = sentences(prompt.passages)
    told += [text for _, text in [*prompt.items("information"), *prompt.items("assertions")]]
    evidence = gather(question, list(enumerate([*(s.info for s in shown), *told], start=1)))
    found = find(evidence, "yes_no" in prompt.blocks.get("answer_type", ""))
    if known and not shown and not found.compared:
        found = Finding(missing=found.missing)
    return Reading(question, known, shown, evidence, told, found)
