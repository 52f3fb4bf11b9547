"""Which settings shape a run: recorded in its state, and compared when it is resumed."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final, cast

from pydantic import JsonValue

from hopgraph.state.context import Context, SettingGroup
from hopgraph.state.errors import SettingsError
from hopgraph.state.run_settings import once_per_run

UNRECORDED: Final[tuple[SettingGroup, ...]] = ("Limits", "Operation")
"""The groups of settings that may change when a run is resumed."""

_PASSWORD = re.compile(r"://[^/@\s]*@")  # name and password in an address


def record_settings(settings: Context, without: Sequence[SettingGroup] = UNRECORDED) -> dict[str, JsonValue]:
    """Write down, as plain data, the settings that shape a result, not to be changed; objects as their class name."""
    return once_per_run(settings, ("record", *without), lambda: _record(settings, without))


def record_changes(settings: Context) -> dict[str, JsonValue]:
    """Write down what `record_settings` does, without the values that are a method's defaults; not to be changed."""
    return once_per_run(settings, "changes", lambda: _changes(settings))


def _changes(settings: Context) -> dict[str, JsonValue]:
    defaults = _defaults(type(settings))
    return {name: value for name, value in record_settings(settings).items() if value != defaults[name]}


@cache
def _defaults(cls: type[Context]) -> dict[str, JsonValue]:
    return {name: _plain(field.get_default(call_default_factory=True)) for name, field in cls.model_fields.items()}


def _record(settings: Context, without: Sequence[SettingGroup]) -> dict[str, JsonValue]:
    skipped = [{"group": group} for group in without]
    fields = type(settings).model_fields.items()
    return {name: _plain(getattr(settings, name)) for name, field in fields if field.json_schema_extra not in skipped}


def _plain(value: object) -> JsonValue:
    if isinstance(value, str):
        return _PASSWORD.sub("://", value)
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, object]", value)
        return {key: _plain(entry) for key, entry in entries.items()}
    if isinstance(value, tuple | list):
        return [_plain(entry) for entry in cast("Sequence[object]", value)]
    return f"<{type(value).__name__}>"


def check_same_settings(recorded: Mapping[str, JsonValue], settings: Context) -> None:
    """Refuse, with a SettingsError that names the first difference, to go on under other settings than recorded.

    With `allow_changed_settings` nothing is refused; the record stays that of the run's beginning.
    """
    current = record_changes(settings)
    if recorded is current or recorded == current or settings.allow_changed_settings:
        return
    defaults = _defaults(type(settings))
    for name in record_settings(settings):
        began, now = (record.get(name, defaults[name]) for record in (recorded, current))
        if began != now:
            raise SettingsError(
                f"this run began with {name} = {began!r} and was resumed with {now!r}; give the same context "
                "again, start a new run, or set allow_changed_settings=True to go on under the new settings"
            )
