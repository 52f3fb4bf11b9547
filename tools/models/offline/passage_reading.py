"""The sentences of the shown passages, and which of them a chain of evidence may need."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from hopgraph.tools.models.offline.evidence_graph import EvidenceGraph
from hopgraph.tools.models.offline.prompt_blocks import PromptPassage
from hopgraph.tools.models.offline.question import read_question
from hopgraph.tools.models.offline.statements import read, write
from hopgraph.tools.text import split_sentences

_MAX_SENTENCES = 300
"""Of all passages of a prompt together; far more than any step shows, so that a reply always comes soon."""
_MAX_CHARACTERS = 1_000
_ELLIPSIS = " … "


@dataclass(frozen=True)
class Sentence:
    """A sentence of a shown passage."""

    passage: int
    place: int
    """Its position in the passage, from 0."""
    sentence: str
    info: str
    """The sentence as a statement that stands alone."""


def sentences(passages: Iterable[PromptPassage]) -> list[Sentence]:
    """Return the sentences of the passages up to a limit, very long ones cut; empty when all are blank.

    A passage that is shown in part has "…" where sentences were left out.
    """
    return list(islice(_sentences(passages), _MAX_SENTENCES))


def _sentences(passages: Iterable[PromptPassage]) -> Iterator[Sentence]:
    for passage in passages:
        parts = passage.text.split(_ELLIPSIS)
        texts = (part[start:end][:_MAX_CHARACTERS] for part in parts for start, end in split_sentences(part))
        for place, text in enumerate(texts):
            yield Sentence(passage.number, place, text, write(passage.title, text))


def useful(question: str, passages: Sequence[PromptPassage]) -> list[Sentence]:
    """Return the useful sentences, best first; empty when none carries anything that the question asks.

    A sentence counts by the question's terms in it and in its chain, by how far its title stands in the
    question, and more when it opens its passage, since that sentence says what the title is.
    """
    every = sentences(passages)
    graph = EvidenceGraph(read_question(question), [read(at, s.info) for at, s in enumerate(every)])
    scored: list[tuple[float, int]] = []
    for at, sentence in enumerate(every):
        own, linked = graph.cover(graph.own[at]), graph.cover(graph.carried(at))
        anchor = graph.anchors.get(graph.statements[at].key, 0.0)
        if linked > 0:
            scored.append((own + 0.3 * anchor + 0.3 * linked + 0.2 * (sentence.place == 0), -at))
    return [every[-at] for _, at in sorted(scored, reverse=True)]
