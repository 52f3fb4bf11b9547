"""Ask a model for a JSON object in the strictest way that it offers: by the JSON schema of the reply's class."""

import json
from collections.abc import Mapping, Set
from functools import cache
from math import ceil
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableSerializable
from pydantic import BaseModel, JsonValue

from hopgraph.tools.io.http_retries import openai_class
from hopgraph.tools.io.runnables import AnyRunnable, leaves_of

Mode = Literal["bounded_schema", "json_schema", "function_calling", "json_mode", "text"]
_LIMIT_FIELDS = ("max_tokens", "max_output_tokens", "num_predict")
"""LangChain's names for the maximum tokens of a reply."""

BOUNDS = frozenset({"maxItems", "maxLength", "pattern"})
"""Without them a model that a grammar holds to the schema may go on for ever; OpenAI's strict schemas refuse some."""
_TITLES = frozenset({"default", "title"})  # keywords that strict schemas do not have
SHORTEST_LIMIT, LONGEST_LIMIT = 300, 2000
"""Tokens that a reply may take, at least and at most, unless `max_output_tokens` says how many."""
_CHARACTERS_PER_TOKEN = 3
"""Fewer than in English prose, so that names, numbers and escapes fit; other scripts may need `max_output_tokens`."""
_PUNCTUATION, _SCALAR = 8, 8
"""Tokens for a key with its signs, and for a number, true or false."""
_DEFAULT_LENGTH, _DEFAULT_ITEMS = 1000, 10
"""Bounds of what has none."""

Schema = Mapping[str, JsonValue]
Bound = Runnable[list[BaseMessage], AIMessage]
"""A model with the options of one way of asking."""


@cache
def json_schema(schema: type[BaseModel]) -> dict[str, JsonValue]:
    """Return a model's JSON schema without bounds, not to be changed; cached, since making it takes long."""
    return cast("dict[str, JsonValue]", _rewritten(schema.model_json_schema(), BOUNDS))


@cache
def strict_schema(schema: type[BaseModel], *, bounded: bool = False) -> dict[str, JsonValue]:
    """Return a model's JSON schema as strict servers want it: every property required, no others allowed."""
    left_out = _TITLES if bounded else _TITLES | BOUNDS
    return cast("dict[str, JsonValue]", _rewritten(schema.model_json_schema(), left_out, closed=True))


@cache
def reply_tokens(schema: type[BaseModel]) -> int:
    """Count the tokens that a reply may take: what its longest texts and lists come to, within the two limits."""
    whole = cast("Schema", schema.model_json_schema())
    longest = _longest(whole, cast("Schema", whole.get("$defs", {})))
    return min(max(longest, SHORTEST_LIMIT), LONGEST_LIMIT)


def _longest(node: Schema, definitions: Schema) -> int:
    if reference := node.get("$ref"):
        return _longest(cast("Schema", definitions[str(reference).rpartition("/")[2]]), definitions)
    if isinstance(choices := node.get("anyOf"), list):
        return max(_longest(cast("Schema", each), definitions) for each in choices)
    if isinstance(properties := node.get("properties"), Mapping):
        fields = cast("Mapping[str, Schema]", properties).values()
        return sum(_PUNCTUATION + _longest(each, definitions) for each in fields)
    if "items" in node:
        entry = _longest(cast("Schema", node["items"]), definitions)
        return cast("int", node.get("maxItems", _DEFAULT_ITEMS)) * entry
    if node.get("type") == "string" and "enum" not in node:
        return ceil(cast("int", node.get("maxLength", _DEFAULT_LENGTH)) / _CHARACTERS_PER_TOKEN)
    return _SCALAR


def _rewritten(node: JsonValue, left_out: frozenset[str], *, closed: bool = False) -> JsonValue:
    """Return a schema without some keywords, `closed`: with every property required and no others allowed."""
    if isinstance(node, list):
        return [_rewritten(entry, left_out, closed=closed) for entry in node]
    if not isinstance(node, dict):
        return node
    found = {key: _rewritten(entry, left_out, closed=closed) for key, entry in node.items() if key not in left_out}
    if isinstance(properties := node.get("properties"), dict):  # whose names are not keywords
        found["properties"] = {name: _rewritten(each, left_out, closed=closed) for name, each in properties.items()}
        found |= {"required": [*properties], "additionalProperties": False} if closed else {}
    return found


def modes_of(model: AnyRunnable) -> tuple[Mode, ...]:
    """Return the modes to try, strictest first; `text` is always the last.

    With fallbacks, only what all of its models have: a refusal of one is never seen, as the next one replies.
    """
    models = leaves_of(model)
    if len(models) == 1 and is_openai(models[0]):
        modes: tuple[Mode, ...] = ("json_schema", "function_calling", "json_mode", "text")
        return modes if _is_served_by_openai(models[0]) else ("bounded_schema", *modes)
    return ("function_calling", "text") if all(map(_has_tools, models)) else ("text",)


