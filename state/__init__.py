"""The records, reducers, settings and errors that every graph shares.

Exports are imported on first use: settings import LangChain, and converting a document should not have to wait for
that.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
        Passage,
        Query,
        SourceLocation,
        StopReason,
        Usage,
        empty_call,
    )
    from hopgraph.state.schemas import AnswerOutput, BudgetState, MethodState, QuestionInput, Update

__all__ = [
    "AnswerOutput",
    "BadRecordError",
    "BudgetState",
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
    "Passage",
    "PromptError",
    "Query",
    "QuestionError",
    "QuestionInput",
    "Reranker",
    "RunError",
    "SettingsError",
    "SourceLocation",
    "SpecError",
    "StepEvent",
    "StopReason",
    "Update",
    "Usage",
    "empty_call",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        for module in ("errors", "records", "protocols", "events", "context", "schemas"):
            if name in (found := vars(import_module(f"{__name__}.{module}"))):
                return found[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
