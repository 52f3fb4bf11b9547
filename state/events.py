"""Step events: what a node did, one record for each kind.

A node emits a record (`emit(runtime, Retrieved(…))`); on the wire and in files it is a `StepEvent` with the record's
fields as `data`. A method of your own may subclass `Event`; readers that do not know its kind get an `UnknownEvent`.
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
    """The task's path within its step; orders parallel tasks the same in every run."""
    number: int
    """Counts the events of one task, from 0."""
    data: dict[str, JsonValue]
    seconds: NotRequired[float]
    """Wall time, on events that time something."""


def event_order(event: StepEvent) -> tuple[int, str, int]:
    """Sort key of a trace: step, task path, number; the same in every run."""
    return event["step"], event["path"], event["number"]


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True, kw_only=True)
class Event:
    """A step event: the work of one node, as plain JSON. `class Done(Event, kind="done")` makes a frozen dataclass."""

    event: ClassVar[str]
    """The name of its kind on the wire."""

    def __init_subclass__(cls, kind: str = "") -> None:
        """Make the class a dataclass, and name its kind, unless it says `event = …` or inherits it."""
        dataclass(frozen=True, kw_only=True)(cls)
        if kind:
            cls.event = kind
        if kind and cls.__module__ == __name__:
            EVENTS.append(cls)

    @classmethod
    def from_record(cls, record: Mapping[str, Any], **more: Any) -> Self:
        """Make the event of a record of the state: its fields of the same names, and further keyword arguments."""
        given = {**record, **more}
        return cls(**{each.name: given[each.name] for each in fields(cls) if each.name in given})


EVENTS: list[type[Event]] = []
"""Every kind of event that the methods of this project emit."""


# Queries and what they found


class RetrievalDecided(Event, kind="retrieval"):
    """The decision to retrieve or not, by the share of votes for it."""

    share: float
    """Share of the model's votes or of the nearest training questions, in [0, 1]."""
    needed: bool


class QueryEvent(Event):
    """Something about one query."""

    query: str


class QuerySent(QueryEvent, kind="query"):
    """A query goes to the retriever."""

    why: str
    """The missing information that it asks for; empty for the question itself."""
    hop: int
    """The iteration, from 1."""


class Retrieved(QueryEvent, kind="retrieved"):
    """The passages retrieved for one query, best first."""

    passage_ids: list[str]
    titles: list[str]
    """One per passage; may be empty texts."""
    scores: list[float]
    """One per passage, descending; a second retriever's follow those of the first."""
    left_out: int = 0
    """Passages left out because they contain the question (`exclude_question_text`)."""
    linked_from: dict[str, str] = field(default_factory=dict[str, str])
    """Passages that a link brought here → the title of the one that has the link."""

    @classmethod
    def of(cls, query: str, passages: Sequence[Passage], left_out: int) -> "Retrieved":
        """Make the event of a search."""
        linked = ((each["id"], each.get("metadata", {}).get("linked_from")) for each in passages)
        return cls(
            query=query,
            passage_ids=[each["id"] for each in passages],
            titles=[each["title"] for each in passages],
            scores=[each["score"] for each in passages],
            left_out=left_out,
            linked_from={key: title for key, title in linked if isinstance(title, str)},
        )


class PassagesGiven(QueryEvent, kind="given"):
    """The caller gave the passages in place of a retriever."""

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


class Filtered(QueryEvent, kind="filtered"):
    """The passages of one query that a filter kept."""

    threshold: float | None
    """The least relevance score; None if there is none, or a model chose."""
    passages_in: int
    sentences_in: int
    """Sentences scored; 0 where whole passages were weighed."""
    kept: list[KeptExcerpt]


class Reranked(QueryEvent, kind="reranked"):
    """The passages of one query in the reranker's order, without those below the threshold."""

    threshold: float | None
    passages_in: int
    passage_ids: list[str]
    scores: list[float]


