"""Read a rendered prompt back: its step and its blocks, and what it gives as one body of evidence."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from hopgraph.tools.models.offline.candidates import EvidenceGraph
from hopgraph.tools.models.offline.question import read_question
from hopgraph.tools.models.offline.reader import Finding, Reader
from hopgraph.tools.models.offline.statements import WORD, countries, key, read, term, terms, write
from hopgraph.tools.prompts import unescape
from hopgraph.tools.text import split_sentences

_OPEN = re.compile(r"^<([a-z_]{1,40})>[ \t]*$", re.MULTILINE)
_PASSAGE = re.compile(r'^<passage id="(\d{1,9})" title="([^"\n]*)">', re.MULTILINE)
_ITEM = re.compile(r'^<item id="(\d{1,9})">', re.MULTILINE)
_ROLE = re.compile(r"^Role:[ \t]*(\S{1,200})", re.MULTILINE)
_AT_MOST = re.compile(r"at most (\d{1,3})")
_LONGEST_PASSAGE = 20_000
_LONGEST_ITEM = 2_000
_LONGEST_QUESTION = 3_000
_MOST_PARTS = 250


@dataclass(frozen=True)
class PromptPassage:
    """A passage as the prompt shows it."""

    number: int
    title: str
    text: str


@dataclass(frozen=True)
class Prompt:
    """What the messages ask for."""

    step: str
    """The part of the role after the slash; empty when there is no role line."""
    blocks: dict[str, str]
    at_most: int
    """The limit that the instructions name."""
    instructions: str = ""
    """The system message."""

    @property
    def question(self) -> str:
        """The question, cut to a length that can still be one; empty when there is none."""
        return self.text("question")[:_LONGEST_QUESTION].strip()

    def text(self, name: str) -> str:
        """Return a block as plain text; empty when it is missing."""
        return unescape(self.blocks.get(name, ""))

    @property
    def passages(self) -> list[PromptPassage]:
        """The passages in the prompt's order; very long ones are cut, empty ones left out."""
        _, *parts = _PASSAGE.split(self.blocks.get("passages", ""), _MOST_PARTS)
        texts = (_content(text, "</passage>", _LONGEST_PASSAGE) for text in parts[2::3])
        rows = zip(parts[::3], parts[1::3], texts, strict=True)
        return [PromptPassage(int(number), unescape(title).strip(), text) for number, title, text in rows if text]

    def items(self, name: str) -> list[tuple[int, str]]:
        """Return the (id, text) pairs of a list block; empty when it is missing or `(none)`."""
        _, *parts = _ITEM.split(self.blocks.get(name, ""), _MOST_PARTS)
        texts = (_content(text, "</item>", _LONGEST_ITEM) for text in parts[1::2])
        return [(int(number), text) for number, text in zip(parts[::2], texts, strict=True) if text]


def _content(text: str, closing: str, longest: int) -> str:
    return unescape(text.partition(closing)[0][:longest]).strip()


def _blocks(text: str) -> dict[str, str]:
    blocks: dict[str, str] = {}
    at = 0
    while match := _OPEN.search(text, at):
        end = text.find(f"</{match[1]}>", match.end())
        at = len(text) if end < 0 else end
        blocks.setdefault(match[1], text[match.end() : at].strip())
    return blocks


def role_of(messages: Sequence[BaseMessage]) -> str:
    """Read the role from the line `Role: method/step` of the system message; empty without one."""
    role = _ROLE.search(_system(messages))
    return role[1] if role else ""


def _system(messages: Sequence[BaseMessage]) -> str:
    return next((m.text for m in messages if isinstance(m, SystemMessage)), "")


def read_prompt(messages: Sequence[BaseMessage]) -> Prompt:
    """Read the role from the system message and the blocks from the last human message that has any.

    Demonstrations (earlier human and AI messages) are passed over, and so is what is said after the prompt when a
    reply could not be used. Missing parts are empty.
    """
    said = (m.text for m in reversed(messages) if isinstance(m, HumanMessage))
    human = next((text for text in said if _OPEN.search(text)), "")
    limit = _AT_MOST.search(_system(messages)) or _AT_MOST.search(human[:2_000])
    return Prompt(
        role_of(messages).rpartition("/")[2], _blocks(human), int(limit[1]) if limit else 3, _system(messages)
    )


