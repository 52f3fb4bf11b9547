"""Read what a person writes into a run's state by `update_state`: queries, passages and evidence."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from langgraph.types import Overwrite, StateUpdate
from pydantic import TypeAdapter, ValidationError

from hopgraph.nodes.core.excerpts import passages_by_id, quoted
from hopgraph.state import Evidence, Passage, Query, SettingsError
from hopgraph.state.errors import describe_problem, did_you_mean

_KINDS: dict[str, type[Any]] = {"queries": Query, "passages": Passage, "evidence": Evidence}

_Values = Mapping[str, Any]


def complete_edits(supersteps: Sequence[Sequence[StateUpdate]], state: _Values) -> list[list[StateUpdate]]:
    """Complete what is written to a thread's state, given the state as it is; keys of other kinds stay as they are.

    A query may be a text, or lack its `why`. Evidence may lack its `id` (it follows those of this iteration), its
    `quote` (the best-matching sentence of its first passage) and `verified` (False). A SettingsError names in one line
    what cannot be read, and a passage that neither the state nor the same update has.
    """
    return [[update._replace(values=_complete(update.values, state)) for update in step] for step in supersteps]


def _complete(values: object, state: _Values) -> Any:
    if not isinstance(values, Mapping):
        return values
    written = dict(cast("_Values", values))
    for key in (key for key in _KINDS if key in written):  # passages before the evidence that rests on them
        value = written[key]
        given = _overwriting(value)
        if not isinstance(given, list):
            raise SettingsError(f"{key}: expected a list, got {given!r:.80}")
        read = [_read(f"{key}[{number}]", _KINDS[key], each) for number, each in enumerate(cast("list[object]", given))]
        if key == "evidence":
            known = [*state.get("passages", ()), *_overwriting(written.get("passages", []))]
            read = _complete_evidence(read, {**state, "passages": known})
        written[key] = read if given is value else Overwrite(read)
    return written


def _overwriting(value: object) -> Any:
    """Return what an `Overwrite` holds, or its form in JSON, which a server passes on; anything else as it is."""
    if isinstance(value, Mapping):
        fields = cast("_Values", value)
        return fields.get("__overwrite__", fields)
    return value.value if isinstance(value, Overwrite) else value


def _read(place: str, kind: type[Any], entry: object) -> Any:
    """Read one record; what evidence lacks is left empty."""
    given = {"text": entry} if kind is Query and isinstance(entry, str) else entry
    if not isinstance(given, Mapping):
        raise SettingsError(f"{place}: expected an object with {', '.join(kind.__annotations__)}, got {entry!r:.80}")
    fields = cast("_Values", given)
    if unknown := sorted(fields.keys() - kind.__annotations__.keys()):
        raise SettingsError(f"{place}: {unknown[0]!r} is unknown{did_you_mean(unknown[0], kind.__annotations__)}")
    whole = {**_DEFAULTS.get(kind, {}), **fields}
    try:
        TypeAdapter(kind).validate_python(whole, strict=True)
    except ValidationError as error:
        raise SettingsError(f"{place}: {describe_problem(error, got=True)}") from None
    return whole


_DEFAULTS: dict[type[Any], dict[str, Any]] = {
    Query: {"why": ""},
    Evidence: {"id": "", "quote": "", "verified": False},
}


def _complete_evidence(read: Sequence[Evidence], state: _Values) -> list[Evidence]:
    """Number evidence without an id as the next of this iteration, of query 0; check its passages, and quote them."""
    passages = passages_by_id(state["passages"])
    used = {each["id"] for each in (*state.get("evidence", ()), *read)}
    hop, number = state.get("iteration", 1), 0
    completed: list[Evidence] = []
    for each in read:
        shown = f"evidence {each['statement']!r:.80}"
        if not each["passage_ids"]:
            raise SettingsError(f"{shown}: passage_ids is empty; name the passages that it rests on")
        if unknown := [key for key in each["passage_ids"] if key not in passages]:
            raise SettingsError(f"{shown}: no passage has the id {unknown[0]!r:.80}; write it into passages, too")
        while not each["id"]:
            number += 1
            if (new := f"{hop}.0.{number}") not in used:
                each = Evidence({**each, "id": new})
        if not all(part.isdecimal() for part in each["id"].split(".")):
            raise SettingsError(f"{shown}: its id must be numbers, as 1.2.1, or left out; got {each['id']!r:.80}")
        completed.append(each if each["quote"] else quoted(each, passages))
    return completed
