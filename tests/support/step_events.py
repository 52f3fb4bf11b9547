"""Serialized step events, for tests that give only the relevant fields."""

from collections.abc import Mapping
from dataclasses import fields
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from typing_extensions import is_typeddict

from hopgraph.state import Event, StepEvent
from hopgraph.state.events import EVENTS


def step_event(event: Event, *, step: int = 1, path: str = "node", number: int = 0) -> StepEvent:
    """Serialize a record."""
    return StepEvent(event=event.event, node="node", step=step, path=path, number=number, data=dict(vars(event)))


def sparse_event(kind: str, data: Mapping[str, Any], *, step: int = 1) -> StepEvent:
    """Serialize an event; missing fields are empty."""
    record = next(
        each
        for each in EVENTS
        if each.event == kind
        and all(data.get(field.name) in (None, field.default) for field in fields(each) if field.name == "of")
    )
    hints = get_type_hints(record)
    empty = {field.name: _fill(hints[field.name], data.get(field.name)) for field in fields(record)}
    return StepEvent(event=kind, node="node", step=step, path="node", number=0, data={**empty, **_given(hints, data)})


def _given(hints: dict[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _fill(hints[key], value) if key in hints else value for key, value in data.items()}


def _fill(hint: Any, value: Any) -> Any:
    """Complete a value; None becomes the type's empty value."""
    if is_typeddict(hint):
        hints, given = get_type_hints(hint), value or {}
        return {**{key: _fill(hints[key], given.get(key)) for key in hint.__required_keys__}, **_given(hints, given)}
    if value is not None:
        entry = next(iter(get_args(hint)), None)
        return [_fill(entry, each) for each in value] if get_origin(hint) is list else value
    kind = get_origin(hint) or hint
    if kind is Literal:
        return get_args(hint)[0]
    return None if kind is UnionType else kind()
