"""The state that every method shares; a method's own file adds its keys."""

from typing import Annotated, Any

from pydantic import JsonValue
from typing_extensions import TypedDict

from hopgraph.state.records import Call, Candidates, Citation, Evidence, Knowledge, Passage, Query, StopReason, Usage
from hopgraph.state.reducers import merge_calls, merge_evidence, merge_ids, merge_passages

Update = dict[str, Any]
"""A node's update: some keys of its state, merged by their reducers or else replaced."""


class QuestionInput(TypedDict):
    """The input of every method."""

    question: str
    """The user's question, at most `MAX_TEXT_CHARACTERS` long."""


class AnswerOutput(TypedDict):
    """The output of every method."""

    answer: str
    """A short string, or as `answer_type` says; empty if there is none."""
    markdown: bool
    """True if the answer is Markdown, as full answers are: inert, with citation marks [1], [2]."""
    explanation: str
    """The model's explanation; may be empty."""
    citations: list[Citation]
    """The passages that support the answer, in the order of the evidence."""
    passages: Annotated[list[Passage], merge_passages]
    """One ranked list: cited passages first, then by first retrieval and score."""
    stop_reason: StopReason | None
    """None until the run answers or reaches a limit; a limit is kept even if a final answer follows."""
    usage: Usage


class BudgetState(TypedDict):
    """Keys that `ask` needs to enforce the budget."""

    calls: Annotated[dict[str, Call], merge_calls]
    """Every model call and retrieval so far, by id (superstep, path, number, its role or its retriever's number)."""
    started_at: float
    """Start of the run, in seconds since the epoch."""


RUN_KEYS = frozenset({*BudgetState.__annotations__, "settings"})
"""Keys that only the run itself writes: its usage, start time and settings."""


class FoundState(TypedDict):
    """Input of nodes that process retrieved passages."""

    candidates: list[Candidates]
    passages: list[Passage]


class SearchState(BudgetState):
    """The run's settings, searches and their review, in the state of a method and of its subgraphs."""

    queries: list[Query]
    """Queries of this iteration."""
    approved: list[Query | None]
    """The reviewer's version of `queries`: for each the query to send or None, then added ones; empty if unreviewed."""
    reviewed: Annotated[list[str], merge_ids]
    """Names of the nodes whose review is done; not passed to nodes."""
    asked: list[str]
    """Memory: every query proposed or sent so far, starting with the question, in order."""
    excluded: Annotated[list[str], merge_ids]
    """Memory: ids of passages not to retrieve again."""
    shown: dict[str, list[list[int]]]
    """MIGRES's memory: by passage, the [start, end) spans shown, once per prompt, and once more for each kept
    statement that cites the passage."""
    candidates: list[Candidates]
    """The results of this iteration: an entry per proposed query, empty if it was not sent; if
    reviewers may add queries (MIGRES), an entry per query sent, or a single empty one."""
    iteration: int
    """The current iteration, from 1."""
    settings: dict[str, JsonValue]
    """The settings that the run started with, except limits and operation; resuming with others is refused.
    Not passed to nodes, whose settings are in `runtime.context`."""


class MethodState(QuestionInput, AnswerOutput, SearchState):
    """The shared keys of every method's state."""

    knowledge: list[Knowledge]
    """Excerpts kept from the candidates, one entry per query; recalled knowledge if nothing was kept."""
    evidence: Annotated[list[Evidence], merge_evidence]
    """All statements kept so far, in the order of the run."""
    used: list[str]
    """Ids of the evidence that supports the answer."""


MAX_TEXT_CHARACTERS = 10_000
"""Maximum length of a question, statement, explanation or reply. A longer question is refused: it is a
document, which no retriever or prompt is designed for."""
