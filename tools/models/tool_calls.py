"""Ask a model to call tools."""

import json
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field, JsonValue, field_validator
from pydantic_core import to_json

from hopgraph.state import ModelError
from hopgraph.tools.io.background import run_on
from hopgraph.tools.io.http_retries import status_of
from hopgraph.tools.io.runnables import leaves_of, replace_leaves
from hopgraph.tools.io.server_errors import UNSUPPORTED_STATUS, message_of
from hopgraph.tools.models.reply_cache import ModelReply
from hopgraph.tools.models.resolve import ModelHandle
from hopgraph.tools.models.send import (
    SendOptions,
    as_model_error,
    check_key,
    concession,
    note_refused_key,
    request_with_retries,
    send_request,
)
from hopgraph.tools.prompts import clean

MOST_CALLS = 8
"""Calls of one turn that count: the first ones."""
_LONGEST = 20_000
"""Characters of what a model says, or of the arguments of a call."""


class ToolsRefusedError(ModelError):
    """A model, or its server, that takes no tools."""


class ToolCall(BaseModel):
    """A call of a tool, as the model writes it; neither its name nor its arguments are checked."""

    name: str
    args: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])


class ToolTurn(BaseModel):
    """A reply that calls tools."""

    text: str = ""
    """Text beside the calls."""
    calls: list[ToolCall]

    @field_validator("calls")
    @classmethod
    def _some(cls, calls: list[ToolCall]) -> list[ToolCall]:
        if not calls:
            raise ValueError("no tool was called")
        return calls


def takes_tools(handle: ModelHandle) -> bool:
    """Return whether a model may be given tools: LangChain can bind them, and its server refused none."""
    models = leaves_of(handle.model)
    can = all(
        isinstance(each, BaseChatModel) and type(each).bind_tools is not BaseChatModel.bind_tools for each in models
    )
    return can and handle.shared.takes_tools


async def call_tools(
    handle: ModelHandle, messages: list[BaseMessage], tools: Sequence[BaseTool], options: SendOptions
) -> ModelReply:
    """Ask for calls of these tools, one at least; the reply's text is a `ToolTurn` as JSON.

    ToolsRefusedError where the server takes no tools, or ignores them, which is then remembered; else the errors
    of `send`.
    """
    return await run_on(handle.loop(), _call_tools(handle, messages, tools, options))


async def _call_tools(
    handle: ModelHandle, messages: list[BaseMessage], tools: Sequence[BaseTool], options: SendOptions
) -> ModelReply:
    waiting_since = time.monotonic()
    async with handle.shared.limit(options.parallel):
        check_key(handle, waiting_since)
        while True:
            here, refused = await handle.here(), handle.shared.refusals
            plain = handle.bound(here, ToolTurn, "text", options.sampling, options.max_output_tokens)
            choice = {"tool_choice": "any"} if handle.shared.forces_tools else {}
            try:
                model: Any = replace_leaves(plain, partial(_with_tools, tools=tools, **choice))
                request = partial(send_request, handle, model, messages, read=_as_turn)
                with here.request():
                    reply = await request_with_retries(handle, options, request)
            except Exception as error:  # noqa: BLE001 - each provider has its own error classes; others pass
                if changed := concession(handle, error, refused, ToolTurn, options):
                    options = changed
                    continue
                note_refused_key(handle, error)
                said = message_of(error).lower()
                if not _refuses_tools(error, said):
                    raise as_model_error(handle, error) from None
                if choice and "choice" in said:
                    handle.shared.forces_tools = False
                    continue
                handle.shared.takes_tools = False
                raise ToolsRefusedError(f"{handle.name} does not support tools: {said:.200}") from None
            if choice and not reply.problem and reply.text.endswith('"calls":[]}'):
                handle.shared.takes_tools = False  # the server was told to force a call, and pays no heed
                raise ToolsRefusedError(f"{handle.name} does not call tools")
            return reply


def _with_tools(model: BaseChatModel, *, tools: Sequence[BaseTool], **choice: str) -> Any:
    return model.bind_tools(list(tools), **choice)


def _refuses_tools(error: Exception, said: str) -> bool:
    """Return whether a model class has no tools, or a server says that it takes none, or not this way."""
    refused = status_of(error) in {*UNSUPPORTED_STATUS, 500} and ("tool" in said or "function" in said)
    return refused or isinstance(error, NotImplementedError)


def _as_turn(message: AIMessage) -> str:
    """Write a reply as a `ToolTurn`; arguments other than a JSON object make an empty one, which the tool refuses."""
    calls = [ToolCall(name=clean(each["name"])[:100], args=_bounded(each["args"])) for each in message.tool_calls]
    broken = [ToolCall(name=clean(each["name"] or "")[:100]) for each in message.invalid_tool_calls]
    text = clean(str(message.text))[:_LONGEST]
    return ToolTurn.model_construct(text=text, calls=[*calls, *broken][:MOST_CALLS]).model_dump_json()


def _bounded(args: dict[str, Any]) -> dict[str, Any]:
    """Return arguments that can be kept, and none in place of those that are too long or too deep."""
    try:
        text = json.dumps(args)
        to_json(args)  # refuses half surrogates
        return args if len(text) <= _LONGEST else {}
    except (ValueError, TypeError, RecursionError):
        return {}
