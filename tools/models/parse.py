"""Parse a model's reply as a record: tolerant of wrapping, strict about content, never evaluating anything."""

import asyncio
import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import TypeVar, cast

import json_repair
from langchain_core.utils.json import parse_partial_json
from pydantic import BaseModel, JsonValue, ValidationError

from hopgraph.state.errors import format_error
from hopgraph.tools.prompts import unescape

RecordT = TypeVar("RecordT", bound=BaseModel)
JsonObject = dict[str, JsonValue]

_REASONING = r"[\w:.-]{0,20}(?:think|thought|reason|reflect|analy[sz]|scratch|monolog|deliberat|ponder)[\w:.-]{0,30}+"
_END = (
    rf"[<\[◁]\|?\s{{0,5}}(?:/\s{{0,5}}|end_?(?:of_?)?){_REASONING}\s{{0,5}}\|?[>\]▷]|<channel\|>|<\|inner_suffix\|>"
    r"|\[unused17\]|<\|channel\|>\s{0,5}final\b|assistant\s{0,5}final(?=\s{0,5}\{)"
)
_BEGIN = (
    rf"[<◁]\|?\s{{0,5}}{_REASONING}(?:\s[^<>▷]{{0,200}}+)?+\|?(?<!/)[>▷]|<\|inner_prefix\|>|\[unused16\]"
    r"|(?-i:\[(?:[A-Z]{1,20}_){0,3}TH(?:INK|OUGHT)[A-Z]{0,9}\])"
)
_MARK = re.compile(
    rf"(?P<object>\{{)(?=\s*[\"}}])|(?P<end>{_END})|(?P<channel><\|channel\|?>\s{{0,5}}{_REASONING})|(?P<begin>{_BEGIN})",
    re.IGNORECASE,
)
"""Where an object or reasoning may begin or end, in the marks of models whose servers do not split reasoning off.

Tags in angle brackets of many names, Mistral's [THINK], Kimi's ◁think▷, the channels of gpt-oss (also as they look when
a server drops the special tokens) and of Gemma, Cohere's <|START_THINKING|>, Apertus's prefix, and openPangu's numbers.
"""
_ENDS = {
    "begin": re.compile(_END, re.IGNORECASE),
    "channel": re.compile(r"<\|(?:end|start|return|call)\|>|<channel\|>|(?=<\|channel)"),
}
_CLOSING = re.compile(r"(?:\s|[`\])}]|</?\w{1,30}>|<\|\w{1,30}\|>)*+")
_DECODER = json.JSONDecoder(strict=False)
_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\'\\/bfnrt]))')
_SHORT_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", '"': '"', "'": "'", "\\": "\\", "/": "/"}
_MAX_REPLY = 200_000
"""Maximum characters read; no step asks for a tenth of that."""
_DEEPEST, _MAX_INNER = 4, 50
"""How far in an object a record is looked for, and in how many objects: models write one as if it were a call."""
_NO_NAME = re.compile(r"[\W_]")
_TAGGED = re.compile(
    r"<(?:[^\s<>]{0,20}parameter(?:=| name=\"?)|arg_key>)?\s{0,5}(?P<name>\w{1,50})\"?"
    r"(?:(?:\s[^<>]{0,50})?>|</arg_key>\s{0,5}<arg_value>)(?P<value>[^<]*)</(?:[^\s<>]{0,20}parameter|arg_value|(?P=name))>"
)
"""A field as an element, in the tool calls of Qwen and GLM, and of models that answer in XML."""
_LONG_REPLY = 10_000
"""Minimum length in characters for parsing in a thread, to keep the event loop responsive."""
_MAX_FOUND, _MAX_FAILED = 100, 100
"""Objects of a reply that are compared with the schema, the last ones, and braces that may turn out to begin none."""
_MAX_REPAIR = {"characters": 50_000, "brackets": 2_000}
"""Longer broken replies are not repaired: that would take seconds."""


