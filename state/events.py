"""Step events: what a node did, one record for each kind.

A node emits a record (`emit(runtime, Retrieved(…))`); on the wire, in traces and in files it is a `StepEvent`,
whose `data` are the record's fields. `parse_event` reads one back. A method of
your own may subclass `Event` with a kind of its own; readers that do not know it get an `UnknownEvent`.
"""

from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal, NotRequired, TypeAlias, get_args

from pydantic import JsonValue, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from hopgraph.state.records import Citation, Usage


class StepEvent(TypedDict):
    """A step event on the wire; `data` depends on `event`."""

    event: str
    """The record's kind: query, retrieved, filtered, …"""
    node: str
    step: int
    """LangGraph's superstep, from 1; 0 outside a graph."""
    path: str
    """The task's path within its step; orders parallel tasks the same in every run."""
    number: int
    """Counts the events of one task, from 0."""
    data: dict[str, JsonValue]
    seconds: NotRequired[float]
    """Wall time, on events that time something."""


def event_order(event: StepEvent) -> tuple[int, str, int]:
    """Sort key of a trace: step, task path, number; the same in every run."""
    return event["step"], event["path"], event["number"]


@dataclass(frozen=True, kw_only=True)
class Event:
    """What a node did; every field is plain JSON."""

    event: ClassVar[str]
    """The name of its kind on the wire."""


# Queries and what they found


@dataclass(frozen=True, kw_only=True)
class QuerySent(Event):
    """A query goes to the retriever."""

    event: ClassVar[str] = "query"
    query: str
    why: str
    """The missing information that it asks for; empty for the question itself."""
    hop: int
    """The iteration, from 1."""


@dataclass(frozen=True, kw_only=True)
class Retrieved(Event):
    """What the retriever found for one query, best first."""

    event: ClassVar[str] = "retrieved"
    query: str
    passage_ids: list[str]
    titles: list[str]
    """One per passage; may be empty texts."""
    scores: list[float]
    """One per passage, descending."""
    left_out: int = 0
    """Passages left out because they contain the question (`leave_out_question`)."""


@dataclass(frozen=True, kw_only=True)
class PassagesGiven(Event):
    """The caller gave the passages in place of a retriever."""

    event: ClassVar[str] = "given"
    query: str
    passage_ids: list[str]
    titles: list[str]


class KeptExcerpt(TypedDict):
    """A passage, or the part of it, that a filter kept."""

    passage_id: str
    title: str
    score: float
    spans: list[list[int]]
    """[start, end) offsets into the passage's text."""
    sentences: int
    """Sentences kept; 0 where the whole passage was."""
    whole: bool
    text: str


@dataclass(frozen=True, kw_only=True)
class Filtered(Event):
    """What a filter kept of one query's passages."""

    event: ClassVar[str] = "filtered"
    query: str
    threshold: float | None
    """The least relevance score; None where there is none, or a model chose."""
    passages_in: int
    sentences_in: int
    """Sentences scored; 0 where whole passages were weighed."""
    kept: list[KeptExcerpt]


@dataclass(frozen=True, kw_only=True)
class Reranked(Event):
    """The passages of one query in the reranker's order, without those below the threshold."""

    event: ClassVar[str] = "reranked"
    query: str
    threshold: float | None
    passages_in: int
    passage_ids: list[str]
    scores: list[float]


class CompressedPassage(TypedDict):
    """A passage with the text that a model made of it."""

    passage_id: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Compressed(Event):
    """A model cut passages down to summaries or snippets."""

    event: ClassVar[str] = "compressed"
    query: str
    how: str
    """The step: `summarise` or `snippet`."""
    passages_in: int
    kept: list[CompressedPassage]


@dataclass(frozen=True, kw_only=True)
class Weighed(Event):
    """What a model said about the relevance of one query's passages, before it named the relevant ones."""

    event: ClassVar[str] = "weighed"
    query: str
    judgement: str


@dataclass(frozen=True, kw_only=True)
class Recalled(Event):
    """What a model wrote from its own knowledge for one query."""

    event: ClassVar[str] = "recalled"
    query: str
    known: bool
    text: str
    """Empty where it knows nothing."""


