"""The methods as models of an OpenAI-compatible endpoint: `/v1/models`, `/v1/chat/completions`.

Nothing is stored between requests: a client sends its conversation each time, and the last message is answered. The
model's name is a method's, or `auto`. The steps are sent as `reasoning_content`, the citations as `annotations`, and
the whole result in the field `hopgraph`. A request may also have a field `hopgraph`, with settings of the method, and
`documents`, one of the sets that the caller may query. With `answer_type` sentence or full the answer is streamed, and
system messages are its `answer_instructions`. Otherwise system messages are accepted and ignored, as are parameters of
language models (`temperature`, `max_tokens`, tools).
"""

import json
import re
import time
import uuid
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from pydantic import BaseModel, Field, JsonValue, ValidationError

from hopgraph.nodes.chat.reply import CUT_SHORT, DOUBTS, UNCITED
from hopgraph.nodes.core.marked_text import escape_markup, unescape_markup
from hopgraph.nodes.finish import total
from hopgraph.state import (
    Citation,
    HopgraphError,
    ModelError,
    QuestionError,
    SettingsError,
    SourceLocation,
    SpecError,
    Usage,
)
from hopgraph.state.errors import format_error
from hopgraph.state.events import GoldGiven, QuerySent, Retrieved, Retrying, Routed
from hopgraph.tools.apps.runs.lines import Line
from hopgraph.tools.apps.server.chat_tasks import TASK_MODEL, system_task_reply, task_reply
from hopgraph.tools.apps.server.document_sets import split_documents
from hopgraph.tools.apps.server.refusal import CLIENT_LEFT, BusyError, QuotaError, Refusal
from hopgraph.tools.apps.server.relay import KEEP_ALIVE, relay_steps, stream_events, while_connected
from hopgraph.tools.apps.server.server_options import OWNER
from hopgraph.tools.apps.server.service import Service, UnknownMethodError, model_names, resolve_name
from hopgraph.tools.apps.server.turn import (
    AnswerPayload,
    TurnEnd,
    TurnStep,
    answer_payload,
    error_line,
    replace_surrogates,
    rest_of,
)
from hopgraph.tools.retrieval.passage_metadata import name_citation

OPENAI_PATH = "/v1"
_MAX_MESSAGES = 101  # a chat looks back 50 turns at most

_MARK = re.compile(r"\[(\d{1,3})\]")
_SOURCE = re.compile(r"\[\d+\] (.+?)(?: · .+?)?(?:: “|$)")
"""Marks and sources as written by the node `reply`, which escapes brackets in other text."""
_REMARKS = (UNCITED, DOUBTS, CUT_SHORT)
_OWN_FIELDS = frozenset({"passage_id", "quote", "kind", *SourceLocation.__annotations__})  # in addition to OpenAI's
_MARKS = {"•": "", "-": "✗"}  # replace marks that Markdown would read as lists


class RequestError(SettingsError):
    """An invalid request; `param` is the field of the body."""

    def __init__(self, message: str, param: str = "") -> None:
        super().__init__(message)
        self.param = param


class _Part(BaseModel):
    type: str = "text"
    text: str | None = None


class _Message(BaseModel):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[_Part] | None = None

    @property
    def text(self) -> str:
        content = self.content or ""
        return content if isinstance(content, str) else "\n".join(part.text for part in content if part.text)


class _StreamOptions(BaseModel):
    include_usage: bool | None = False


