"""Validate what a person writes into a run's state, through `update_state` or a `Command`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, cast, get_args

from langchain_core.messages import convert_to_messages
from langgraph.graph import END
from langgraph.graph.message import add_messages
from langgraph.types import Command, Overwrite, Send, StateUpdate
from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from hopgraph.nodes.core.excerpts import passages_by_id, quoted
from hopgraph.state import Evidence, Passage, Query, SettingsError
from hopgraph.state.errors import did_you_mean, format_error
from hopgraph.state.schemas import RUN_KEYS

for_a_caller: ContextVar[bool] = ContextVar("hopgraph_for_a_caller", default=False)
"""True if a server's caller, not the surrounding code, uses `update_state`: then not on `RUN_KEYS`."""
_KINDS: dict[str, type[Any]] = {"queries": Query, "passages": Passage, "evidence": Evidence}

_Values = Mapping[str, Any]


def complete_edits(
    supersteps: Sequence[Sequence[StateUpdate]], state: _Values, types: _Values
) -> list[list[StateUpdate]]:
    """Complete what is written to a thread's state, given the current state and the types of its keys.

    A query may be a string, or lack its `why`. Evidence may lack its `id` (it follows those of this iteration), its
    `quote` (the best-matching sentence of its first passage) and `verified` (False). A SettingsError names in one line
    what cannot be parsed or has the wrong type, and a passage that neither the state nor the same update has.
    """
    return [[StateUpdate(_complete(values, state, types), *rest) for values, *rest in step] for step in supersteps]


def check_command(update: object, goto: object, types: _Values) -> None:
    """Raise a SettingsError if a `Command`, or its JSON, writes to `RUN_KEYS` or to a key with the wrong type."""
    written = _as_mappings(update)
    for each in _as_list(goto):
        if isinstance(each, Send | Mapping):
            sent: object = each.arg if isinstance(each, Send) else cast("_Values", each).get("input")
            if not isinstance(sent, Mapping):
                raise SettingsError(f"goto: the input sent to a node must be an object, got {sent!r:.80}")
            written.append(cast("_Values", sent))
    for values in written:
        if isinstance(values, Mapping):
            refuse_run_keys(cast("_Values", values), {})
            check_types(cast("_Values", values), types)


def check_names(command: Command[Any], types: _Values, nodes: Iterable[str]) -> None:
    """Refuse, with a SettingsError, a key or a node that the graph does not have: LangGraph ignores these."""
    for written in _as_mappings(command.update):
        if isinstance(written, Mapping):
            _refuse_unknown(cast("_Values", written), types)
    for each in _as_list(command.goto):
        name = each.node if isinstance(each, Send) else each
        if isinstance(name, str) and name not in {*nodes, END}:
            raise SettingsError(f"goto: the graph has no node {name!r:.80}{did_you_mean(name, nodes)}")


def _refuse_unknown(written: _Values, types: _Values) -> None:
    for key in written.keys() - types.keys():
        raise SettingsError(f"{key!r:.80}: the state has no such key{did_you_mean(str(key), types)}")


def refuse_run_keys(written: _Values, state: _Values) -> None:
    """Raise a SettingsError for a change to `RUN_KEYS`; some front ends send every key unchanged."""
    for key in sorted(RUN_KEYS & written.keys()):
        if key not in state or state[key] != _overwriting(written[key]):
            raise SettingsError(f"{key}: only the run itself writes this; leave it out")


def check_types(written: _Values, types: _Values) -> None:
    """Raise a SettingsError for a value whose type differs from its key's; untyped keys are not checked."""
    for key in written.keys() & types.keys():
        value = _overwriting(written[key])
        try:
            if add_messages in get_args(types[key]):
                convert_to_messages(_as_list(value))
            else:
                TypeAdapter(types[key]).validate_python(value, strict=True)
        except ValidationError as error:
            raise SettingsError(f"{key}: {format_error(error, got=True)}") from None
        except PydanticUserError:
            continue  # a type that pydantic does not know
        except (ValueError, TypeError, LookupError, NotImplementedError) as error:
            raise SettingsError(f"{key}: {str(error).partition(chr(10))[0]}") from None


