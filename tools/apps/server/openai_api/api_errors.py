"""Errors as clients of OpenAI's API read them: a status, and one line with a type and a code."""

from collections.abc import Mapping
from dataclasses import dataclass

from fastapi.responses import JSONResponse
from pydantic import JsonValue

from hopgraph.state import HopgraphError, ModelError, QuestionError, SettingsError, SpecError
from hopgraph.tools.apps.server.admission import BusyError
from hopgraph.tools.apps.server.turn import timeout_message
from hopgraph.tools.io.redact import redact
from hopgraph.tools.text.sanitize import sanitize_line


class RequestError(SettingsError):
    """An invalid request; `param` names the field of the body."""

    def __init__(self, message: str, param: str = "") -> None:
        super().__init__(message)
        self.param = param


class UnknownModelError(SettingsError):
    """A model that is not offered."""


@dataclass(frozen=True)
class ApiProblem:
    """An error as it is sent."""

    status: int
    message: str
    kind: str
    code: str | None = None
    param: str | None = None

    def body(self) -> dict[str, JsonValue]:
        """Return the JSON body."""
        message = redact(sanitize_line(self.message))
        return {"error": {"message": message, "type": self.kind, "param": self.param, "code": self.code}}

    def response(self) -> JSONResponse:
        """Return it as a response."""
        return JSONResponse(self.body(), self.status, _headers(self.status))


def _headers(status: int) -> Mapping[str, str]:
    if status == 429:
        return {"Retry-After": "1"}
    # The run has retried already wherever that helps; OpenAI's clients would run it twice more.
    return {"x-should-retry": "false"} if status >= 500 else {}


def problem_of(error: HopgraphError | TimeoutError, seconds: float) -> ApiProblem:
    """Classify the error of a turn that may take so many `seconds`."""
    match error:
        case TimeoutError():
            return ApiProblem(504, timeout_message(seconds), "server_error")
        case RequestError():
            return ApiProblem(400, str(error), "invalid_request_error", param=error.param or None)
        case UnknownModelError():
            return ApiProblem(404, str(error), "invalid_request_error", "model_not_found", "model")
        case BusyError():
            return ApiProblem(429, str(error), "rate_limit_error", "rate_limit_exceeded")
        case ModelError():
            return ApiProblem(502, str(error), "server_error", "model_failed")
        case SettingsError() if isinstance(error, QuestionError) or not isinstance(error, SpecError):
            return ApiProblem(400, str(error), "invalid_request_error")
        case _:
            return ApiProblem(500, str(error), "server_error")