class CompletionRequest(BaseModel):
    """The fields read from a body; `temperature`, `response_format`, `stop` and all others are ignored."""

    model: str  # as the caller wrote it
    messages: list[_Message] = Field(min_length=1)
    stream: bool | None = False
    stream_options: _StreamOptions | None = None
    n: int | None = 1
    tool_choice: str | dict[str, Any] | None = None
    hopgraph: dict[str, JsonValue] | None = None

    @property
    def spoken(self) -> list[_Message]:
        """The last messages of the user and the assistant, without system and tool messages."""
        said = [each for each in self.messages if each.role == "user" or (each.role == "assistant" and each.text)]
        return said[-_MAX_MESSAGES:]

    @property
    def system(self) -> str:
        """Return the text of the system messages; may be empty."""
        return "\n\n".join(each.text.strip() for each in self.messages if each.role in ("system", "developer"))

    @cached_property
    def task_reply(self) -> str | None:
        """The reply to a chat app's own task, which may be in a system message; None for a question."""
        asked = [each.text for each in self.messages if each.role == "user"]
        last = asked[-1] if self.messages[-1].role == "user" else ""
        certain, first = self.model == TASK_MODEL, asked[0] if len(asked) > 1 else ""
        reply = task_reply(last, first, certain=certain) if last else None
        if reply is None and self.system and len(asked) < 2:
            reply = system_task_reply(self.system, last)
        # A system message after the last reply is a task about the conversation.
        ends_with_system = self.messages[-1].role in ("system", "developer") and self.spoken[-1:]
        if reply is None and ends_with_system and self.spoken[-1].role == "assistant":
            reply = task_reply(asked[0] if asked else "", certain=True)
        return reply

    def conversation(self) -> list[BaseMessage]:
        """Return the last turns of the user and the assistant; the last message is the user's."""
        return [
            HumanMessage(each.text)
            if each.role == "user"
            else AIMessage(each.text, additional_kwargs=_parse_reply(each.text))
            for each in self.spoken
        ]


def read_request(body: bytes) -> CompletionRequest:
    """Parse a body; a RequestError if it is invalid, or asks for something unsupported."""
    try:
        read = CompletionRequest.model_validate_json(body)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise RequestError(format_error(error, whole="the body is not a valid request"), where) from None
    if read.n not in (None, 1):
        raise RequestError("n: must be 1; a question gets one answer", "n")
    if read.task_reply is not None:
        return read
    if read.tool_choice not in (None, "auto", "none"):
        raise RequestError("tool_choice: callers' tools are not supported; leave it out, or set it to auto", "tools")
    if not read.spoken or read.spoken[-1].role != "user":
        raise RequestError("the last message must have the role user", "messages")
    content = read.spoken[-1].content
    for part in content if isinstance(content, list) else []:
        if part.type not in ("text", "input_text"):
            raise RequestError(f"messages: content of type {part.type!r:.40} is not supported; send text", "messages")
    return read


def _parse_reply(text: str) -> dict[str, JsonValue]:
    """Parse one of our earlier replies: its answer and the titles it cited; empty for other text."""
    parts, titles = text.split("\n\n"), list[JsonValue]()
    while len(parts) > 1 and (found := _SOURCE.match(parts[-1])):
        titles.insert(0, unescape_markup(found[1]))
        parts.pop()
    said = " ".join(" ".join(each for each in parts if each not in _REMARKS).split())
    answer = " ".join(_MARK.sub(" ", said).split())
    if answer in ("", said):
        return {}
    return {"answer": unescape_markup(answer), "citations": [{"title": title} for title in titles]}


def write_reasoning(lines: Iterable[Line]) -> str:
    """Return the lines of a step as Markdown; may be empty."""
    return replace_surrogates("".join(map(_markdown, lines)))


def _markdown(line: Line) -> str:
    if line.style == "heading":
        return f"\n**{escape_markup(line.text)}**\n\n"
    text = f"{_MARKS.get(line.mark, line.mark)} {escape_markup(line.text)}".strip()
    return f"- **{escape_markup(line.label)}** {text}\n" if line.label else f"  - {text}\n"


