"""The records, reducers, settings and errors that every graph shares."""

from hopgraph.state.errors import (
    BadRecordError,
    CorpusError,
    HopgraphError,
    ModelError,
    PromptError,
    QuestionError,
    SettingsError,
    SpecError,
)
from hopgraph.state.protocols import EntailmentChecker, Reranker
from hopgraph.state.records import (
    Call,
    Candidates,
    Citation,
    Evidence,
    Excerpt,
    Knowledge,
    Passage,
    Query,
    StepEvent,
    StopReason,
    Usage,
)

__all__ = [
    "BadRecordError",
    "Call",
    "Candidates",
    "Citation",
    "CorpusError",
    "EntailmentChecker",
    "Evidence",
    "Excerpt",
    "HopgraphError",
    "Knowledge",
    "ModelError",
    "Passage",
    "PromptError",
    "Query",
    "QuestionError",
    "Reranker",
    "SettingsError",
    "SpecError",
    "StepEvent",
    "StopReason",
    "Usage",
]
