"""Send one request to a model: limited, retried with backoff, and with errors in one line."""

import json
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar, cast

import httpx
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel, SecretStr

from hopgraph.state import ModelError
from hopgraph.state.errors import server_error
from hopgraph.tools.io.background import run_on
from hopgraph.tools.io.http_retries import (
    PASSING,
    UnreadableReplyError,
    classify_failure,
    describe_unreachable,
    describe_wait,
    openai_class,
    status_of,
    text_of,
    with_retries,
)
from hopgraph.tools.io.redact import redact
from hopgraph.tools.io.reply_bounds import OversizedReplyError, time_limit
from hopgraph.tools.io.runnables import leaves_of
from hopgraph.tools.io.server_errors import (
    UNSUPPORTED_STATUS,
    ReportedError,
    entry,
    failed_generation,
    is_about_format,
    is_permanent,
    message_of,
    named_parameter,
    raise_reported,
)
from hopgraph.tools.models.parse import is_complete, is_only_reasoning
from hopgraph.tools.models.refusals import (
    STREAM_OPTIONS,
    SYSTEM,
    WHOLE,
    Refusals,
    is_about_request,
    tokens_left_for_reply,
)
from hopgraph.tools.models.reply_cache import ModelReply
from hopgraph.tools.models.resolve import NO_KEY, PROXY_VARIABLE, ModelHandle, Options
from hopgraph.tools.models.structured import Bound, Mode, is_openai, limit_name, modes_of, reply_text
from hopgraph.tools.models.tokens import count_tokens
from hopgraph.tools.prompts import clean

ResultT = TypeVar("ResultT")
_log = logging.getLogger(__name__)


def as_model_error(handle: ModelHandle, error: Exception) -> Exception:
    """Describe a failure of the server or the connection in one line; return any other error as it is."""
    status, trouble = status_of(error), classify_failure(error)
    detail = " ".join(clean(redact(message_of(error), handle.model)).split())[:300]
    if status == 401:
        sent = getattr(handle.model, "openai_api_key", None)
        which = "check OPENAI_API_KEY" if is_openai(handle.model) else "check its provider's API key"
        which = "none is set: set OPENAI_API_KEY" if sent == SecretStr(NO_KEY) else which
        said = f"the server refused the key (HTTP 401: {detail}); {which}"
    elif status is not None:
        hint = "; try temperature=none" if "temperature" in detail else ""
        if status in (404, 405) and is_openai(handle.model):
            address = _address(handle).rstrip("/")
            ends = "/models there lists its models" if address.endswith("/v1") else "most servers' addresses end in /v1"
            hint = f"; asked at {address}, and {ends}"
        said = f"HTTP {status}: {detail}{hint}{describe_wait(error)}"
    elif isinstance(error, (TimeoutError, httpx.TimeoutException, openai_class("APITimeoutError"))):
        own = not handle.from_spec and type(error) is not TimeoutError
        timeout = "the model's own timeout" if own else "request_timeout"
        said = f"no reply in time; raise {timeout} or try again"
    elif isinstance(error, ReportedError):
        said = f"the server reports an error: {detail}"
    elif isinstance(error, (json.JSONDecodeError, UnreadableReplyError)):
        said = f"the server's reply is not in the OpenAI format ({detail})"
    elif trouble == "outage":
        said = describe_unreachable(error, _address(handle), PROXY_VARIABLE)
    elif isinstance(error, (OversizedReplyError, openai_class("OpenAIError"))):
        said = detail
    else:
        return error
    return server_error(ModelError, f"{handle.name}: {said}", trouble)


def _address(handle: ModelHandle) -> str:
    return redact(str(getattr(handle.model, "openai_api_base", None) or "its server"))


class FailedRequest(NamedTuple):
    """A request that is about to be sent again."""

    attempt: int
    """Number of failed attempts."""
    status: int | None
    wait: float
    """Seconds until the next."""
    problem: str
    """The failure in a few words."""


def _failed_request(handle: ModelHandle, error: Exception, attempt: int, wait: float) -> FailedRequest:
    status = status_of(error)
    said = str(as_model_error(handle, error)).removeprefix(f"{handle.name}: ").partition(";")[0]
    return FailedRequest(attempt, status, round(wait, 3), f"HTTP {status}" if status else said.partition(" (")[0])