@dataclass(frozen=True)
class CompletionWriter:
    """Writes the answer to one request."""

    model: str
    identity: str = field(default_factory=lambda: f"chatcmpl-{uuid.uuid4().hex}")
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, end: TurnEnd, reasoning: str) -> dict[str, Any]:
        """Return the completion of a finished turn."""
        text, found = _reply(end)
        cited = _annotations(text, found)
        said = {"role": "assistant", "content": text, "refusal": None}
        message = {**said, "annotations": cited, "reasoning_content": reasoning}
        return {**self._body("chat.completion", {"message": message}, found), "usage": _usage(found["usage"])}

    def chunk(self, delta: Mapping[str, Any], found: AnswerPayload | None = None) -> dict[str, Any]:
        """Return a chunk of a stream; the last one of a choice has the finish reason and the result."""
        return self._body("chat.completion.chunk", {"delta": delta}, found)

    def last_chunks(self, end: TurnEnd, written: str, *, include_usage: bool) -> Iterable[dict[str, Any]]:
        """Yield the end of a stream: the rest of the text, the citations, the finish reason, the usage."""
        text, found = _reply(end)
        cited = _annotations(text, found)
        yield self.chunk({"content": rest_of(text, written), **({"annotations": cited} if cited else {})})
        yield self.chunk({}, found)
        if include_usage:
            yield {**self.chunk({}), "choices": [], "usage": _usage(found["usage"])}

    def _body(self, kind: str, content: Mapping[str, Any], found: AnswerPayload | None) -> dict[str, Any]:
        reason = ("length" if found["stop_reason"] == "budget" else "stop") if found else None
        choice = {"index": 0, **content, "logprobs": None, "finish_reason": reason}
        head = {"id": self.identity, "object": kind, "created": self.created, "model": self.model}
        return {**head, "choices": [choice], **({"hopgraph": found} if found else {})}


def _reply(end: TurnEnd) -> tuple[str, AnswerPayload]:
    return replace_surrogates(end.state["messages"][-1].text), answer_payload(end.state)


def _usage(usage: Usage) -> dict[str, int]:
    prompt, completion = usage["prompt_tokens"], usage["completion_tokens"]
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _annotations(text: str, found: AnswerPayload) -> list[dict[str, Any]]:
    return citation_annotations(found["answer"] if found["markdown"] else text.partition("\n\n")[0], found["citations"])


def citation_annotations(answer: str, citations: Sequence[Citation]) -> list[dict[str, Any]]:
    """Return citations in OpenAI's format, with the passage's id and the quoted sentence added.

    Offsets are those of the first mark `[1]`, `[2]`, … in the answer (in code points), else its end. A passage without
    a URL gets one of the form `passage:ID`.
    """
    places = {int(found[1]): found.span() for found in reversed(list(_MARK.finditer(answer)))}
    written: list[dict[str, Any]] = []
    for number, citation in enumerate(citations, start=1):
        start, end = places.get(number, (len(answer), len(answer)))  # a citation may have no mark
        key = citation["passage_id"]
        address = key if key.startswith(("https://", "http://")) else f"passage:{quote(key, safe='')}"
        title = name_citation(citation)
        cited = {"start_index": start, "end_index": end, "url": citation.get("url") or address, "title": title}
        own = {name: value for name, value in citation.items() if name in _OWN_FIELDS}
        written.append({"type": "url_citation", "url_citation": cited, **own, "title": title})
    return written


_STARTED = int(time.time())
_DONE = "data: [DONE]\n\n"
_REFUSED: dict[type[Exception], tuple[int, str | None]] = {
    UnknownMethodError: (404, "model_not_found"),
    QuotaError: (429, "insufficient_quota"),
    BusyError: (429, "rate_limit_exceeded"),
    ModelError: (502, "model_failed"),
    QuestionError: (400, None),
    SpecError: (500, None),
    SettingsError: (400, None),
    TimeoutError: (504, None),
    Exception: (500, None),
}
"""HTTP status and error code by error class; the first match applies."""
_STATUS_WAITS = 1.0
"""Maximum delay in seconds of a stream's first byte, so that a model that fails at once can still set the status."""
_EARLY = frozenset(each.event for each in (Routed, QuerySent, Retrieved, GoldGiven, Retrying))
"""Events that need no reply of a model; they do not start a stream."""

_PLACE = "/paths/~1v1~1chat~1completions/post/requestBody/content/application~1json/schema"
_SCHEMA = CompletionRequest.model_json_schema(ref_template=f"#{_PLACE}/$defs/{{model}}")
_BODY = {"requestBody": {"required": True, "content": {"application/json": {"schema": _SCHEMA}}}}
"""For the OpenAPI description; `read_request` reads the body, with errors in OpenAI's format."""

openai_router = APIRouter(prefix=OPENAI_PATH)

Steps = AsyncGenerator[TurnStep | None]


@openai_router.get("/models")
async def list_models() -> Response:
    """List the models."""
    return JSONResponse({"object": "list", "data": [_model(name) for name in [*model_names(), TASK_MODEL]]})


