"""Step events: what a node did, one record for each kind.

A node emits a record (`emit(runtime, Retrieved(…))`); on the wire and in files it is a `StepEvent` with the record's
fields as `data`. Your own method may subclass `Event`; readers that do not know its kind get an `UnknownEvent`.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, ClassVar, Literal, NotRequired, Self, TypeGuard, cast

from pydantic import JsonValue, TypeAdapter, ValidationError
from typing_extensions import TypedDict, dataclass_transform

from hopgraph.state.records import Citation, Passage, Usage


class StepEvent(TypedDict):
    """A step event on the wire; `data` depends on `event`."""

    event: str
    """The record's kind: query, retrieved, filtered, …"""
    node: str
    step: int
    """LangGraph's superstep, from 1; 0 outside a graph."""
    path: str
    """The task's path within its step; orders parallel tasks the same way in every run."""
    number: int
    """Index of the event within its task, from 0."""
    data: dict[str, JsonValue]
    seconds: NotRequired[float]
    """Wall time, for events that measure time."""


def event_order(event: StepEvent) -> tuple[int, str, int]:
    """Return the sort key of a trace: step, task path, number; the same in every run."""
    return event["step"], event["path"], event["number"]


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True, kw_only=True)
class Event:
    """A step event: one node's work, as plain JSON. `class Done(Event, kind="done")` makes a frozen dataclass."""

    event: ClassVar[str]
    """The event's kind on the wire."""

    def __init_subclass__(cls, kind: str = "") -> None:
        """Make the class a dataclass and set its kind, unless it defines `event = …` or inherits it."""
        dataclass(frozen=True, kw_only=True)(cls)
        if kind:
            cls.event = kind
        if kind and cls.__module__ == __name__:
            EVENTS.append(cls)

    @classmethod
    def from_record(cls, record: Mapping[str, Any], **more: Any) -> Self:
        """Make the event from a state record: its fields with the same names, and further keyword arguments."""
        given = {**record, **more}
        return cls(**{each.name: given[each.name] for each in fields(cls) if each.name in given})


EVENTS: list[type[Event]] = []
"""Every kind of event that the methods of this project emit."""


# Queries and what they found


class RetrievalDecided(Event, kind="retrieval"):
    """The decision whether to retrieve, by share of votes."""

    share: float
    """Share of the model's votes or of the nearest training questions, in [0, 1]."""
    needed: bool


class QueryEvent(Event):
    """Something about one query."""

    query: str


class QuerySent(QueryEvent, kind="query"):
    """A query is sent to the retriever."""

    why: str
    """The missing information that it looks for; empty for the question itself."""
    hop: int
    """The iteration, from 1."""


class Retrieved(QueryEvent, kind="retrieved"):
    """The passages retrieved for one query, best first."""

    passage_ids: list[str]
    titles: list[str]
    """One per passage; may be empty strings."""
    scores: list[float]
    """One per passage, descending; a second retriever's follow those of the first."""
    left_out: int = 0
    """Passages left out because they contain the question (`exclude_question_text`)."""
    linked_from: dict[str, str] = field(default_factory=dict[str, str])
    """Passages found through a link → the title of the passage with the link."""

    @classmethod
    def of(cls, query: str, passages: Sequence[Passage], left_out: int) -> "Retrieved":
        """Make the event for a search."""
        linked = ((each["id"], each.get("metadata", {}).get("linked_from")) for each in passages)
        return cls(
            query=query,
            passage_ids=[each["id"] for each in passages],
            titles=[each["title"] for each in passages],
            scores=[each["score"] for each in passages],
            left_out=left_out,
            linked_from={key: title for key, title in linked if isinstance(title, str)},
        )


class GoldGiven(QueryEvent, kind="gold_given"):
    """The caller supplied the passages instead of a retriever."""

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
    """Number of sentences kept; 0 if the whole passage was."""
    whole: bool
    text: str


class Filtered(QueryEvent, kind="filtered"):
    """The passages of one query that a filter kept."""

    threshold: float | None
    """The minimum relevance score; None if there is none, or a model chose."""
    passages_in: int
    sentences_in: int
    """Number of sentences scored; 0 if whole passages were scored."""
    kept: list[KeptExcerpt]


class Reranked(QueryEvent, kind="reranked"):
    """The passages of one query in the reranker's order, without those below the threshold."""

    threshold: float | None
    passages_in: int
    passage_ids: list[str]
    scores: list[float]


class CompressedPassage(TypedDict):
    """A passage with the text that a model made from it."""

    passage_id: str
    text: str


class Compressed(QueryEvent, kind="compressed"):
    """A model compressed passages to summaries or snippets."""

    how: str
    """The step: `summarize` or `snippet`."""
    passages_in: int
    kept: list[CompressedPassage]


class PassagesJudged(QueryEvent, kind="passages_judged"):
    """A model's remarks on the relevance of one query's passages, made before it names the relevant ones."""

    judgement: str


class Recalled(QueryEvent, kind="recalled"):
    """A text written from the model's own knowledge for one query; empty if it knows nothing."""

    known: bool
    text: str


