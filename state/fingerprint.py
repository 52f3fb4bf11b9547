"""Which settings shape a run: recorded in its state, and compared when it is resumed."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from pydantic import JsonValue
from pydantic.fields import FieldInfo

from hopgraph.state.context import Context, SettingGroup
from hopgraph.state.errors import SettingsError
from hopgraph.state.run_settings import once_per_run

UNRECORDED: Final[tuple[SettingGroup, ...]] = ("Limits", "Operation")
"""The groups of settings that may change when a run is resumed."""

_PASSWORD = re.compile(r"://[^/@\s]*@")  # name and password in an address


def record_settings(settings: Context, without: Sequence[SettingGroup] = UNRECORDED) -> dict[str, JsonValue]:
    """Write down, as plain data, the settings that shape a result, not to be changed; objects as their class name."""
    return once_per_run(settings, ("record", *without), lambda: _record(settings, without))


def _record(settings: Context, without: Sequence[SettingGroup]) -> dict[str, JsonValue]:
    def group(field: FieldInfo) -> object:
        extra: Any = field.json_schema_extra or {}
        return extra.get("group")

    fields = type(settings).model_fields.items()
    return {name: _plain(getattr(settings, name)) for name, field in fields if group(field) not in without}


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
    """Refuse, with a SettingsError that names the first difference, to go on under other settings than recorded."""
    current = record_settings(settings)
    if recorded is current or recorded == current:
        return
    for name, now in current.items():
        if name in recorded and recorded[name] != now:
            raise SettingsError(
                f"this run began with {name} = {recorded[name]!r:.200} and was resumed with {now!r:.200}; "
                "give the same context again, or start a new run"
            )
