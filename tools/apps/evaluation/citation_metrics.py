"""Citation recall and precision of an answer, sentence by sentence (ALCE: Gao et al. 2023, arXiv:2305.14627).

The entailment checker decides whether passages support a sentence; ALCE uses the model TRUE.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hopgraph.state import Citation, EntailmentChecker
from hopgraph.tools.text import split_sentences

_MARK = re.compile(r" ?\[(\d{1,3})\]")
_HEADING, _BULLET = re.compile(r"#{1,6} "), re.compile(r"(?:[-*+]|\d{1,3}[.)]) +")


class JudgedSentence(NamedTuple):
    """A sentence of an answer, without its marks."""

    text: str
    cited: tuple[int, ...]
    """The numbers of its citations, from 1, without duplicates."""


class CitationScores(NamedTuple):
    """Citation recall and precision of an answer, each from 0 to 1."""

    recall: float
    """Share of sentences that are entailed by their citations together; those without citations are not."""
    precision: float
    """Share of citations in a supported sentence that are not irrelevant to it; 0 without citations.

    A citation is irrelevant if it does not entail the sentence by itself, and the others do without it.
    """


def cited_sentences(answer: str) -> list[JudgedSentence]:
    """Split an answer with marks ([1][2]) into sentences; marks after a full stop belong to the sentence before it.

    Markdown headings are skipped, and list items lose their bullets or numbers.
    """
    moved = re.sub(r"([.!?])((?: ?\[\d{1,3}\])+)", r"\2\1", answer)
    found = (moved[start:end] for start, end in split_sentences(moved))
    return [
        JudgedSentence(
            _MARK.sub("", each[bullet.end() if (bullet := _BULLET.match(each)) else 0 :]),
            tuple(dict.fromkeys(map(int, _MARK.findall(each)))),
        )
        for each in found
        if not _HEADING.match(each)
    ]


def score_citations(
    answer: str, citations: Sequence[Citation], texts: Mapping[str, str], checker: EntailmentChecker
) -> CitationScores:
    """Score the marks of an answer by the cited passages, whose `texts` are given by id. Blocks.

    A mark of anything but a passage (the model's own knowledge) supports nothing and is not counted.
    """
    sentences = [
        (each.text, [key for number in each.cited if (key := _passage(citations, number, texts))])
        for each in cited_sentences(answer)
    ]
    premises = [
        (choice, text)
        for text, keys in sentences
        for choice in dict.fromkeys(
            tuple(choice) for key in keys for choice in (keys, [key], [each for each in keys if each != key]) if choice
        )
    ]
    asked = [("\n\n".join(texts[key] for key in choice), text) for choice, text in premises]
    scores = checker.score(asked) if asked else []
    entailed = {each for each, score in zip(premises, scores, strict=True) if score >= checker.threshold}
    supported = [(text, keys) for text, keys in sentences if (tuple(keys), text) in entailed]
    relevant = [
        ((key,), text) in entailed or (tuple(each for each in keys if each != key), text) not in entailed
        for text, keys in supported
        for key in keys
    ]
    cited = sum(len(keys) for _, keys in sentences)
    return CitationScores(
        len(supported) / len(sentences) if sentences else 0.0, sum(relevant) / cited if cited else 0.0
    )


def _passage(citations: Sequence[Citation], number: int, texts: Mapping[str, str]) -> str:
    """Return the id of the passage that a mark cites; empty if it is not a passage."""
    if not 1 <= number <= len(citations) or citations[number - 1]["kind"] != "passage":
        return ""
    key = citations[number - 1]["passage_id"]
    return key if key in texts else ""