_FIRST_WAIT_SECONDS, _MAX_WAIT_SECONDS = 0.5, 60.0
_REFUSAL_HOLDS_SECONDS = 1.0
"""How long after a refused key other requests are refused unsent: until what sends them has stopped."""
_TRUNCATED = "the reply was cut off at the token limit"
_BROKEN_OFF = "the server cut the reply off"
_LONG = 1 << 14
"""Characters of a reply; a longer one is passed on again only when it has grown by a quarter."""
_ADDED_AT_ONCE = 256
"""Chunks of a reply."""
_NOT_JSON = "the reply is not a JSON object"
CONFIG = RunnableConfig(tags=["nostream"])
"""The config of every request: what is traced is not streamed."""
_PROBLEMS = {
    "a content filter stopped the reply": re.compile("filter|safe|sensitive|guard|refus|recit|prohibit|block|spii"),
    _TRUNCATED: re.compile("length|limit|max.*tokens|context"),
    _BROKEN_OFF: re.compile("error|abort|cancel|interrupt|insufficient"),
}
"""Ours → words in the finish reasons of providers, in lower case."""
_FAILED_STREAMS = 2
"""After so many in a row a server is asked for whole replies only."""


@dataclass(frozen=True)
class SendOptions:
    """Options for sending requests, from the settings."""

    parallel: int
    retries: int
    sampling: Options = ()
    max_output_tokens: int | None = None
    """The most tokens of a reply; None: as the model says, else what a record of the schema may take."""
    on_retry: Callable[[FailedRequest], None] | None = None
    """Called before each retry."""
    on_text: Callable[[str], None] | None = None
    """Called with all of the reply so far whenever more has come; None: the reply is asked for whole."""


async def send(
    handle: ModelHandle, messages: list[BaseMessage], schema: type[BaseModel], options: SendOptions
) -> ModelReply:
    """Ask a model for a record of `schema`; ModelError, without keys, where that fails after the retries.

    The first time, the ways of asking for JSON are tried from the strictest on, as long as the server
    refuses them; the one that worked is kept for this model.
    """
    return await run_on(handle.loop(), _send_in_supported_mode(handle, messages, schema, options))


def check_key(handle: ModelHandle, since: float) -> None:
    """Raise a ModelError if the key was refused after `since`, a `time.monotonic()`, or just now."""
    error, at = handle.shared.key_refusal or (None, 0.0)
    if error and (since <= at or time.monotonic() < at + _REFUSAL_HOLDS_SECONDS):
        raise as_model_error(handle, error) from None


def note_refused_key(handle: ModelHandle, error: Exception) -> None:
    """Keep an error that refused the key, so that other requests are not sent just after it."""
    if status_of(error) == 401:
        handle.shared.key_refusal = (error, time.monotonic())


async def _send_in_supported_mode(
    handle: ModelHandle, messages: list[BaseMessage], schema: type[BaseModel], options: SendOptions
) -> ModelReply:
    untried = list(modes_of(handle.model))
    first_refusal: Exception | None = None
    in_words = True
    while True:
        waiting_since = time.monotonic()
        async with handle.shared.limit(options.parallel):
            check_key(handle, waiting_since)
            # While this request waited, another one may have found the mode.
            known, refused = handle.shared.mode, handle.shared.refusals
            mode = known if known in untried else untried[0]
            try:
                reply = await _send_with_retries(handle, messages, schema, mode, options)
            except Exception as error:  # noqa: BLE001 - each provider has its own error classes; others pass
                if (written := failed_generation(error)) is not None:  # no word on the way of asking
                    return _estimated(written, "" if written else _NOT_JSON, messages)
                if changed := concession(handle, error, refused, schema, options):
                    options = changed
                    continue
                unsupported = isinstance(error, NotImplementedError) or (
                    status_of(error) in UNSUPPORTED_STATUS
                    and classify_failure(error) != "outage"
                    and not is_permanent(error)
                )
                if status_of(error) == 500 and not known:  # of vLLM for a schema that it cannot follow, or an outage
                    unsupported, options = True, replace(options, retries=0)
                note_refused_key(handle, error)
                refused_bounds = mode == "bounded_schema" and status_of(error) in (400, 422)
                if mode == "text" or (known and not refused_bounds) or not unsupported:
                    raise as_model_error(
                        handle, (classify_failure(error) != "outage" and first_refusal) or error
                    ) from None
                first_refusal = first_refusal or error
                in_words = in_words and is_about_format(error)
                untried.remove(mode)
                if known:  # bounds may be refused of one schema that were taken of another
                    handle.shared.mode = None
                continue
        if first_refusal and not in_words and not handle.shared.doubted:
            handle.shared.doubted = True  # it may have been about this prompt alone
        else:
            handle.shared.mode = mode
        return reply