class TopicNamed(Event, kind="topic"):
    """The topic that a model found in the question."""

    topic: str


class Blended(Event, kind="blended"):
    """The queries of BlendFilter, by name: original, external, internal."""

    queries: dict[str, str]


class United(Event, kind="united"):
    """The passages kept for several queries, merged into one list."""

    passage_ids: list[str]


# Statements, decisions, samples


class ExtractedStatement(TypedDict):
    """A statement with the passages that a model cited for it."""

    id: str
    statement: str
    passage_ids: list[str]


class Extracted(QueryEvent, kind="extracted"):
    """The statements that a model extracted from one query's passages."""

    statements: list[ExtractedStatement]
    dropped: int
    """Number of statements that cite no shown passage."""


class CheckedStatement(TypedDict):
    """A statement with its entailment score."""

    id: str
    statement: str
    score: float
    kept: bool


class Verified(Event, kind="verified"):
    """Statements, each entailed by its passages or not."""

    statements: list[CheckedStatement]
    repeated: int
    """Drafts dropped as duplicates of another draft."""


class Decided(Event, kind="decided"):
    """An answer, or the information missing for one."""

    answer: str
    """Empty if there is none."""
    confidence: int | None
    """1 to 5; None if the method does not ask for it."""
    explanation: str
    missing: str
    used: list[str]
    """Ids of the evidence that the answer rests on."""
    final: bool
    """True if the search is over."""


class QueriesGenerated(Event, kind="generated"):
    """New queries for the missing information."""

    queries: list[str]
    missing: str


class Reasoned(Event, kind="reasoned"):
    """A first chain of thought and its answer."""

    reasoning: str
    answer: str


class Sampled(Event, kind="sampled"):
    """Sampled answers; an empty string for a sample without one."""

    answers: list[str]


class Shortened(Event, kind="shortened"):
    """The short answers extracted from chains of thought."""

    sampled: list[str]


class AnswerChosen(Event):
    """The chosen one of several answers."""

    answers: list[str]
    """One per sample or passage; empty if it gives none."""
    chosen: int | None
    """Index into `answers`; None if all are empty."""


class Voted(AnswerChosen, kind="voted"):
    """The sample whose answer most samples agree on."""


class Compared(AnswerChosen, kind="compared"):
    """The sample whose citations support it best."""

    citation_recall: list[float]
    """One per sample, in [0, 1]."""


class AnswersScored(AnswerChosen, kind="scored"):
    """The answers proposed by single passages, and the best one."""

    scores: list[float]
    """The probability over all passages (REPLUG), or the critique's total score (Self-RAG); 0.0 without an answer."""


class Answered(Event, kind="answered"):
    """The run has ended."""

    answer: str
    explanation: str
    stop_reason: str
    citations: list[Citation]
    usage: Usage


# Trees of questions, and hops


class QuestionEvent(Event):
    """Something about one question of a tree."""

    id: str
    question: str


class TreeStarted(QuestionEvent, kind="tree_started"):
    """The root of a question tree."""


class SubQuestion(TypedDict):
    """A part of a question."""

    id: str
    question: str


class Decomposed(QuestionEvent, kind="decomposed"):
    """A question's parts; an empty list if it is not decomposed."""

    depth: int
    sub_questions: list[SubQuestion]


class ReferencesResolved(QuestionEvent, kind="references_resolved"):
    """A part's question as asked, with the answers that it refers to filled in."""


class SelfKnowledgeJudged(QuestionEvent, kind="self_knowledge_judged"):
    """The model's judgement of its own knowledge on a question."""

    known: bool


class RelevanceJudged(QuestionEvent, kind="relevance_judged"):
    """The passages judged useful for a question: relevant, and whether sufficient if all were judged together."""

    passage_ids: list[str]
    relevant: list[str]


class QuestionSettled(QuestionEvent, kind="question_settled"):
    """A question of a tree is settled."""

    parent: str
    depth: int
    status: str
    """`answered` or `unknown`."""
    how: str
    """The source of the answer, or why there is none."""
    answer: str
    explanation: str
    passage_ids: list[str]


class Composed(QuestionSettled, kind="composed"):
    """A question of a tree is settled by the answers to its parts."""


class Deduced(Event, kind="deduced"):
    """The next hop's question, with the reasoning behind it and an answer from memory."""

    hop: int
    question: str
    thought: str
    generated: str
    """The answer from the model's own knowledge; empty without one."""
    repeated: bool
    """True if it was asked before and is therefore dropped."""
    limit: bool
    """True if the limit of hops is reached."""


class Grounded(Event, kind="grounded"):
    """A batch of passages supports or corrects a generated answer, or neither."""

    hop: int
    batch: int
    """From 1."""
    question: str
    passage_ids: list[str]
    outcome: Literal["cited", "empty", "not carried"]
    """`not carried`: no passage of the batch contains one of the cited sentences."""
    cited: str
    answer: str
    passage_id: str
    """The passage that contains the first cited sentence; empty if none does."""
    overlap: float
    """The smallest share, over all cited sentences, of a sentence's terms found in one passage, in [0, 1]."""