@dataclass(frozen=True, kw_only=True)
class TopicNamed(Event):
    """The topic that a model found in the question."""

    event: ClassVar[str] = "topic"
    topic: str


@dataclass(frozen=True, kw_only=True)
class Blended(Event):
    """The queries of BlendFilter's branches, by the branch's name."""

    event: ClassVar[str] = "blended"
    queries: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class United(Event):
    """The passages that several queries kept, as one list."""

    event: ClassVar[str] = "united"
    passage_ids: list[str]


# Statements, decisions, samples


class ExtractedStatement(TypedDict):
    """A statement with the passages that a model cited for it."""

    id: str
    statement: str
    passage_ids: list[str]


@dataclass(frozen=True, kw_only=True)
class Extracted(Event):
    """The statements that a model took from one query's passages."""

    event: ClassVar[str] = "extracted"
    query: str
    statements: list[ExtractedStatement]
    dropped: int
    """Statements without a passage that was shown."""


class CheckedStatement(TypedDict):
    """A statement with its entailment score."""

    id: str
    statement: str
    score: float
    kept: bool


@dataclass(frozen=True, kw_only=True)
class Verified(Event):
    """Which statements their passages entail."""

    event: ClassVar[str] = "verified"
    statements: list[CheckedStatement]
    repeated: int
    """Drafts dropped as duplicates of another draft."""


@dataclass(frozen=True, kw_only=True)
class Decided(Event):
    """An answer, or what is missing for one."""

    event: ClassVar[str] = "decided"
    answer: str
    """Empty where there is none."""
    confidence: int | None
    """1 to 5; None where the method does not ask for it."""
    explanation: str
    missing: str
    used: list[str]
    """Ids of the evidence that the answer rests on."""
    final: bool
    """Whether nothing more is searched."""


@dataclass(frozen=True, kw_only=True)
class QueriesGenerated(Event):
    """New queries for the missing information."""

    event: ClassVar[str] = "generated"
    queries: list[str]
    missing: str


@dataclass(frozen=True, kw_only=True)
class Reasoned(Event):
    """A first chain of thought, and the answer that it comes to."""

    event: ClassVar[str] = "reasoned"
    reasoning: str
    answer: str


@dataclass(frozen=True, kw_only=True)
class Sampled(Event):
    """Sampled answers; empty texts for samples without one."""

    event: ClassVar[str] = "sampled"
    answers: list[str]


@dataclass(frozen=True, kw_only=True)
class Shortened(Event):
    """The short answers that chains of thought were cut down to."""

    event: ClassVar[str] = "shortened"
    sampled: list[str]


@dataclass(frozen=True, kw_only=True)
class Voted(Event):
    """The sample whose answer most samples agree on."""

    event: ClassVar[str] = "voted"
    answers: list[str]
    chosen: int | None
    """Index into `answers`; None where no sample has an answer."""


@dataclass(frozen=True, kw_only=True)
class Compared(Event):
    """The sample whose citations support it best."""

    event: ClassVar[str] = "compared"
    answers: list[str]
    citation_recall: list[float]
    """One per sample, in [0, 1]."""
    chosen: int | None


@dataclass(frozen=True, kw_only=True)
class Answered(Event):
    """The run has ended."""

    event: ClassVar[str] = "answered"
    answer: str
    explanation: str
    stop_reason: str
    citations: list[Citation]
    usage: Usage


# Trees of questions, and hops


@dataclass(frozen=True, kw_only=True)
class Planted(Event):
    """The root of a question tree."""

    event: ClassVar[str] = "planted"
    id: str
    question: str


class SubQuestion(TypedDict):
    """A part of a question."""

    id: str
    question: str


@dataclass(frozen=True, kw_only=True)
class Decomposed(Event):
    """The parts of a question; none where it stays whole."""

    event: ClassVar[str] = "decomposed"
    id: str
    depth: int
    question: str
    sub_questions: list[SubQuestion]