class UnusableReplyError(Exception):
    """A reply without the requested record; the message tells the model what is wrong."""


async def parse_in_turn(text: str, schema: type[RecordT]) -> RecordT:
    """Return the result of `parse_reply`, without blocking the event loop on a long reply."""
    if len(text) < _LONG_REPLY:
        return parse_reply(text, schema)
    return await asyncio.to_thread(parse_reply, text, schema)


def parse_reply(text: str, schema: type[RecordT]) -> RecordT:
    """Find the record in a reply.

    Reasoning, in the marks of any vendor, and what follows 200,000 characters are set aside; marks within the strings
    of an object are none. Then the last JSON object that fits the schema is taken, as earlier ones may be drafts,
    repaired (trailing commas, missing brackets, single quotes) only if none is well formed; an object without any field
    of the schema comes last of all. A repaired object counts only if each of its strings occurs in the reply. Without
    an object that fits, the class method `read_paper_form` of a schema that has one makes an object of the text, or
    None; else UnusableReplyError.
    """
    text = text.replace('<|"|>', '"')  # Gemma's quotes
    whole = _decoded(text) if text.lstrip()[:1] == '"' else text  # arguments of a tool that were encoded twice
    content, found = _outside_reasoning(whole if isinstance(whole, str) else text)
    if not content:
        raise UnusableReplyError("the reply is empty")
    problem = ""
    for record in _records(chain(reversed(found), _repaired(content), _tagged(content)), schema):
        try:
            return schema.model_validate(_restored(record))
        except ValidationError as error:
            problem = problem or format_error(error, whole="the object")
    read: Callable[[str], JsonObject | None] | None = getattr(schema, "read_paper_form", None)
    if read and (value := read(content)) is not None:
        with suppress(ValidationError):
            return schema.model_validate(_restored(value))
    raise UnusableReplyError(problem or "the reply contains no JSON object")


def is_complete(text: str) -> bool:
    """Return whether the record in a reply is complete, although the reply may have been cut off.

    It is one object, well formed, which may have been repeated; or ends with one.
    """
    with suppress(ValueError, RecursionError):
        return isinstance(json.loads(text), dict)  # however long it is
    content, found = _outside_reasoning(text)
    start, end, number = content.find("{"), 0, 0
    while start >= 0:
        try:
            _, end = _DECODER.raw_decode(content, start)
        except (ValueError, RecursionError):
            return number > 1 and all(each == found[0] for each in found)
        start, number = content.find("{", end), number + 1
    return number == 1 or (number > 1 and _CLOSING.fullmatch(content, end) is not None)


def read_unfinished(text: str, field: str) -> str:
    """Return as much of a text field as has come of a reply that is still being written; empty before it begins."""
    content = _outside_reasoning(text)[0][:_LONG_REPLY]
    try:
        value: object = parse_partial_json(content[content.index("{") :])
    except ValueError:
        return ""
    found = cast("dict[str, object]", value).get(field) if isinstance(value, dict) else None
    return unescape(found) if isinstance(found, str) else ""


def is_only_reasoning(text: str) -> bool:
    """Return whether a reply was cut off before it started; some servers do not show the reasoning."""
    return not text or (not text.isspace() and "{" not in _outside_reasoning(text)[0])


def _outside_reasoning(text: str) -> tuple[str, deque[JsonObject]]:
    """Return the non-reasoning part of a reply, and the last of the well-formed objects in it, in order."""
    kept, found = list[str](), deque[JsonObject](maxlen=_MAX_FOUND)
    start = position = set_aside = failed = 0
    while mark := _MARK.search(text, position):
        position = mark.end()
        if mark.lastgroup == "object":
            if mark.start() - set_aside >= _MAX_REPLY:
                break
            if failed < _MAX_FAILED:
                try:
                    value, position = cast("tuple[JsonObject, int]", _DECODER.raw_decode(text, mark.start()))
                    found.append(value)
                except (ValueError, RecursionError):
                    failed += 1
        elif mark.lastgroup == "end":  # some servers leave out where it begins, so what precedes is reasoning too
            kept.clear()
            found.clear()
            start = set_aside = position
        else:
            kept.append(text[start : mark.start()])
            end = _ENDS[mark.lastgroup or ""].search(text, position)
            start = position = end.end() if end else len(text)
            set_aside += position - mark.start()
    return "".join([*kept, text[start:]]).strip()[:_MAX_REPLY], found