def concession(
    handle: ModelHandle, error: Exception, refused: Refusals, schema: type[BaseModel], options: SendOptions
) -> SendOptions | None:
    """Return the options to ask again with, of what `refused` was known; None where an error asks for nothing new."""
    if status_of(error) not in UNSUPPORTED_STATUS:
        return None
    model, said = leaves_of(handle.model)[0], f"{named_parameter(error)} {message_of(error)}"
    limit = handle.limit(model, schema, options.max_output_tokens)
    if left := tokens_left_for_reply(said, limit):  # of this prompt alone
        return replace(options, max_output_tokens=left)
    learnt = refused.learn(said, limit, limit_name(model, refused.parameters), final=is_permanent(error))
    if learnt and handle.shared.refusals == refused:  # else another request learnt something meanwhile
        handle.shared.refusals, change = learnt
        detail = " ".join(redact(said, handle.model).split())[:200]
        _log.warning("%s: from now on %s, as its server says: %s", handle.name, change, detail)
    return options if learnt else None


def _without_system(messages: list[BaseMessage]) -> list[BaseMessage]:
    """Put what system messages say in front of the first message of the user."""
    said = [each.text for each in messages if isinstance(each, SystemMessage)]
    first, *others = [each for each in messages if not isinstance(each, SystemMessage)]
    return [HumanMessage("\n\n".join([*said, first.text])), *others]


async def request_with_retries(
    handle: ModelHandle, options: SendOptions, send: Callable[[], Awaitable[ResultT]]
) -> ResultT:
    """Send a request, again as the settings say, and report it."""

    def report(error: Exception, attempt: int, seconds: float) -> None:
        if options.on_retry:
            options.on_retry(_failed_request(handle, error, attempt, seconds))

    return await with_retries(send, options.retries, _FIRST_WAIT_SECONDS, _MAX_WAIT_SECONDS, report)


async def _send_with_retries(
    handle: ModelHandle, messages: list[BaseMessage], schema: type[BaseModel], mode: Mode, options: SendOptions
) -> ModelReply:
    here = await handle.here()
    model = handle.bound(here, schema, mode, options.sampling, options.max_output_tokens)
    request = partial(send_request, handle, model, messages, options.on_text)
    with here.request():
        reply = await request_with_retries(handle, options, request)
    if reply.problem == _TRUNCATED and is_only_reasoning(reply.text):
        handle.shared.reasons = True  # so that the next one may take longer
    return reply


async def send_request(
    handle: ModelHandle,
    model: Bound,
    messages: list[BaseMessage],
    on_text: Callable[[str], None] | None = None,
    *,
    read: Callable[[AIMessage], str] = reply_text,
) -> ModelReply:
    """Send one request to a model that was bound for it; `read` makes the reply's text of a message."""
    try:
        # Else LangChain would stream every reply while LangGraph's stream of messages is read.
        whole = {"stream": False} if is_openai(handle.model) and not getattr(handle.model, "streaming", False) else {}
        refused = handle.shared.refusals.parameters
        messages = _without_system(messages) if SYSTEM in refused else messages
        on_text = on_text or ((lambda _: None) if WHOLE in refused else None)
        streams = on_text if handle.shared.failed_streams < _FAILED_STREAMS else None
        async with time_limit(handle.seconds, bool(handle.from_spec and whole and not streams)):
            reply = await _streamed(handle, model, messages, streams) if streams else None
            failed = bool(streams) and reply is None
            reply = reply or await model.ainvoke(messages, CONFIG, **whole)
        handle.shared.failed_streams += failed
        if isinstance(reply, str):  # of a chain that ends with a parser of texts
            reply = AIMessage(reply)
        if not isinstance(reply, AIMessage):  # pyright: ignore[reportUnnecessaryIsInstance] - of another Runnable
            raise ModelError(f"{handle.name} replied with {type(reply).__name__}; a chat model returns an AIMessage")
        return _read_reply(reply, messages, read)
    except Exception as error:
        if type(error) is openai_class("APIError"):  # within a stream of a client that is not ours
            raise_reported({"error": cast("Any", error).body or str(error)})
        about_request = is_about_request(message_of(error)) or is_permanent(error)
        if status_of(error) == 500 and about_request and not PASSING.search(text_of(error)):  # SGLang, llama-cpp-python
            raise ReportedError(message_of(error), 400) from error
        # langchain-openai reads a reply without checking it, so one in another format can raise any of these
        formats = ValueError | TypeError | LookupError | AttributeError | RecursionError
        if not is_openai(handle.model) or not isinstance(error, formats) or isinstance(error, UnicodeEncodeError):
            raise
        raise UnreadableReplyError(str(error)) from error


def _estimated(text: str, problem: str, messages: list[BaseMessage]) -> ModelReply:
    return ModelReply(text, problem, sum(count_tokens(str(each.text)) for each in messages), count_tokens(text))