@dataclass(frozen=True, kw_only=True)
class SelfKnowledgeJudged(Event):
    """Whether the model knows the answer to a question."""

    event: ClassVar[str] = "judged"
    id: str
    question: str
    of: Literal["self_knowledge"] = "self_knowledge"
    known: bool


@dataclass(frozen=True, kw_only=True)
class RelevanceJudged(Event):
    """Which passages a model found relevant to a question."""

    event: ClassVar[str] = "judged"
    id: str
    question: str
    of: Literal["passages"] = "passages"
    passage_ids: list[str]
    relevant: list[str]


@dataclass(frozen=True, kw_only=True)
class Solved(Event):
    """A question of a tree is settled."""

    event: ClassVar[str] = "solved"
    id: str
    parent: str
    depth: int
    question: str
    status: str
    """`answered` or `unknown`."""
    how: str
    """Where the answer comes from, or why there is none."""
    answer: str
    explanation: str
    passage_ids: list[str]


@dataclass(frozen=True, kw_only=True)
class Composed(Solved):
    """A question of a tree is settled by the answers to its parts."""

    event: ClassVar[str] = "composed"


@dataclass(frozen=True, kw_only=True)
class Deduced(Event):
    """The next hop's question, with the thought that led to it and an answer from memory."""

    event: ClassVar[str] = "deduced"
    hop: int
    question: str
    thought: str
    generated: str
    """The answer from the model's own knowledge; empty without one."""
    repeated: bool
    """Whether it was asked before, and so is not followed."""
    limit: bool
    """Whether no more hops are allowed."""


@dataclass(frozen=True, kw_only=True)
class Grounded(Event):
    """Whether a batch of passages supports or corrects a generated answer."""

    event: ClassVar[str] = "grounded"
    hop: int
    batch: int
    """From 1."""
    question: str
    passage_ids: list[str]
    outcome: Literal["cited", "empty", "not carried"]
    """`not carried`: no passage of the batch contains what was cited."""
    cited: str
    answer: str
    passage_id: str
    """The passage that contains the citation; empty without one."""
    overlap: float
    """The share of the citation's terms that the passage contains, in [0, 1]."""


@dataclass(frozen=True, kw_only=True)
class Revised(Event):
    """A hop's answer is final."""

    event: ClassVar[str] = "revised"
    hop: int
    question: str
    generated: str
    answer: str
    grounded: bool
    """Whether passages support it."""
    changed: bool
    """Whether it differs from the generated one."""
    passage_ids: list[str]
    quote: str


@dataclass(frozen=True, kw_only=True)
class ThoughtAdded(Event):
    """The next sentence of a chain of thought."""

    event: ClassVar[str] = "thought"
    number: int
    """From 1."""
    text: str
    new: bool
    """Whether it says something that no sentence before it said."""
    reached: bool
    """Whether it states the answer."""
    limit: bool
    """Whether no more sentences are allowed."""


# Trees of passages


class TreeNode(TypedDict):
    """A new node of a review tree."""

    id: str
    parent: str
    passage_ids: list[str]
    titles: list[str]
    why: NotRequired[str]
    """Why it is not reviewed."""


@dataclass(frozen=True, kw_only=True)
class Grown(Event):
    """Paragraphs that wait for a review."""

    event: ClassVar[str] = "grown"
    nodes: list[TreeNode]


@dataclass(frozen=True, kw_only=True)
class Pruned(Grown):
    """Paragraphs that need no review, each with the reason."""

    event: ClassVar[str] = "pruned"


@dataclass(frozen=True, kw_only=True)
class Reviewed(Event):
    """The review of one path of paragraphs."""

    event: ClassVar[str] = "reviewed"
    id: str
    parent: str
    depth: int
    passage_ids: list[str]
    titles: list[str]
    verdict: str
    """`accept`, `search`, `reject`, or `unread` where no reply could be used."""
    analysis: str
    answer: str
    query: str


@dataclass(frozen=True, kw_only=True)
class Expanded(Event):
    """The query that looks for what a path still lacks."""

    event: ClassVar[str] = "expanded"
    id: str
    depth: int
    query: str
    written_by: Literal["call", "review", "question"]


class FusedPiece(TypedDict):
    """An accepted path, as the reader sees it."""

    id: str
    passage_ids: list[str]