def _records(objects: Iterable[JsonObject], schema: type[BaseModel]) -> Iterator[JsonObject]:
    """Go through the objects and what is wrapped in them; last comes what shares no field with the schema."""
    unrelated = list[JsonObject]()
    for value in objects:
        for record in (value, *_within(value, schema)):
            if record.keys() & schema.model_fields.keys():
                yield record
            else:
                unrelated.append(record)
    yield from unrelated


def _repaired(text: str) -> Iterator[JsonObject]:
    start = text.find("{")
    brackets = text.count("{") + text.count("[")
    if start < 0 or len(text) > _MAX_REPAIR["characters"] or brackets > _MAX_REPAIR["brackets"]:
        return
    try:
        value = cast("JsonValue", json_repair.loads(text[start:], skip_json_loads=True))
    except (ValueError, RecursionError, IndexError):
        return
    for record in reversed(value) if isinstance(value, list) else [value]:
        if isinstance(record, dict) and _occurs_in(record, text):
            yield record


def _occurs_in(value: JsonValue, text: str) -> bool:
    """Return whether every string of a repaired value occurs in the reply, as written or with escapes decoded."""
    decoded = _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _SHORT_ESCAPES[found[2]], text)
    return all(leaf in text or leaf in decoded for leaf in _leaves(value))


def _leaves(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _leaves(entry)


def _tagged(text: str) -> Iterator[JsonObject]:
    """Read fields that are written as elements: <answer>…</answer>."""
    fields = {found["name"]: found["value"].strip() for found in _TAGGED.finditer(text)}
    if fields:
        yield {name: _decoded(value) for name, value in fields.items()}


def _decoded(text: str) -> JsonValue:
    try:
        return cast("JsonValue", json.loads(text))
    except (ValueError, RecursionError):
        return text


def _within(value: JsonObject, schema: type[BaseModel]) -> Iterator[JsonObject]:
    """Find what may be the record in an object that is not: with other spellings of names, or somewhere within."""
    names = {_NO_NAME.sub("", name).lower(): name for name in schema.model_fields}
    found, number = [(value, 0)], 0
    while found and number < _MAX_INNER:
        (each, depth), number = found.pop(0), number + 1
        renamed = {names.get(_NO_NAME.sub("", key).lower(), key): entry for key, entry in each.items()}
        yield renamed
        yield {key: _single(entry) for key, entry in renamed.items()}
        for entry in each.values() if depth < _DEEPEST else ():
            inner = _decoded(entry) if isinstance(entry, str) and entry.lstrip()[:1] in ("{", "[") else entry
            objects = inner if isinstance(inner, list) else [inner]
            found += [(one, depth + 1) for one in objects if isinstance(one, dict)]


def _single(entry: JsonValue) -> JsonValue:
    """Return the only entry of a list, and the value next to a schema's type; anything else unchanged."""
    if isinstance(entry, list) and len(entry) == 1:
        return entry[0]
    return entry["value"] if isinstance(entry, dict) and entry.keys() >= {"type", "value"} else entry


def _restored(value: JsonValue) -> JsonValue:
    """Undo the delimiters' escapes, and drop lone surrogates, which no UTF-8 file could hold."""
    if isinstance(value, str):
        plain = value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "ignore")
        return unescape(plain)
    if isinstance(value, list):
        return [_restored(entry) for entry in value]
    return {key: _restored(entry) for key, entry in value.items()} if isinstance(value, dict) else value
