"""The records, reducers, settings and errors that every graph shares."""

from hopgraph.state.context import Context
from hopgraph.state.errors import (
    BadRecordError,
    CorpusError,
    HopgraphError,
    ModelError,
    PromptError,
    QuestionError,
    RunError,
    SettingsError,
    SpecError,
)
from hopgraph.state.events import Event, StepEvent
from hopgraph.state.protocols import EntailmentChecker, Reranker
from hopgraph.state.records import (
    Call,
    Candidates,
    Citation,
    Draft,
    Evidence,
    Excerpt,
    Knowledge,
    Origin,
    Passage,
    Query,
    StopReason,
    Usage,
    empty_call,
)
from hopgraph.state.schemas import AnswerOutput, MethodState, QuestionInput, Spent, Update

__all__ = [
    "AnswerOutput",
    "BadRecordError",
    "Call",
    "Candidates",
    "Citation",
    "Context",
    "CorpusError",
    "Draft",
    "EntailmentChecker",
    "Event",
    "Evidence",
    "Excerpt",
    "HopgraphError",
    "Knowledge",
    "MethodState",
    "ModelError",
    "Origin",
    "Passage",
    "PromptError",
    "Query",
    "QuestionError",
    "QuestionInput",
    "Reranker",
    "RunError",
    "SettingsError",
    "SpecError",
    "Spent",
    "StepEvent",
    "StopReason",
    "Update",
    "Usage",
    "empty_call",
]
