"""Sources of settings: the call, else the environment (`HOPGRAPH_<FIELD>`), else the defaults."""

import json
import os
from collections.abc import Mapping
from functools import cache
from typing import Any, cast, get_args

from pydantic import ValidationError

from hopgraph.state.context import (
    Context,
    ContextT,
    describe_invalid,
    describe_unknown,
    explicit_settings,
    make_settings,
    setting_like,
)
from hopgraph.state.errors import SettingsError, did_you_mean
from hopgraph.state.renamed import RENAMED


def resolve_settings(given: object, cls: type[ContextT]) -> ContextT:
    """Resolve whatever a node finds in `runtime.context` to the method's settings; the environment fills in the rest.

    * None, or an object of a host application: the environment and the defaults;
    * the method's own Context: as it is;
    * another method's Context: the fields that both have;
    * a dict: its fields, if they are all settings, else a SettingsError; a host's dict may nest ours under `hopgraph`;
    * a host's object may hold ours in its attribute `hopgraph`.
    """
    if isinstance(given, Mapping):
        given = _from_mapping(cast("Mapping[str, Any]", given), cls)
    elif given is not None and not isinstance(given, Context):
        given = _under_hopgraph(getattr(given, "hopgraph", None), cls)
    if given is None:
        return with_environment(cls())
    if isinstance(given, cls):
        return with_environment(given)
    shared = {name: value for name, value in explicit_settings(given).items() if name in cls.model_fields}
    return with_environment(make_settings(cls, shared))


def _under_hopgraph(given: object, cls: type[ContextT]) -> ContextT | Context | None:
    """Read our settings from a host's context; an unknown name under `hopgraph` is refused as a mistake."""
    if given is None or isinstance(given, Context):
        return given
    if not isinstance(given, Mapping):
        raise SettingsError(f"context under 'hopgraph': expected a dict, got {type(given).__name__}")
    return make_settings(cls, cast("Mapping[str, Any]", given))


def _from_mapping(given: Mapping[str, Any], cls: type[ContextT]) -> ContextT | Context | None:
    if "hopgraph" in given:
        return _under_hopgraph(given["hopgraph"], cls)
    unknown = sorted(given.keys() - cls.model_fields.keys())
    misspelt = next((name for name in unknown if setting_like(name, cls)), "")
    if unknown and len(unknown) == len(given) and not misspelt:
        return None  # a host application's own settings
    if unknown:
        name = misspelt or unknown[0]
        raise SettingsError(
            f"setting {name!r} is unknown for {cls.method}{did_you_mean(name, cls.model_fields)}; "
            'put ours under the key "hopgraph" if the rest belongs to your application'
        )
    return make_settings(cls, given)


@cache
def _variables(cls: type[Context]) -> tuple[tuple[str, str], ...]:
    """List the fields read from the environment, with their variables; cached, as every node of a run asks."""
    return tuple((name, f"HOPGRAPH_{name.upper()}") for name in cls.model_fields if name not in cls.unused_settings)


def with_environment(settings: ContextT) -> ContextT:
    """Fill unset fields from `HOPGRAPH_<FIELD>`; no other function reads settings from the environment.

    Lists and maps are written as JSON; an empty variable counts as unset. A SettingsError names one with a bad value.
    """
    cls = type(settings)
    given_names, variables = settings.model_fields_set, os.environ
    found = {
        name: value
        for name, variable in _variables(cls)
        if name not in given_names and (value := variables.get(variable, "").strip())
    }
    for old, new in RENAMED.items():
        if new in cls.model_fields and variables.get(f"HOPGRAPH_{old.upper()}"):
            raise SettingsError(
                f"environment variable HOPGRAPH_{old.upper()} is unknown; it is now called HOPGRAPH_{new.upper()}"
            )
    if not found:
        return settings
    given = explicit_settings(settings)
    try:
        parsed = {
            name: parse_setting(cls, name, value, f"environment variable HOPGRAPH_{name.upper()}")
            for name, value in found.items()
        }
        return cls.model_validate({**given, **parsed})
    except ValidationError as error:
        raise SettingsError(describe_invalid(cls, error, "environment variable HOPGRAPH_{NAME}")) from None


def settings_from(cls: type[ContextT], values: Mapping[str, Any], preset: str | None = None) -> ContextT:
    """Make a method's settings from named values, on top of a preset, the environment and the defaults.

    SettingsError: an unknown name, an invalid value, or a setting that the method does not read.
    """
    if unread := sorted(values.keys() & cls.unused_settings):
        raise SettingsError(f"setting {unread[0]!r} has no effect: the graph of {cls.method} does not read it")
    return with_environment(cls.preset(preset, **values) if preset is not None else make_settings(cls, values))


def parse_setting(cls: type[Context], name: str, text: str, subject: str = "setting {name!r}") -> object:
    """Parse a setting's value as typed by a person: `none` where None is allowed, JSON for maps and lists.

    `subject` names the setting in a SettingsError, raised for an unknown name or invalid JSON.
    """
    field = cls.model_fields.get(name)
    if field is None:
        raise SettingsError(describe_unknown(cls, name, subject.format(name=name)))
    if not text.strip():
        raise SettingsError(f"{subject.format(name=name)}: its value is empty; write {name}=VALUE, or leave it out")
    if text.lower() in {"none", "null"} and type(None) in get_args(field.annotation):
        return None
    if field.default_factory is None:
        return text
    try:
        return json.loads(text)
    except ValueError:
        kind = "object" if isinstance(field.get_default(call_default_factory=True), Mapping) else "list"
        raise SettingsError(f"{subject.format(name=name)}: expected a JSON {kind}, got {text!r:.80}") from None