@dataclass(frozen=True, kw_only=True)
class Fused(Event):
    """The answer over all accepted paths."""

    event: ClassVar[str] = "fused"
    mode: str
    pieces: list[FusedPiece]
    left_out: list[str]
    """Ids of accepted paths for which there was no room."""
    answer: str


# Calls


@dataclass(frozen=True, kw_only=True)
class Asked(Event):
    """A model call, with its re-asks."""

    event: ClassVar[str] = "asked"
    role: str
    model: str
    outcome: Literal["replied", "fallback", "budget"]
    attempts: int
    cached: int
    prompt_tokens: int
    completion_tokens: int
    parse_failures: int
    seconds: float = 0.0
    """Wall time; 0 for the calls of a reranker or an entailment checker."""


@dataclass(frozen=True, kw_only=True)
class Retrying(Event):
    """A request failed and is sent again."""

    event: ClassVar[str] = "retrying"
    role: str
    attempt: int
    status: int | None
    """The HTTP status; None where no usable reply came."""
    wait: float
    """Seconds until then."""


@dataclass(frozen=True, kw_only=True)
class CacheFailed(Event):
    """A reply could not be written to the cache."""

    event: ClassVar[str] = "cache_failed"
    role: str
    problem: str


# Conversations and reviews by people


@dataclass(frozen=True, kw_only=True)
class Contextualised(Event):
    """A message of a conversation as a question that stands alone."""

    event: ClassVar[str] = "contextualised"
    message: str
    question: str
    turns: int
    """Earlier turns that were read with it."""


@dataclass(frozen=True, kw_only=True)
class Routed(Event):
    """The method that answers a message."""

    event: ClassVar[str] = "routed"
    kind: str
    """`small_talk`, `single_hop`, `bridge`, `comparison` or `refused`."""
    method: str
    """Empty for small talk."""
    why: str


@dataclass(frozen=True, kw_only=True)
class Replied(Event):
    """The reply of a conversation's turn."""

    event: ClassVar[str] = "replied"
    text: str
    citations: int


@dataclass(frozen=True, kw_only=True)
class Approved(Event):
    """What a person decided about queries or evidence."""

    event: ClassVar[str] = "approved"
    kind: str
    """`queries` or `evidence`."""
    action: str
    """`approve`, `edit` or `reject`."""
    hop: int
    shown: int
    kept: list[str]


@dataclass(frozen=True)
class UnknownEvent:
    """An event of a kind, or of a shape, that is not known here."""

    name: str
    data: dict[str, Any]


AnyEvent: TypeAlias = (
    QuerySent
    | Retrieved
    | PassagesGiven
    | Filtered
    | Reranked
    | Compressed
    | Weighed
    | Recalled
    | TopicNamed
    | Blended
    | United
    | Extracted
    | Verified
    | Decided
    | QueriesGenerated
    | Reasoned
    | Sampled
    | Shortened
    | Voted
    | Compared
    | Answered
    | Planted
    | Decomposed
    | SelfKnowledgeJudged
    | RelevanceJudged
    | Solved
    | Composed
    | Deduced
    | Grounded
    | Revised
    | ThoughtAdded
    | Grown
    | Pruned
    | Reviewed
    | Expanded
    | Fused
    | Asked
    | Retrying
    | CacheFailed
    | Contextualised
    | Routed
    | Replied
    | Approved
)
"""Every kind of event that the methods of this project emit."""


def parse_event(step: StepEvent) -> AnyEvent | UnknownEvent:
    """Read a step event as its record; an `UnknownEvent` where its kind or its shape is not known here."""
    for reader in _readers().get(step["event"], ()):
        with suppress(ValidationError):
            return reader.validate_python(step["data"])
    return UnknownEvent(step["event"], step["data"])


@cache
def _readers() -> dict[str, list[TypeAdapter[AnyEvent]]]:
    readers: dict[str, list[TypeAdapter[AnyEvent]]] = {}
    for record in get_args(AnyEvent):
        readers.setdefault(record.event, []).append(TypeAdapter(record))
    return readers
