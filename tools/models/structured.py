"""Ask a model for a JSON object in the strictest way that it offers."""

import json
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, cast

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable
from pydantic import BaseModel, JsonValue

Mode = Literal["json_schema", "function_calling", "json_mode", "text"]


def modes_of(model: BaseChatModel) -> tuple[Mode, ...]:
    """Return the modes to try, strictest first; `text` is always the last."""
    if is_openai(model):
        return "json_schema", "function_calling", "json_mode", "text"
    if type(model).bind_tools is not BaseChatModel.bind_tools:
        return "function_calling", "text"
    return ("text",)


def is_openai(model: BaseChatModel) -> bool:
    """Whether a model is one of langchain-openai's; importing that package only to ask would be slow."""
    module = sys.modules.get("langchain_openai.chat_models.base")
    # While another thread imports it, the module exists without its class, and so does no instance.
    kind = getattr(module, "BaseChatOpenAI", None)
    return kind is not None and isinstance(model, kind)


def bind(model: BaseChatModel, schema: type[BaseModel], mode: Mode) -> Runnable[list[BaseMessage], AIMessage]:
    """Bind a mode's request options to a model."""
    if mode == "text":
        return model
    if mode == "json_mode":
        return _with_format(model, {"type": "json_object"})
    name, parameters = schema.__name__, _strict(json_schema(schema))
    if mode == "function_calling":
        tool = {"type": "function", "function": {"name": name, "parameters": parameters}}
        return model.bind_tools([tool], tool_choice=name)
    strict = {"name": name, "schema": parameters, "strict": True}
    return _with_format(model, {"type": "json_schema", "json_schema": strict})


def _with_format(model: BaseChatModel, response_format: Mapping[str, object]) -> Runnable[list[BaseMessage], AIMessage]:
    """Send a `response_format` with every request.

    It goes as `extra_body`, which makes the same request: given as an argument, the openai package would transform it
    for each request and parse the reply a second time, which takes longer than all the rest. The Responses API
    names it differently, which langchain-openai handles.
    """
    if not is_openai(model) or getattr(model, "_use_responses_api")({}):  # noqa: B009 - langchain-openai's own
        return model.bind(response_format=response_format)
    own = cast("Mapping[str, Any] | None", getattr(model, "extra_body", None)) or {}
    return model.bind(extra_body={**own, "response_format": response_format})


@cache
def json_schema(schema: type[BaseModel]) -> dict[str, JsonValue]:
    """Return a model's JSON schema, not to be changed; cached, since making it takes longer than the rest of a call."""
    return cast("dict[str, JsonValue]", schema.model_json_schema())


def _strict(node: JsonValue) -> JsonValue:
    """Return a JSON schema as strict servers want it: every property required, no others allowed."""
    if isinstance(node, list):
        return [_strict(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    strict = {key: _strict(entry) for key, entry in node.items() if key not in {"default", "title"}}
    properties = node.get("properties")
    if isinstance(properties, Mapping):
        strict["properties"] = {name: _strict(entry) for name, entry in properties.items()}
        strict["required"] = list(properties)
        strict["additionalProperties"] = False
    return strict


def reply_text(message: AIMessage) -> str:
    """Return the text that should hold the object: the called function's arguments, else the content."""
    if message.tool_calls:
        return json.dumps(message.tool_calls[0]["args"])
    if message.invalid_tool_calls:
        return message.invalid_tool_calls[0]["args"] or ""
    return str(message.text)
