"""Settings that affect a result: recorded in the state, and compared when a run is resumed."""

import hashlib
import json
import re
import weakref
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, cast

from pydantic import BaseModel, JsonValue
from pydantic.fields import FieldInfo

from hopgraph.state.context import Context, SettingGroup
from hopgraph.state.errors import SettingsError
from hopgraph.state.run_settings import once_per_run

UNRECORDED: Final[tuple[SettingGroup, ...]] = ("Limits", "Operation")
"""The groups of settings that may change when a run is resumed."""

_NAMES = ("model_name", "model", "name", "source")
"""Attributes in which objects keep their names."""
_SECRET = re.compile(r"(?i)api_?key|secret|password|headers|credential|(?:^|_)token$")
"""Names of fields that hold secrets, which may also change while a run is interrupted."""
_marks: dict[int, str] = {}
"""Identity of an object → its fingerprint, while it lives; its fields may change in use."""
_PASSWORD = re.compile(r"://[^/@\s]*@")  # user name and password in an address


def record_settings(settings: Context, without: Sequence[SettingGroup] = UNRECORDED) -> dict[str, JsonValue]:
    """Return the settings that shape a result as plain data (read-only), with objects as name and hash."""
    return once_per_run(settings, ("record", *without), lambda: _record(settings, without))


def record_changes(settings: Context) -> dict[str, JsonValue]:
    """Return what `record_settings` does, without values equal to the method's defaults (read-only)."""
    return once_per_run(settings, "changes", lambda: _changes(settings))


def _changes(settings: Context) -> dict[str, JsonValue]:
    defaults = _defaults(type(settings))
    return {name: value for name, value in record_settings(settings).items() if value != defaults[name]}


@cache
def _defaults(cls: type[Context]) -> dict[str, JsonValue]:
    return {name: _plain(field.get_default(call_default_factory=True)) for name, field in cls.model_fields.items()}


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
    return _mark_of(value)


def _mark_of(value: object) -> str:
    """Return an object's class, its own name and a hash of its settings, as they were when first recorded."""
    if id(value) not in _marks:
        digest = hashlib.sha256(json.dumps(_settings_of(value), sort_keys=True).encode()).hexdigest()[:12]
        _marks[id(value)] = f"{_name_of(value)} {digest}"
        try:
            weakref.finalize(value, _marks.pop, id(value), None).atexit = False
        except TypeError:  # its class does not support weak references
            return f"<{_marks.pop(id(value))}>"
    return f"<{_marks[id(value)]}>"


def _settings_of(value: object) -> JsonValue:
    """Return an object's settings as plain data: a pydantic model's fields except secrets, else the class's name."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, BaseModel):
        fields = {name: field for name, field in type(value).model_fields.items() if not field.exclude}
        shown = {name: _settings_of(getattr(value, name)) for name in fields if not _SECRET.search(name)}
        return {"": type(value).__name__, **shown}
    if isinstance(value, Mapping):
        entries = cast("Mapping[object, object]", value).items()
        return {str(key): _settings_of(entry) for key, entry in entries if not _SECRET.search(str(key))}
    if isinstance(value, tuple | list):
        return [_settings_of(entry) for entry in cast("Sequence[object]", value)]
    return value.__name__ if isinstance(value, type) else _name_of(value)


def _name_of(value: object) -> str:
    own = next((each for name in _NAMES if isinstance(each := getattr(value, name, None), str)), "")
    return f"{type(value).__name__} {_PASSWORD.sub('://', own)}".rstrip()


def check_same_settings(recorded: Mapping[str, JsonValue], settings: Context) -> None:
    """Raise a SettingsError that names the first difference if the settings differ from the recorded ones.

    With `allow_changed_settings` nothing is refused; the record remains that of the start of the run.
    """
    current = record_changes(settings)
    if recorded is current or recorded == current or settings.allow_changed_settings:
        return
    defaults = _defaults(type(settings))
    for name in record_settings(settings):
        began, now = (record.get(name, defaults[name]) for record in (recorded, current))
        if began != now:
            raise SettingsError(
                f"this run started with {name} = {began!r:.200} and was resumed with {now!r:.200}; "
                "use the same context, start a new run, or set allow_changed_settings=True to continue"
            )