class CompressedPassage(TypedDict):
    """A passage with the text that a model made of it."""

    passage_id: str
    text: str


class Compressed(QueryEvent, kind="compressed"):
    """A model cut passages down to summaries or snippets."""

    how: str
    """The step: `summarise` or `snippet`."""
    passages_in: int
    kept: list[CompressedPassage]


class Weighed(QueryEvent, kind="weighed"):
    """A model's remarks on the relevance of one query's passages, before it names the relevant ones."""

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
    """The passages that several queries kept, as one list."""

    passage_ids: list[str]


# Statements, decisions, samples


class ExtractedStatement(TypedDict):
    """A statement with the passages that a model cited for it."""

    id: str
    statement: str
    passage_ids: list[str]


class Extracted(QueryEvent, kind="extracted"):
    """The statements that a model took from one query's passages."""

    statements: list[ExtractedStatement]
    dropped: int
    """Statements without a passage that was shown."""


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
    """An answer, or what is missing for one."""

    answer: str
    """Empty if there is none."""
    confidence: int | None
    """1 to 5; None where the method does not ask for it."""
    explanation: str
    missing: str
    used: list[str]
    """Ids of the evidence that the answer rests on."""
    final: bool
    """True if nothing more is searched."""


class QueriesGenerated(Event, kind="generated"):
    """New queries for the missing information."""

    queries: list[str]
    missing: str


class Reasoned(Event, kind="reasoned"):
    """A first chain of thought, and the answer that it comes to."""

    reasoning: str
    answer: str


class Sampled(Event, kind="sampled"):
    """Sampled answers; empty texts for samples without one."""

    answers: list[str]


class Shortened(Event, kind="shortened"):
    """The short answers that chains of thought were cut down to."""

    sampled: list[str]


class AnswerChosen(Event):
    """The chosen one of several answers."""

    answers: list[str]
    """One per sample or passage; empty where it gives none."""
    chosen: int | None
    """Index into `answers`; None where all are empty."""


class Voted(AnswerChosen, kind="voted"):
    """The sample whose answer most samples agree on."""


class Compared(AnswerChosen, kind="compared"):
    """The sample whose citations support it best."""

    citation_recall: list[float]
    """One per sample, in [0, 1]."""


class AnswersScored(AnswerChosen, kind="scored"):
    """The answers that single passages propose, and the best."""

    scores: list[float]
    """The probability over all passages (REPLUG), or what the critique adds up to (Self-RAG); 0.0 without an answer."""


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


class Planted(QuestionEvent, kind="planted"):
    """The root of a question tree."""


class SubQuestion(TypedDict):
    """A part of a question."""

    id: str
    question: str


class Decomposed(QuestionEvent, kind="decomposed"):
    """The parts of a question; none where it stays whole."""

    depth: int
    sub_questions: list[SubQuestion]


class ReferencesFilled(QuestionEvent, kind="filled"):
    """A part's question as it is asked, with the answers in it that it referred to."""


class SelfKnowledgeJudged(QuestionEvent, kind="judged"):
    """The model's judgement of its own knowledge of a question."""

    of: Literal["self_knowledge"] = "self_knowledge"
    known: bool


class RelevanceJudged(QuestionEvent, kind="judged"):
    """Which passages a model found to answer a question from: relevant, and enough where it judged all together."""

    of: Literal["passages"] = "passages"
    passage_ids: list[str]
    relevant: list[str]


class Solved(QuestionEvent, kind="solved"):
    """A question of a tree is settled."""

    parent: str
    depth: int
    status: str
    """`answered` or `unknown`."""
    how: str
    """Where the answer comes from, or why there is none."""
    answer: str
    explanation: str
    passage_ids: list[str]


class Composed(Solved, kind="composed"):
    """A question of a tree is settled by the answers to its parts."""