async def _streamed(
    handle: ModelHandle, model: Bound, messages: list[BaseMessage], on_text: Callable[[str], None]
) -> AIMessage | None:
    """Stream a reply; None from a server that refuses to, says nothing, or breaks off without an error."""
    written = _Written()
    usage = {"stream_usage": STREAM_OPTIONS not in handle.shared.refusals.parameters} if is_openai(handle.model) else {}
    try:
        async for chunk in model.astream(messages, config=CONFIG, **usage):
            if written.add(chunk):
                on_text(written.text())
    except Exception as error:
        # A ValueError of langchain-core says that the stream was empty.
        refused = not written.others and status_of(error) in UNSUPPORTED_STATUS
        if not isinstance(error, ValueError | UnreadableReplyError) and not refused:
            raise
        if usage.get("stream_usage") and STREAM_OPTIONS in text_of(error):
            raise
        return None
    whole = written.message() if written.others else None
    # An empty stream may hide an error in a form of the server's own; a request without streaming shows it.
    if not whole or not _is_whole(reply_text(whole), whole.response_metadata):
        return None
    handle.shared.failed_streams = 0
    on_text(reply_text(whole))
    return whole


def _is_whole(text: str, metadata: Mapping[str, Any]) -> bool:
    """Return whether a streamed reply came to its end, by what it says of that, or as its record is complete."""
    reason = _ended_by(metadata)
    problem = _problem(reason)
    return is_complete(text) or problem == _TRUNCATED or bool(text.strip() and reason and problem != _BROKEN_OFF)


@dataclass
class _Written:
    """The part of a reply that has arrived; adding each chunk to the rest would copy and parse all before it."""

    content: list[str] = field(default_factory=list[str])
    arguments: dict[Any, str] = field(default_factory=dict[Any, str])  # of each function that is called
    others: list[AIMessage] = field(default_factory=list[AIMessage])
    """The chunks without both."""
    size = told = 0

    def add(self, chunk: AIMessage) -> bool:
        """Add a chunk; return whether enough is new to pass on: anything, or a quarter more of a long reply."""
        for each in getattr(chunk, "tool_call_chunks", ()):
            self.arguments[each["index"]] = self.arguments.get(each["index"], "") + (each["args"] or "")
            self.size += len(each["args"] or "")
        self.content.append(chunk.text)
        self.size += len(chunk.text)
        bare: dict[str, Any] = {"content": "", "tool_calls": [], "invalid_tool_calls": [], "tool_call_chunks": []}
        self.others.append(chunk.model_copy(update=bare))
        enough = self.size - self.told > (self.told // 4 if self.told > _LONG else 0)
        self.told = self.size if enough else self.told
        return enough

    def text(self) -> str:
        """Return the text that should hold the object, as `reply_text` does."""
        content, arguments = "".join(self.content), "\n".join(reversed(self.arguments.values()))
        return arguments if arguments.strip(" {}") or not content else content

    def message(self) -> AIMessage:
        parts: list[Any] = self.others
        while len(parts) > 1:  # a long one is copied with each that is added to it
            parts = [parts[n] + parts[n + 1 : n + _ADDED_AT_ONCE] for n in range(0, len(parts), _ADDED_AT_ONCE)]
        return parts[0].model_copy(update={"content": self.text()})


def _read_reply(
    message: AIMessage, messages: list[BaseMessage], read: Callable[[AIMessage], str] = reply_text
) -> ModelReply:
    text, usage = read(message), message.usage_metadata
    problem = _problem(_ended_by(message.response_metadata))
    parts = message.content if isinstance(message.content, list) else []  # of OpenAI's Responses API
    if refusal := [said for each in (message.additional_kwargs, *parts) if (said := entry(each, "refusal"))]:
        problem = f"the model refused: {refusal[0]:.200}"
    if read is reply_text and problem and is_complete(text):
        problem = ""  # some servers say that a reply was cut off that went on with blanks, or was not
    if problem == _BROKEN_OFF:
        raise UnreadableReplyError(problem)
    # A hit of LangChain's cache may have its cost alone.
    prompt, completion = [cast("int", entry(usage, key)) for key in ("input_tokens", "output_tokens")]
    if not (prompt and completion):
        estimated = _estimated(text, problem, messages)
        prompt, completion = prompt or estimated.prompt_tokens, completion or estimated.completion_tokens
    return ModelReply(text, problem, prompt, completion)


def _problem(reason: str) -> str:
    """Return what is wrong with a reply that ended for a reason; empty if nothing is."""
    return next((problem for problem, words in _PROBLEMS.items() if words.search(reason)), "")


def _ended_by(metadata: Mapping[str, Any]) -> str:
    """Return why a reply ended, by whatever name its provider gives that; empty if none says so."""
    said = [metadata.get(key) for key in ("finish_reason", "stop_reason", "stopReason", "done_reason")]
    said.append(entry(metadata.get("incomplete_details"), "reason"))  # of OpenAI's Responses API
    return next((str(each).lower() for each in said if each), "")
