"""A reply class as the JSON schema that a server enforces, and how many tokens its replies may take."""

from collections.abc import Mapping
from functools import cache
from math import ceil
from typing import cast

from pydantic import BaseModel, JsonValue

BOUNDS = frozenset({"maxItems", "maxLength", "pattern"})
"""How long a list or a text may grow, and the form of a text. A model that a grammar holds to the schema may otherwise
go on for ever; most servers of local models take them, and OpenAI's strict schemas refuse some."""
_TITLES = frozenset({"default", "title"})
"""Keywords that strict schemas do not have."""
SHORTEST_LIMIT, LONGEST_LIMIT = 300, 2000
"""Tokens that a reply may take, at least and at most, unless `max_reply_tokens` says how many."""
_CHARACTERS_PER_TOKEN = 3
"""Fewer than in English prose, so that names, numbers and escapes fit in; other scripts may need `max_reply_tokens`."""
_PUNCTUATION, _SCALAR = 8, 8
"""Tokens for a key with its signs, and for a number, true or false."""
_DEFAULT_LENGTH, _DEFAULT_ITEMS = 1000, 10
"""Bounds of what has none."""

Schema = Mapping[str, JsonValue]


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
    if isinstance(properties := node.get("properties"), dict):  # whose names are no keywords
        found["properties"] = {name: _rewritten(each, left_out, closed=closed) for name, each in properties.items()}
        found |= {"required": [*properties], "additionalProperties": False} if closed else {}
    return found
