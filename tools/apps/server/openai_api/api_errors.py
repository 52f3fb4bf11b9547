"""Errors as clients of OpenAI's API read them: a status, and one line with a type and a code."""

from dataclasses import dataclass

from fastapi.responses import JSONResponse
from pydantic import JsonValue

from hopgraph.state import ModelError, QuestionError, SettingsError, SpecError
from hopgraph.tools.apps.server.admission import BusyError
from hopgraph.tools.apps.server.service import UnknownMethodError
from hopgraph.tools.apps.server.turn import error_line


class RequestError(SettingsError):
    """An invalid request; `param` names the field of the body."""

    def __init__(self, message: str, param: str = "") -> None:
        super().__init__(message)
        self.param = param


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
        return {"error": {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}}

    def response(self) -> JSONResponse:
        """Return it as a response."""
        # The run has retried already wherever that helps; OpenAI's clients would run it twice more.
        headers = {"x-should-retry": "false"} if self.status >= 500 else {}
        return JSONResponse(self.body(), self.status, {"Retry-After": "1"} if self.status == 429 else headers)


def problem_of(error: Exception, seconds: float) -> ApiProblem:
    """Classify the error of a turn that may take so many `seconds`."""
    line = error_line(error, seconds)
    match error:
        case TimeoutError():
            return ApiProblem(504, line, "server_error")
        case RequestError():
            return ApiProblem(400, line, "invalid_request_error", param=error.param or None)
        case UnknownMethodError():
            return ApiProblem(404, line, "invalid_request_error", "model_not_found", "model")
        case BusyError():
            return ApiProblem(429, line, "rate_limit_error", "rate_limit_exceeded")
        case ModelError():
            return ApiProblem(502, line, "server_error", "model_failed")
        case SettingsError() if isinstance(error, QuestionError) or not isinstance(error, SpecError):
            return ApiProblem(400, line, "invalid_request_error")
        case _:
            return ApiProblem(500, line, "server_error")
