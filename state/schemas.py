"""The state that every method shares; a method's own file adds its keys."""

from typing import Annotated, Any

from pydantic import JsonValue
from typing_extensions import TypedDict

from hopgraph.state.records import Call, Candidates, Citation, Evidence, Knowledge, Passage, Query, StopReason, Usage
from hopgraph.state.reducers import merge_calls, merge_evidence, merge_ids, merge_passages

Update = dict[str, Any]
"""What a node writes: some keys of its state, each with what its reducer merges, else with what takes its place."""


class QuestionInput(TypedDict):
    """What a caller gives."""

    question: str
    """The user's question, at most `MAX_TEXT_CHARACTERS` long."""


class AnswerOutput(TypedDict):
    """What a caller gets from every method."""

    answer: str
    """A short string, or as `answer_type` says; empty when there is none."""
    markdown: bool
    """Whether the answer is Markdown, as a full one is: inert, with the marks [1], [2] of its citations."""
    explanation: str
    """The model's explanation; may be empty."""
    citations: list[Citation]
    """The passages that the answer rests on, in the order of the evidence."""
    passages: Annotated[list[Passage], merge_passages]
    """One ranked list: cited first, then by first retrieval and score."""
    stop_reason: StopReason | None
    """None until the run answers or reaches a limit; a limit stays, even if a final answer follows."""
    usage: Usage


class Spent(TypedDict):
    """What `ask` needs of the state to obey the budget."""

    calls: Annotated[dict[str, Call], merge_calls]
    """Every model call and retrieval so far, by id (superstep, path, number, its role or its retriever's number)."""
    started_at: float
    """When the run began, in seconds since the epoch."""


RUN_KEYS = frozenset({*Spent.__annotations__, "settings"})
"""What only a run itself writes: what it has spent, since when, and under which settings."""


class FoundState(TypedDict):
    """Input of nodes that process retrieved passages."""

    candidates: list[Candidates]
    passages: list[Passage]


class SearchState(Spent):
    """The run's settings, its searches and their review, in a method's state and in that of its subgraphs."""

    queries: list[Query]
    """What this iteration asks the retriever."""
    approved: list[Query | None]
    """What a reviewer made of `queries`: for each the query to send, or None; then those added; empty without one."""
    reviewed: Annotated[list[str], merge_ids]
    """Names of the nodes whose reviews took place; not handed to nodes."""
    asked: list[str]
    """Memory: every query proposed or sent so far, the question first, in order."""
    excluded: Annotated[list[str], merge_ids]
    """Memory: ids of passages that are not to be retrieved again."""
    shown: dict[str, list[list[int]]]
    """MIGRES's memory: by passage, the [start, end) spans that were shown, once for each prompt, and once more where a
    kept statement cites the passage."""
    candidates: list[Candidates]
    """What the retriever found in this iteration: an entry per proposed query, empty where it was not sent; where
    reviewers may add queries (MIGRES), an entry per query that was sent, or a single empty one."""
    iteration: int
    """The current iteration, from 1."""
    settings: dict[str, JsonValue]
    """The settings that the run began with, but for limits and operation; a resumed run is refused when they differ.
    Not handed to nodes, whose settings are `runtime.context`."""


class MethodState(QuestionInput, AnswerOutput, SearchState):
    """The shared keys of every method's state."""

    knowledge: list[Knowledge]
    """What was kept of the candidates, one entry per query; recalled knowledge where nothing was."""
    evidence: Annotated[list[Evidence], merge_evidence]
    """All statements kept so far, in the order of the run."""
    used: list[str]
    """Ids of the evidence that the answer rests on."""


MAX_TEXT_CHARACTERS = 10_000
"""The limit of a question, a statement, an explanation or a reply's text. A longer question is refused: it is a
document, and no retriever or prompt is made for it."""
