"""Monitoring for operators: a log line for each question, the counters of `/metrics`, `/health`, and the audit log.

None of these contain keys. A log line has the request's id, the user, the method, the outcome, the model calls, the
seconds and, on failure, the cause; the question itself only with HOPGRAPH_LOG_QUESTIONS=1, or in the audit log.
"""

import asyncio
import json
import logging
import os
import time
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from pydantic import JsonValue
from typing_extensions import override

from hopgraph.state import Context, HopgraphError, SettingsError
from hopgraph.tools.apps.server.document_sets import Retriever
from hopgraph.tools.apps.server.guards import DailyCalls
from hopgraph.tools.apps.server.refusal import BusyError, current_request_id
from hopgraph.tools.apps.server.turn import TurnEnd
from hopgraph.tools.io.background import run_on
from hopgraph.tools.io.http_retries import classify_failure, status_of
from hopgraph.tools.io.redact import redact
from hopgraph.tools.io.runnables import leaves_of
from hopgraph.tools.models.structured import is_openai
from hopgraph.tools.resources import get_model, get_retriever
from hopgraph.tools.text.sanitize import sanitize_line, truncate_line

LOG_QUESTIONS = "HOPGRAPH_LOG_QUESTIONS"
_BUCKETS = (0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600)
_MAX_TEXT, _MAX_AUDITED = 500, 10_000  # characters
_AUDIT_BYTES, _AUDIT_FILES = 10_000_000, 9
"""Maximum size of an audit log file, and the number of older files kept as NAME.1 and so on."""
_CHECK_SECONDS = 5.0
_FRESH_SECONDS = 10.0  # for which a result is reused, since `/health` is public
_log, _question_log = logging.getLogger(__name__), logging.getLogger("hopgraph.questions")


class QuestionMetrics:
    """The counters of one app, in Prometheus's format."""

    def __init__(self, active: Callable[[], int]) -> None:
        self.registry = CollectorRegistry()
        own: Any = {"registry": self.registry}
        labels = ["method", "outcome"]
        self.questions = Counter("hopgraph_questions", "Questions that have ended, by outcome", labels, **own)
        seconds = "Seconds until a question had ended"
        self.seconds = Histogram("hopgraph_question_seconds", seconds, ["method"], buckets=_BUCKETS, **own)
        self.calls = Counter("hopgraph_model_calls", "Requests to models", ["method"], **own)
        self.tokens = Counter("hopgraph_tokens", "Tokens of answered questions", ["kind"], **own)
        self.feedback = Counter("hopgraph_feedback", "Answers rated on the page", ["rating"], **own)
        Gauge("hopgraph_turns_active", "Turns running or waiting", **own).set_function(active)


class AuditLog:
    """Who asked what: JSON lines in a file readable only by its owner; a SettingsError if it cannot be written."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.touch(mode=0o600)
            path.chmod(0o600)
            self._handler = _PrivateFile(
                path, maxBytes=_AUDIT_BYTES, backupCount=_AUDIT_FILES, encoding="utf-8", errors="replace"
            )
        except OSError as error:
            raise SettingsError(f"audit log {path}: {error.strerror}; name another file") from None

    def write(self, entry: Mapping[str, JsonValue]) -> None:
        """Append a line with the current time; a failure is a warning in the server's log."""
        line = json.dumps({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **entry}, ensure_ascii=False)
        self._handler.handle(logging.LogRecord(__name__, logging.INFO, "", 0, "%s", (line,), None))

    def close(self) -> None:
        """Close the file; pending lines that cannot be written are dropped."""
        with suppress(OSError):
            self._handler.close()


class _PrivateFile(RotatingFileHandler):
    @override
    def doRollover(self) -> None:
        super().doRollover()
        Path(self.baseFilename).chmod(0o600)  # before anything is written to it

    @override
    def handleError(self, record: logging.LogRecord) -> None:
        _log.warning("the audit log cannot be written: it lacks a question")


@dataclass(eq=False)  # LangChain puts handlers into sets
class QuestionRecord(BaseCallbackHandler):
    """The record of one question; as a callback handler of its run it counts the model calls."""

    user: str
    method: str
    text: str
    metrics: QuestionMetrics
    daily: DailyCalls | None = None  # the user's calls of today, if they are limited
    audit: AuditLog | None = None
    thread: str = ""
    documents: Sequence[str] = ()  # names of the sets searched
    request_id: str = field(default_factory=current_request_id)
    calls: int = 0
    end: TurnEnd | None = None  # once the run has ended
    run_inline = True

    @override
    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        self.calls += 1
        if self.daily:
            self.daily.count(self.user)

    @contextmanager
    def watch(self) -> Generator[None]:
        """Report how the enclosed run ended."""
        began, outcome, cause = time.perf_counter(), "stopped", ""
        try:
            yield
            if self.end:  # `replied` if nothing was looked up
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
        if self.audit:
            cited: list[JsonValue] = [each["passage_id"] for each in end.state["citations"]] if end else []
            asked: dict[str, JsonValue] = {"thread": self.thread, "documents": [*self.documents], "cited": cited}
            question = redact(self.text)[:_MAX_AUDITED]
            self.audit.write({**parts, **asked, "seconds": round(seconds, 3), "question": question})
        _question_log.log(logging.WARNING if outcome == "failed" else logging.INFO, "question %s", line)


class HealthCheck:
    """Checks the models and the index of some settings; a recent result is reused."""

    def __init__(self, settings: Context, retrievers: Sequence[Retriever | None]) -> None:
        self._settings, self._retrievers, self._checking = settings, retrievers, asyncio.Lock()
        self._result, self._at = dict[str, str](), float("-inf")

    async def statuses(self) -> dict[str, str]:
        """Return `models` and `index`, each ok, refused (a key), unreachable or failed; causes are logged."""
        async with self._checking:
            if time.monotonic() - self._at > _FRESH_SECONDS:
                models, index = await asyncio.gather(_status("models", self._models()), _status("index", self._index()))
                self._result, self._at = {"models": models, "index": index}, time.monotonic()
            return self._result

    async def _models(self) -> None:
        """Resolve every model; OpenAI-compatible servers are asked for their model list, which is free."""
        for role in ("", *self._settings.models):
            handle = await get_model(self._settings, role)
            if is_openai(handle.model):
                for model in leaves_of(handle.model):
                    await run_on(handle.loop(), _list_models(model))

    async def _index(self) -> None:
        """Open and search each index, but not the web, which may cost money."""
        for each in self._retrievers:
            retriever = await get_retriever(each)
            if not str(each).startswith("web:"):
                await retriever.ainvoke("health")


async def _list_models(model: Any) -> None:
    try:
        await model.root_async_client.with_options(max_retries=0, timeout=_CHECK_SECONDS).models.list()
    except Exception as error:
        if status_of(error) not in (404, 405, 501):  # without a model list, the server is still up
            raise


async def _status(what: str, check: Coroutine[Any, Any, None]) -> str:
    try:
        async with asyncio.timeout(_CHECK_SECONDS):
            await check
    except Exception as error:  # noqa: BLE001 - any error of a provider's package; it is logged
        _log.warning("health: %s: %s: %s", what, type(error).__name__, truncate_line(str(error), 300))
        if status_of(error) in (401, 403):
            return "refused"
        return "unreachable" if isinstance(error, TimeoutError) or classify_failure(error) == "outage" else "failed"
    return "ok"