class Deduced(Event, kind="deduced"):
    """The next hop's question, with the thought that led to it and an answer from memory."""

    hop: int
    question: str
    thought: str
    generated: str
    """The answer from the model's own knowledge; empty without one."""
    repeated: bool
    """True if it was asked before, and so is not followed."""
    limit: bool
    """True if no more are allowed."""


class Grounded(Event, kind="grounded"):
    """A batch of passages supports or corrects a generated answer, or does neither."""

    hop: int
    batch: int
    """From 1."""
    question: str
    passage_ids: list[str]
    outcome: Literal["cited", "empty", "not carried"]
    """`not carried`: no passage of the batch contains one of the sentences that were cited."""
    cited: str
    answer: str
    passage_id: str
    """The passage that contains the first sentence of the citation; empty without one."""
    overlap: float
    """The share of a cited sentence's terms that one passage contains, the smallest of all sentences, in [0, 1]."""


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


class ThoughtAdded(Event, kind="thought"):
    """The next sentence of a chain of thought, or the next version of a document."""

    number: int
    """From 1."""
    text: str
    new: bool
    """True if it says something that no sentence before it said."""
    reached: bool
    """True if it states the answer."""
    limit: bool
    """True if no more are allowed."""


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
    """Paragraphs that wait for a review."""

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
    """`accept`, `search`, `reject`, or `unread` where no reply could be used."""
    analysis: str
    answer: str
    query: str


class Expanded(Event, kind="expanded"):
    """The query that looks for what a path still lacks."""

    id: str
    depth: int
    query: str
    written_by: Literal["call", "review", "question"]


class FusedPiece(TypedDict):
    """An accepted path, as the reader sees it."""

    id: str
    passage_ids: list[str]


class Fused(Event, kind="fused"):
    """The answer over all accepted paths."""

    mode: str
    pieces: list[FusedPiece]
    left_out: list[str]
    """Ids of accepted paths for which there was no room."""
    answer: str


# Calls


class Asked(Event, kind="asked"):
    """A model call, with its re-asks."""

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
    problem: str = ""
    """Why the last unusable reply could not be used, and how it began; empty without one."""


class Retrying(Event, kind="retrying"):
    """A request failed and is sent again."""

    role: str
    attempt: int
    status: int | None
    """The HTTP status; None where no usable reply came."""
    wait: float
    """Seconds until then."""
    problem: str = ""
    """The failure in a few words, e.g. `cannot connect to ADDRESS`; empty in runs of earlier versions."""


class CacheFailed(Event, kind="cache_failed"):
    """A reply could not be written to the cache."""

    role: str
    problem: str


# Conversations and reviews by people


class Contextualised(Event, kind="contextualised"):
    """A message of a conversation as a question that stands alone."""

    message: str
    question: str
    turns: int
    """Earlier turns that were read with it."""


class StageEnded(Event, kind="stage_ended"):
    """A stage of a cascade has ended."""

    number: int
    """From 1."""
    method: str
    answer: str
    """Empty for none."""
    accepted: bool
    why: str
    """Why not; empty where it is."""
    last: bool
    """True if no other stage follows, as there is none, or the budget does not reach for it."""


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
    """An event of a kind, or of a shape, that is not known here."""

    name: str
    data: dict[str, Any]


def is_step_event(written: object) -> TypeGuard[StepEvent]:
    """Return whether something on a `custom` stream, where external graphs write, too, is a step event."""
    return isinstance(written, Mapping) and StepEvent.__required_keys__ <= cast("Mapping[str, object]", written).keys()


def parse_event(step: StepEvent) -> Event:
    """Read a step event as its record; an `UnknownEvent` where its kind or its shape is not known here."""
    for reader in _readers(step["event"]):
        with suppress(ValidationError):
            return reader.validate_python(step["data"])
    return UnknownEvent(name=step["event"], data=step["data"])


@cache
def _readers(kind: str) -> list[TypeAdapter[Event]]:
    return [TypeAdapter(record) for record in EVENTS if record.event == kind]
