"""What a prompt gives: the sentences of its passages, and all of it read as one body of evidence."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from hopgraph.tools.models.offline.evidence_graph import EvidenceGraph
from hopgraph.tools.models.offline.prompt_blocks import Prompt, PromptPassage
from hopgraph.tools.models.offline.query_writing import next_queries
from hopgraph.tools.models.offline.question import read_question
from hopgraph.tools.models.offline.reader import Finding, Reader
from hopgraph.tools.models.offline.statements import read, write
from hopgraph.tools.models.offline.terms import key
from hopgraph.tools.text import split_sentences

_MAX_SENTENCES = 300
"""Of all passages of a prompt together; far more than any step shows, so that a reply always comes soon."""
_MAX_CHARACTERS = 1_000


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

    def every() -> Iterator[Sentence]:
        for passage in passages:
            parts = passage.text.split(" … ")
            texts = (part[start:end][:_MAX_CHARACTERS] for part in parts for start, end in split_sentences(part))
            for place, text in enumerate(texts):
                yield Sentence(passage.number, place, text, write(passage.title, text))

    return list(islice(every(), _MAX_SENTENCES))


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


@dataclass(frozen=True)
class PromptReading:
    """What a prompt comes to."""

    question: str
    """The question with the names that earlier answers gave."""
    shown: list[Sentence]
    """The sentences of the passages, the first of the numbered statements."""
    reader: Reader
    found: Finding

    @property
    def cited(self) -> list[Sentence]:
        """The shown sentences that the answer rests on."""
        return [self.shown[number - 1] for number in self.found.used if number <= len(self.shown)]

    @property
    def answer(self) -> str:
        """The answer as far as it can be given: without texts to read only a sure one."""
        return self.found.text if self.found.enough or self.reader.statements else ""

    def quotes(self) -> str:
        """Return the statements that the answer rests on, as one text."""
        return " ".join(s.text for number in self.found.used for s in self.reader.statements if s.number == number)

    def queries(self, asked: list[str], missing: str = "") -> list[str]:
        """Return queries for what is missing, best first; may be empty."""
        return next_queries(self.reader.graph(self.question), asked, missing or self.found.missing_text)


def read_evidence(prompt: Prompt) -> PromptReading:
    """Read a prompt: statements are numbered, the passages' sentences first."""
    known: dict[str, str] = {}
    for _, line in [*prompt.items("history"), *prompt.items("sub_answers")]:
        asked, _, rest = line.partition("? ")
        answer = rest.partition(" (source: ")[0]
        known[key(asked)] = "" if answer == "unknown" or not key(answer) else answer
    shown = sentences(prompt.passages)
    items = [text for name in ("information", "assertions") for _, text in prompt.items(name)]
    numbers: dict[str, int] = {}
    for number, text in enumerate([*(s.info for s in shown), *items], start=1):
        numbers.setdefault(text, number)
    reader = Reader([read(number, text) for text, number in numbers.items()], known)
    question = reader.resolve(prompt.question)
    return PromptReading(
        question, shown, reader, reader.find(question, "yes_no" in prompt.blocks.get("answer_type", ""))
    )