_MAX_SENTENCES = 300
"""Of all passages of a prompt together; far more than any step shows, so that a reply always comes soon."""
_MAX_CHARACTERS = 1_000
_MAX_QUERIES = 20
_UNKNOWN_FIRST = 2
_MIN_VALUE = 0.6  # how good a name must be to be asked for
_REASONS = re.compile(r" \((?:source|because): ")  # what follows an earlier answer


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
    found: list[Sentence] = []
    for passage in passages:
        parts = passage.text.split(" … ")
        texts = [part[start:end][:_MAX_CHARACTERS] for part in parts for start, end in split_sentences(part)]
        found += [Sentence(passage.number, at, text, write(passage.title, text)) for at, text in enumerate(texts)]
    return found[:_MAX_SENTENCES]


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


def _open_word(graph: EvidenceGraph, carried: frozenset[str]) -> str:
    """Return the heaviest open word that the chain lacks, the asked-for noun last; empty without one."""
    noun = term(graph.question.noun)
    left = [word for word in WORD.findall(graph.question.text) if term(word) in graph.open - carried]
    return max(left, key=lambda word: (term(word) != noun, graph.weights[term(word)]), default="")


def _reached(graph: EvidenceGraph) -> Iterator[tuple[float, str, int]]:
    """Yield the names that the evidence mentions and the question does not: their value, name and statement.

    A name counts by the chain that leads to its statement, by a term of the question right before it, and less
    if statements are about it already.
    """
    for at, statement in enumerate(graph.statements):
        start = graph.statements[graph.chains[at][0]].key
        carried = graph.carried(at)
        reach = graph.cover(carried) + graph.cover(carried & graph.open) + graph.anchors.get(start, 0.0)
        for span in statement.spans:
            name = key(span.text)
            is_name = span.kind in ("name", "quoted", "country")
            if is_name and name != statement.key and f" {name} " not in graph.question.flat:
                near = terms(statement.plain[max(0, span.start - 30) : span.start]) & graph.open
                text = countries()[span.text.lower()] if span.kind == "country" else span.text
                yield reach + 0.5 * bool(near) - 0.3 * (name in graph.anchors), text, at


def _proposals(graph: EvidenceGraph, missing: str) -> Iterator[str]:
    """Yield queries, best first: what is known to be missing, unknown names of the question, reached names."""
    if " of " in missing and "?" not in missing:
        yield from missing.split(";")
    unknown = [name for name in graph.question.names if all(key(name) not in known for known in graph.anchors)]
    yield from unknown[:_UNKNOWN_FIRST]
    for value, name, at in sorted(_reached(graph), key=lambda row: -row[0]):
        if value >= _MIN_VALUE:
            yield f"{name} {_open_word(graph, graph.carried(at))}"
    yield from unknown[_UNKNOWN_FIRST:]


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
    def passages(self) -> list[int]:
        """The numbers of the passages that the answer rests on, in order."""
        return sorted({sentence.passage for sentence in self.cited})

    @property
    def answer(self) -> str:
        """The answer as far as it can be given: without texts to read only a sure one."""
        return self.found.text if self.found.enough or self.reader.statements else ""

    def quotes(self) -> str:
        """Return the statements that the answer rests on, as one text."""
        return " ".join(s.text for number in self.found.used for s in self.reader.statements if s.number == number)

    def queries(self, asked: list[str], missing: str = "") -> list[str]:
        """Return up to 20 queries that differ from the question and every earlier one, best first; may be empty."""
        used, fresh = {key(text) for text in (self.question, *asked)}, dict[str, str]()
        for text in _proposals(self.reader.graph(self.question), missing or self.found.missing_text):
            if key(text) and key(text) not in used:
                fresh.setdefault(key(text), text.strip())
        return [*fresh.values()][:_MAX_QUERIES]


def read_evidence(prompt: Prompt) -> PromptReading:
    """Read a prompt: statements are numbered, the passages' sentences first."""
    known: dict[str, str] = {}
    for _, line in [*prompt.items("history"), *prompt.items("sub_answers")]:
        asked, _, rest = line.partition("? ")
        answer = _REASONS.split(rest, maxsplit=1)[0].removesuffix(" (not grounded)")
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
