"""Parse a model's reply as a record: tolerant of wrapping, strict about content, never evaluating anything."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TypeVar, cast

import json_repair
from langchain_core.utils.json import parse_partial_json
from pydantic import BaseModel, JsonValue, ValidationError

from hopgraph.state.errors import describe_problem
from hopgraph.tools.prompts import unescape

RecordT = TypeVar("RecordT", bound=BaseModel)

_REASONING = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_REASONING_END = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_FENCE = "```"
_DECODER = json.JSONDecoder(strict=False)
_LANGUAGE = re.compile(r"[\w-]*+[ \t]*+\n?")
_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_SHORT_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "/": "/"}
_MAX_REPLY = 200_000
"""Characters; what follows is not read. No step asks for a tenth of it."""
_WRAPPERS = ("arguments", "parameters", "properties", "input", "response")
"""Keys under which models write a record as if it were a call or a schema."""
_LONG_REPLY = 10_000
"""From so many characters on a reply is parsed in a thread, as the event loop also answers others."""
_MAX_REPAIR = {"characters": 50_000, "brackets": 2_000}
"""A broken reply beyond this is not repaired: that would take seconds."""


class UnusableReplyError(Exception):
    """A reply that does not hold the asked-for record; the message tells the model what is wrong."""


async def parse_in_turn(text: str, schema: type[RecordT]) -> RecordT:
    """Return what `parse_reply` does, without holding up the event loop by a long reply."""
    if len(text) < _LONG_REPLY:
        return parse_reply(text, schema)
    return await asyncio.to_thread(parse_reply, text, schema)


def parse_reply(text: str, schema: type[RecordT]) -> RecordT:
    """Find the record in a reply.

    Reasoning blocks, code fences and what follows 200,000 characters are set aside; then the first JSON object that
    fits the schema is taken, repaired (trailing commas, missing brackets, single quotes) only if none is well formed.
    A repaired object counts only if each of its strings occurs in the reply. Without an object that fits, the class
    method `read_paper_form` of a schema that has one makes an object of the text, or None; else UnusableReplyError.
    """
    content = _without_reasoning(text)[:_MAX_REPLY]
    if not content:
        raise UnusableReplyError("the reply is empty")
    problem = "the reply holds no JSON object"
    for value in _objects(content):
        try:
            return schema.model_validate(_restored(value))
        except ValidationError as error:
            problem = describe_problem(error, whole="the object")
        for record in _within(value, schema):
            with suppress(ValidationError):
                return schema.model_validate(_restored(record))
    read: Callable[[str], dict[str, JsonValue] | None] | None = getattr(schema, "read_paper_form", None)
    if read and (value := read(content)) is not None:
        with suppress(ValidationError):
            return schema.model_validate(_restored(value))
    raise UnusableReplyError(problem)


def is_whole_record(text: str, schema: type[BaseModel]) -> bool:
    """Whether a text is nothing but a well-formed record, and blanks."""
    try:
        schema.model_validate(_restored(json.loads(text)))
    except (ValueError, RecursionError):
        return False
    return True


def read_unfinished(text: str, field: str) -> str:
    """Return as much of a text field as has come of a reply that is still being written; empty before it begins."""
    content = _without_reasoning(text)[:_LONG_REPLY]
    try:
        value: object = parse_partial_json(content[content.index("{") :])
    except ValueError:
        return ""
    found = cast("dict[str, object]", value).get(field) if isinstance(value, dict) else None
    return unescape(found) if isinstance(found, str) else ""


def is_only_reasoning(text: str) -> bool:
    """Whether a reply that was cut off had not begun; some servers do not show what was reasoned."""
    return not text or (not text.isspace() and "{" not in _without_reasoning(text))


def _without_reasoning(text: str) -> str:
    # Some servers leave out the opening tag, so what precedes a lone closing one is reasoning too.
    return _REASONING_END.split(_REASONING.sub("", text))[-1].strip()


def _objects(content: str) -> Iterator[dict[str, JsonValue]]:
    fenced = content.split(_FENCE)[1:-1:2]  # each between two fences
    texts = [_LANGUAGE.sub("", text, count=1) for text in fenced] + [content]
    for text in texts:
        yield from _well_formed(text)
    for text in texts:
        yield from _repaired(text)


def _well_formed(text: str) -> Iterator[dict[str, JsonValue]]:
    start = text.find("{")
    for _ in range(100):  # a reply of a million braces must not take a million tries
        if start < 0:
            return
        try:
            value, end = cast("tuple[JsonValue, int]", _DECODER.raw_decode(text, start))
        except (ValueError, RecursionError):
            end = start + 1
        else:
            if isinstance(value, dict):
                yield value
        start = text.find("{", end)


def _repaired(text: str) -> Iterator[dict[str, JsonValue]]:
    start = text.find("{")
    brackets = text.count("{") + text.count("[")
    if start < 0 or len(text) > _MAX_REPAIR["characters"] or brackets > _MAX_REPAIR["brackets"]:
        return
    try:
        value = cast("JsonValue", json_repair.loads(text[start:], skip_json_loads=True))
    except (ValueError, RecursionError, IndexError):
        return
    for record in value if isinstance(value, list) else [value]:
        if isinstance(record, dict) and _occurs_in(record, text):
            yield record


def _occurs_in(value: JsonValue, text: str) -> bool:
    """Whether every string of a repaired value occurs in the reply, as written or with escapes decoded."""
    decoded = _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _SHORT_ESCAPES[found[2]], text)
    return all(leaf in text or leaf in decoded for leaf in _leaves(value))


def _leaves(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _leaves(entry)


def _within(value: dict[str, JsonValue], schema: type[BaseModel]) -> Iterator[JsonValue]:
    """Find what may be the record in an object that is not: a call's arguments, what its name holds, other capitals."""
    for key in (*_WRAPPERS, schema.__name__):
        inner = value.get(key)
        with suppress(ValueError, RecursionError):
            inner = cast("JsonValue", json.loads(inner)) if isinstance(inner, str) else inner
        if isinstance(inner, dict):
            yield inner
    names = {name.lower(): name for name in schema.model_fields}
    renamed = {names.get(key.lower(), key): entry for key, entry in value.items()}
    yield renamed
    yield {key: entry[0] if isinstance(entry, list) and len(entry) == 1 else entry for key, entry in renamed.items()}


def _restored(value: JsonValue) -> JsonValue:
    """Undo the delimiters' escapes, and drop lone surrogates, which no UTF-8 file could hold."""
    if isinstance(value, str):
        plain = value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "ignore")
        return unescape(plain)
    if isinstance(value, list):
        return [_restored(entry) for entry in value]
    return {key: _restored(entry) for key, entry in value.items()} if isinstance(value, dict) else value