@openai_router.get("/models/{name}")
async def show_model(name: str) -> Response:
    """Show one model."""
    try:
        return JSONResponse(_model(_resolve(name)))
    except UnknownMethodError as error:
        return _respond(error, 0)


def _resolve(name: str) -> str:
    return name if name == TASK_MODEL else resolve_name(name)


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": _STARTED, "owned_by": "hopgraph"}


@openai_router.post("/chat/completions", openapi_extra=_BODY)
async def complete_chat(request: Request) -> Response:
    """Answer the last message of a conversation."""
    service: Service = request.app.state.service
    seconds = service.options.turn_seconds
    user = request.scope.get("state", {}).get("user", OWNER)
    try:
        asked = read_request(await request.body())
        writer = CompletionWriter(_resolve(asked.model))
        if asked.task_reply is not None:
            steps = _only_reply(asked.task_reply)
        else:
            changes, documents = split_documents(asked.hopgraph or {})
            settings = service.settings(asked.model, changes, system=asked.system)
            turn = service.answer_messages(asked.conversation(), settings, user, documents)
            steps = relay_steps(turn, seconds, _STATUS_WAITS)
        if asked.stream:
            chunks = _chunks(asked, writer, steps)
            return await stream_events(request, chunks, lambda error: _event(_refusal(error, seconds).body()), _DONE)
        answer = await while_connected(request, _whole(writer, steps))
    except (HopgraphError, TimeoutError) as error:
        return _respond(error, seconds)
    return JSONResponse(answer) if answer else Response(status_code=CLIENT_LEFT)


async def _only_reply(text: str) -> Steps:
    nothing: dict[str, Any] = {"answer": "", "explanation": "", "citations": [], "stop_reason": None, "chosen": None}
    nothing["markdown"] = False
    yield TurnEnd(state={**nothing, "usage": total([], iterations=0), "messages": [AIMessage(text)]})


async def _whole(writer: CompletionWriter, steps: Steps) -> Mapping[str, Any]:
    written = ""
    async with aclosing(steps):
        async for step in steps:
            written += write_reasoning(step.lines) if step else ""
            if isinstance(step, TurnEnd):
                return writer.whole(step, written)
    raise AssertionError("the turn yielded no end")


async def _chunks(asked: CompletionRequest, writer: CompletionWriter, steps: Steps) -> AsyncGenerator[str]:
    """Run a turn and yield its chunks, the first once a model has replied, or after a second without a step."""
    started, written = False, ""
    chunks = [_event(writer.chunk({"role": "assistant", "content": ""}))]
    async with aclosing(steps):
        async for step in steps:
            if step is None:
                chunks.append(KEEP_ALIVE)
            elif step.text:
                written += step.text
                chunks.append(_event(writer.chunk({"content": step.text})))
            elif text := write_reasoning(step.lines):
                chunks.append(_event(writer.chunk({"reasoning_content": text})))
            if isinstance(step, TurnEnd):
                with_usage = bool(asked.stream_options and asked.stream_options.include_usage)
                chunks += map(_event, writer.last_chunks(step, written, include_usage=with_usage))
            if started := started or not _is_early(step):
                for chunk in chunks:
                    yield chunk
                chunks.clear()


def _is_early(step: TurnStep | None) -> bool:
    """Return whether a step may precede a model's first reply; keep-alives may not, as they are sent at once."""
    if step is None or step.text or isinstance(step, TurnEnd):
        return False
    return step.event is None or step.event["event"] in _EARLY


def _event(data: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"


def _respond(error: Exception, seconds: float) -> JSONResponse:
    refusal = _refusal(error, seconds)
    # The run has already retried where that helps; OpenAI's clients would retry twice more.
    headers = {"Retry-After": "1"} if isinstance(error, BusyError) else {}
    if refusal.status >= 500 or isinstance(error, QuotaError):
        headers = {"x-should-retry": "false"}
    return JSONResponse(refusal.body(), refusal.status, headers)


def _refusal(error: Exception, seconds: float) -> Refusal:
    status, code = next(found for kind, found in _REFUSED.items() if isinstance(error, kind))
    return Refusal(status, error_line(error, seconds), code, param=getattr(error, "param", None) or None)
