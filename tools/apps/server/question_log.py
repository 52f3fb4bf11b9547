"""What an operator sees of each question: a line of the log, and the counters of `/metrics`; no keys, and no text.

The line has the request's id, the user, the method, the outcome, the model calls, the seconds and, where it failed,
the cause. The question itself is in it only with HOPGRAPH_LOG_QUESTIONS=1.
"""

import json
import logging
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from typing_extensions import override

from hopgraph.state import HopgraphError
from hopgraph.tools.apps.server.daily_calls import DailyCalls
from hopgraph.tools.apps.server.refusal import BusyError, current_request_id
from hopgraph.tools.apps.server.turn import TurnEnd
from hopgraph.tools.io.redact import redact
from hopgraph.tools.text.sanitize import sanitize_line, truncate_line

LOG_QUESTIONS = "HOPGRAPH_LOG_QUESTIONS"
"""The variable with which the owner has the questions' text logged, too."""
_SECONDS = (0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600)
_MAX_TEXT = 500
_log = logging.getLogger("hopgraph.questions")


class QuestionMetrics:
    """The counters of one app, in Prometheus's form."""

    def __init__(self, active: Callable[[], int]) -> None:
        """Start at zero; `active` says how many turns run or wait."""
        self.registry = CollectorRegistry()
        own: Any = {"registry": self.registry}
        labels = ["method", "outcome"]
        self.questions = Counter("hopgraph_questions", "Questions that have ended, by outcome", labels, **own)
        seconds = "Seconds until a question had ended"
        self.seconds = Histogram("hopgraph_question_seconds", seconds, ["method"], buckets=_SECONDS, **own)
        self.calls = Counter("hopgraph_model_calls", "Requests to models", ["method"], **own)
        self.tokens = Counter("hopgraph_tokens", "Tokens of answered questions", ["kind"], **own)
        Gauge("hopgraph_turns_active", "Turns that run or wait", **own).set_function(active)


@dataclass(eq=False)  # LangChain puts handlers into sets
class QuestionRecord(BaseCallbackHandler):
    """Watches one question; a callback handler of its run, to count the model calls."""

    user: str
    method: str
    text: str
    metrics: QuestionMetrics
    daily: DailyCalls | None = None
    """Where its calls count as the user's of today; None: nowhere."""
    request_id: str = field(default_factory=current_request_id)
    calls: int = 0
    end: TurnEnd | None = None
    """To be set when the run has come to its end."""
    run_inline = True

    @override
    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        self.calls += 1
        if self.daily:
            self.daily.count(self.user)

    @contextmanager
    def watch(self) -> Generator[None]:
        """Report how the run ended that is made meanwhile."""
        began, outcome, cause = time.perf_counter(), "stopped", ""
        try:
            yield
            if self.end:  # `replied` where nothing was looked up
                outcome = "paused" if self.end.paused else self.end.state.get("stop_reason") or "replied"
        except Exception as error:
            outcome = "refused" if isinstance(error, BusyError) else "failed"
            cause = redact(sanitize_line(str(error))) if isinstance(error, HopgraphError) else type(error).__name__
            raise
        finally:
            self._report(outcome, cause, time.perf_counter() - began)

    def _report(self, outcome: str, cause: str, seconds: float) -> None:
        end = self.end
        method = (end and end.state.get("chosen")) or self.method
        self.metrics.questions.labels(method, outcome).inc()
        self.metrics.seconds.labels(method).observe(seconds)
        self.metrics.calls.labels(method).inc(self.calls)
        for kind in ("prompt", "completion"):
            self.metrics.tokens.labels(kind).inc(end.state["usage"][f"{kind}_tokens"] if end else 0)
        parts = {"id": self.request_id, "user": self.user, "method": method, "outcome": outcome, "calls": self.calls}
        line = " ".join(f"{name}={value}" for name, value in parts.items()) + f" seconds={seconds:.3f}"
        line += f" cause={json.dumps(truncate_line(cause, _MAX_TEXT), ensure_ascii=False)}" if cause else ""
        if os.environ.get(LOG_QUESTIONS, "").lower() in {"1", "true", "yes"}:
            line += f" question={json.dumps(truncate_line(redact(self.text), _MAX_TEXT), ensure_ascii=False)}"
        _log.log(logging.WARNING if outcome == "failed" else logging.INFO, "question %s", line)