class Revised(Event, kind="revised"):
    """A hop's answer is final."""

    hop: int
    question: str
    generated: str
    answer: str
    grounded: bool
    """True if passages support it."""
    changed: bool
    passage_ids: list[str]
    quote: str


class ThoughtAdded(Event, kind="thought_added"):
    """The next sentence of a chain of thought, or the next version of a document."""

    number: int
    """From 1."""
    text: str
    new: bool
    """True if it adds something that no earlier sentence said."""
    reached: bool
    """True if it states the answer."""
    limit: bool
    """True if the limit is reached."""


# Trees of passages


class TreeNode(TypedDict):
    """A new node of a review tree."""

    id: str
    parent: str
    passage_ids: list[str]
    titles: list[str]
    why: NotRequired[str]
    """Why it is not reviewed."""


class Grown(Event, kind="grown"):
    """Paragraphs waiting for a review."""

    nodes: list[TreeNode]


class Pruned(Grown, kind="pruned"):
    """Paragraphs that need no review, each with the reason."""


class Reviewed(Event, kind="reviewed"):
    """The review of one path of paragraphs."""

    id: str
    parent: str
    depth: int
    passage_ids: list[str]
    titles: list[str]
    verdict: str
    """`accept`, `search`, `reject`, or `unread` if no reply could be used."""
    analysis: str
    answer: str
    query: str


class Expanded(Event, kind="expanded"):
    """The query that searches for what a path is missing."""

    id: str
    depth: int
    query: str
    written_by: Literal["call", "review", "question"]


class FusedPiece(TypedDict):
    """An accepted path, as shown to the reader."""

    id: str
    passage_ids: list[str]


class Fused(Event, kind="fused"):
    """The answer over all accepted paths."""

    mode: str
    pieces: list[FusedPiece]
    left_out: list[str]
    """Ids of accepted paths that did not fit."""
    answer: str


# Calls


class Asked(Event, kind="asked"):
    """A model call, including its retries."""

    role: str
    model: str
    outcome: Literal["replied", "fallback", "budget"]
    attempts: int
    cached: int
    prompt_tokens: int
    completion_tokens: int
    parse_failures: int
    seconds: float = 0.0
    """Wall time; 0 for calls by a reranker or an entailment checker."""
    problem: str = ""
    """Why the last unusable reply could not be used, and its beginning; empty without one."""


class Retrying(Event, kind="retrying"):
    """A request failed and will be retried."""

    role: str
    attempt: int
    status: int | None
    """The HTTP status; None if there was no usable response."""
    wait: float
    """Seconds until the retry."""
    problem: str = ""
    """The failure in a few words, e.g. `cannot connect to ADDRESS`; empty in runs of earlier versions."""


class CacheFailed(Event, kind="cache_failed"):
    """A reply could not be written to the cache."""

    role: str
    problem: str


# Conversations and human reviews


class QuestionCondensed(Event, kind="question_condensed"):
    """A conversation's message rewritten as a standalone question."""

    message: str
    question: str
    turns: int
    """Number of earlier turns used."""


class StageEnded(Event, kind="stage_ended"):
    """A stage of a cascade has ended."""

    number: int
    """From 1."""
    method: str
    answer: str
    """Empty for none."""
    accepted: bool
    why: str
    """The reason if it was not accepted, else empty."""
    last: bool
    """True if no other stage follows, because there is none or the budget does not allow it."""


class Routed(Event, kind="routed"):
    """The method that answers a message."""

    kind: str
    """`small_talk`, `single_hop`, `bridge`, `comparison`, `question` (the method is set) or `refused`."""
    method: str
    """Empty for small talk."""
    why: str


class Replied(Event, kind="replied"):
    """The reply of a conversation's turn."""

    text: str
    citations: int


class Approved(Event, kind="approved"):
    """A person's decision on queries or evidence."""

    kind: str
    """`queries` or `evidence`."""
    action: str
    """`approve`, `edit` or `reject`."""
    hop: int
    shown: int
    kept: list[str]


class UnknownEvent(Event):
    """An event of an unknown kind or shape."""

    name: str
    data: dict[str, Any]


def is_step_event(written: object) -> TypeGuard[StepEvent]:
    """Return whether an item of a `custom` stream, where external graphs also write, is a step event."""
    return isinstance(written, Mapping) and StepEvent.__required_keys__ <= cast("Mapping[str, object]", written).keys()


def parse_event(step: StepEvent) -> Event:
    """Parse a step event into its record; an `UnknownEvent` if its kind or shape is unknown."""
    if reader := _reader(step["event"]):
        with suppress(ValidationError):
            return reader.validate_python(step["data"])
    return UnknownEvent(name=step["event"], data=step["data"])


@cache
def _reader(kind: str) -> TypeAdapter[Event] | None:
    return next((TypeAdapter(record) for record in EVENTS if record.event == kind), None)