def _is_pair(given: object) -> bool:
    return isinstance(given, list | tuple) and len(cast("Sequence[Any]", given)) == 2


def _as_mappings(update: object) -> list[Any]:
    """Return a mapping, or a list of pairs of key and value, as mappings; anything else as it is."""
    return [{each[0]: each[1]} if _is_pair(each) else each for each in _as_list(update)]


def _as_list(given: object) -> list[Any]:
    return list(cast("Sequence[Any]", given)) if isinstance(given, list | tuple) else [given]


def _complete(values: object, state: _Values, types: _Values) -> Any:
    if isinstance(values, Command):
        command = cast("Command[Any]", values)
        check_command(command.update, command.goto, types)
        return replace(command, update=_complete(command.update, state, types))
    if isinstance(values, list):  # of a copied checkpoint: [values, node] each
        pairs = cast("list[Any]", values)
        return [[_complete(each[0], state, types), each[1]] if _is_pair(each) else each for each in pairs]
    if not isinstance(values, Mapping):
        return values
    written = dict(cast("_Values", values))
    _refuse_unknown(written, types)
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
    if for_a_caller.get():
        refuse_run_keys(written, state)
    changed = {key for key, value in written.items() if key not in state or state[key] != _overwriting(value)}
    check_types({key: written[key] for key in changed - _KINDS.keys()}, types)
    _check_passages(written, changed, state)
    return written


def _check_passages(written: _Values, changed: Iterable[str], state: _Values) -> None:
    """Refuse, with a SettingsError, a passage's id that no passage has in the state to come."""
    passages = _overwriting(new := written.get("passages", []))
    if passages is new:  # they are added to the others
        passages = [*state.get("passages", ()), *passages]
    else:
        changed = {*state, *written}
    known = {"", *(each["id"] for each in passages)}  # empty: from no passage
    for key in sorted({*changed} - {"passages", "citations"}):
        value = _overwriting(written.get(key, state.get(key)))
        if unknown := [each for each in _passage_ids(value) if each not in known]:
            raise SettingsError(f"{key}: no passage has the id {unknown[0]!r:.80}; write it into passages, too")


def _passage_ids(value: object) -> Iterator[str]:
    """Yield the passage ids that records within a value name."""
    if isinstance(value, Mapping):
        for name, each in cast("_Values", value).items():
            if name in ("passage_id", "passage_ids"):
                yield from _as_list(each)
            else:
                yield from _passage_ids(each)
    elif isinstance(value, list | tuple):
        for each in cast("Sequence[object]", value):
            yield from _passage_ids(each)


def _overwriting(value: object) -> Any:
    """Return the content of an `Overwrite`, or of its JSON form, which a server passes on; anything else as it is."""
    if isinstance(value, Mapping):
        fields = cast("_Values", value)
        return fields.get("__overwrite__", fields)
    return value.value if isinstance(value, Overwrite) else value


def _read(place: str, kind: type[Any], entry: object) -> Any:
    """Parse one record; fields that evidence lacks are left empty."""
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
        raise SettingsError(f"{place}: {format_error(error, got=True)}") from None
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
            raise SettingsError(f"{shown}: passage_ids is empty; name the passages that support it")
        if unknown := [key for key in each["passage_ids"] if key not in passages]:
            raise SettingsError(f"{shown}: no passage has the id {unknown[0]!r:.80}; write it into passages, too")
        while not each["id"]:
            number += 1
            if (new := f"{hop}.0.{number}") not in used:
                each = Evidence({**each, "id": new})
        if not all(part.isdecimal() for part in each["id"].split(".")):
            raise SettingsError(f"{shown}: its id must be numbers, e.g. 1.2.1, or omitted; got {each['id']!r:.80}")
        completed.append(each if each["quote"] else quoted(each, passages))
    return completed