def _has_tools(model: Any) -> bool:
    if isinstance(model, BaseChatModel):
        return type(model).bind_tools is not BaseChatModel.bind_tools
    # A configurable model of `init_chat_model` binds them when it is asked; of `configurable_fields` it cannot.
    return not isinstance(model, RunnableSerializable) and callable(getattr(model, "bind_tools", None))


def is_openai(model: AnyRunnable) -> bool:
    """Return whether all models in a Runnable ask by the openai package, as those of langchain-openai do."""
    kind = openai_class("AsyncOpenAI")
    return all(
        isinstance(each, BaseChatModel) and isinstance(getattr(each, "root_async_client", None), kind)
        for each in leaves_of(model)
    )


def _is_served_by_openai(model: AnyRunnable) -> bool:
    """Return whether one of langchain-openai's models is asked where the names of OpenAI's newest API are known."""
    host = urlsplit(getattr(model, "openai_api_base", None) or "").hostname
    return not host or f".{host}".endswith((".openai.com", ".azure.com"))


def limit_name(model: AnyRunnable, refused: Set[str] = frozenset[str]()) -> str | None:
    """Return the name under which the most tokens of a reply are sent; None where its class or its server knows none.

    Compatible servers know OpenAI's older name for it, and several only that one (Ollama silently ignores the other).
    """
    names = (_limit_field(model),)
    if is_openai(model) and not _uses_responses(model):
        names = ("max_tokens", "max_completion_tokens")[:: -1 if _is_served_by_openai(model) else 1]
    return next((name for name in names if name not in refused), None)


def limit_reply(model: Any, tokens: int, refused: Set[str] = frozenset[str]()) -> Any:
    """Return the model with a limit to the tokens of a reply, and without the parameters that its server refuses."""
    field, name = _limit_field(model), limit_name(model, refused)
    if not field:
        return model
    update: dict[str, Any] = {each: None for each in refused if each in type(model).model_fields}
    if is_openai(model) and name == "max_tokens" and not _uses_responses(model):
        update |= {"extra_body": {**_extra_body(model), name: tokens}, field: None}
    else:
        update[field] = tokens if name else None
    return model.model_copy(update=update)


def own_limit(model: AnyRunnable) -> int | None:
    """Return the limit that a model was made with."""
    field = _limit_field(model)
    return getattr(model, field) if field else None


def _uses_responses(model: AnyRunnable) -> bool:
    # Where langchain-openai chooses that API by the model's name, the first request finds out.
    return bool(getattr(model, "use_responses_api", None)) or getattr(model, "output_version", None) == "responses/v1"


def _limit_field(model: AnyRunnable) -> str | None:
    fields = type(model).model_fields if isinstance(model, BaseChatModel) else ()
    return next((name for name in _LIMIT_FIELDS if name in fields), None)


def _extra_body(model: AnyRunnable) -> Mapping[str, Any]:
    return cast("Mapping[str, Any] | None", getattr(model, "extra_body", None)) or {}


def bind(model: Any, schema: type[BaseModel], mode: Mode) -> Bound:
    """Bind a mode's request options to a model."""
    if mode == "text":
        return model
    if mode == "json_mode":
        return _with_format(model, {"type": "json_object"})
    name, parameters = schema.__name__, strict_schema(schema, bounded=mode == "bounded_schema")
    if mode == "function_calling":
        tool = {"type": "function", "function": {"name": name, "parameters": parameters}}
        return model.bind_tools([tool], tool_choice=name)
    strict = {"name": name, "schema": parameters, "strict": True}
    return _with_format(model, {"type": "json_schema", "json_schema": strict})


def _with_format(model: Any, response_format: Mapping[str, object]) -> Bound:
    """Send a `response_format` with every request.

    As `extra_body`, which makes the same request: for an argument, the openai package would parse the reply a second
    time, which takes longer than all the rest. The Responses API names it differently, which langchain-openai handles.
    """
    if not is_openai(model) or _uses_responses(model):
        return model.bind(response_format=response_format)
    return model.model_copy(update={"extra_body": {**_extra_body(model), "response_format": response_format}})


def reply_text(message: AIMessage) -> str:
    """Return the text that should hold the object: the arguments of all calls, the first one last, else the content."""
    called = [json.dumps(each["args"]) for each in reversed(message.tool_calls) if each["args"]]
    if message.tool_calls and (called or not message.text):
        return "\n".join(called) or "{}"
    if message.invalid_tool_calls and message.invalid_tool_calls[0]["args"]:
        return message.invalid_tool_calls[0]["args"]
    older: Any = message.additional_kwargs.get("function_call")  # before there were several calls
    return str(message.text) or (str(older["arguments"]) if older else "")
