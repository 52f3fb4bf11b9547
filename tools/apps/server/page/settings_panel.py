"""A method's settings as fields on the page, generated from its context model.

The fields are the settings that `Service.settings` accepts from the same user, except objects, which only code can set,
and settings that have their place elsewhere on the page.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, cast

from pydantic import JsonValue

from hopgraph.graphs import METHODS
from hopgraph.state import Context, SettingsError
from hopgraph.state.chat import AUTO, ChatContext, settings_for_method
from hopgraph.state.context import PROMPT, make_settings
from hopgraph.state.fingerprint import record_settings
from hopgraph.tools.apps.server.caller_settings import OPERATOR_SETTINGS
from hopgraph.tools.apps.server.page.html_text import problem_html

_HIDDEN = frozenset({"use_method", "methods", "gold_passages", "retriever", "review_queries", "review_evidence"})
"""Settings that have their place elsewhere on the page, or are too long for a field, as are prompts."""
_GROUP_ORDER: Final = ("Method", "Chat", "Retrieval", "Limits", "Model", "Operation")
_MAX_SLIDER_STEPS = 100  # more are too fine for touch


@dataclass(frozen=True)
class SettingField:
    """A setting that the page offers."""

    name: str
    schema: Mapping[str, Any]
    """Its JSON schema; for several types, that of the one that is not null."""
    value: JsonValue  # the effective value unless it is changed
    optional: bool  # an empty field means None

    @property
    def kind(self) -> str:
        """Return the JSON schema type of the input; objects and arrays are entered as JSON."""
        return self.schema["type"]

    @property
    def group(self) -> str:
        """The heading it is shown under."""
        return self.schema.get("group", "Method")

    @property
    def info(self) -> str:
        """Return its description, with its bounds."""
        schema, described = self.schema, self.schema.get("description", "")
        bounds = {"above": "exclusiveMinimum", "from": "minimum", "to": "maximum"}
        notes = [
            "JSON" if self.kind in ("object", "array") else "",
            " ".join(f"{word} {schema[key]:g}" for word, key in bounds.items() if key in schema),
            "empty for none" if self.optional and self.kind != "boolean" else "",
        ]
        more = "; ".join(filter(None, notes))
        return f"{described[:1].upper()}{described[1:]}{f' ({more})' if more else ''}"


def effective_settings(method: str, given: ChatContext) -> Context:
    """Return a method's settings, or the chat's for `auto`; a SettingsError if the method rejects a given one."""
    return given if method == AUTO else settings_for_method(given, METHODS[method].Context)


def list_settings(effective: Context, *, owner: bool) -> list[SettingField]:
    """Return the settings that a user, or the operator, may change on the page: by group, then in model order."""
    hidden = _HIDDEN if owner else _HIDDEN | OPERATOR_SETTINGS
    schemas = type(effective).model_json_schema()["properties"]
    found: list[SettingField] = []
    for name, value in record_settings(effective, without=()).items():
        if name not in hidden and not name.startswith(PROMPT) and _has_json(getattr(effective, name)):
            variants = [schemas[name], *schemas[name].get("anyOf", ())]
            typed = next((each for each in variants if each.get("type", "null") != "null"), None)
            if typed is None:
                continue  # a record, for which there is no field
            optional = any(each.get("type") == "null" for each in variants)
            found.append(SettingField(name, {**schemas[name], **typed}, value, optional))
    return sorted(found, key=lambda each: _GROUP_ORDER.index(each.group))


def _has_json(value: object) -> bool:
    try:
        json.dumps(value)
    except TypeError:
        return False
    return True


def apply_change(
    cls: type[Context], setting: SettingField, changes: Mapping[str, JsonValue], value: object
) -> tuple[dict[str, JsonValue], str]:
    """Return the changes, updated with a field's value, and a message if the value is invalid.

    The effective value is not a change. An invalid value is kept, so that a question is refused, not asked without it.
    """
    others = {name: each for name, each in changes.items() if name != setting.name}
    try:
        settings = make_settings(cls, {setting.name: _parse(setting, value)})
    except SettingsError as error:
        return {**others, setting.name: cast("JsonValue", value)}, str(error)
    parsed = settings.model_dump(mode="json", include={setting.name})[setting.name]
    return (others if parsed == setting.value else {**others, setting.name: parsed}), ""


def _parse(setting: SettingField, value: object) -> object:
    entered = value.strip() if isinstance(value, str) else value
    in_json = setting.kind in ("object", "array")
    if entered is None or entered == "":
        if setting.optional:
            return None
        if not in_json:
            raise SettingsError(f"setting {setting.name!r}: it is empty, but it needs a value")
        entered = "[]" if setting.kind == "array" else "{}"
    if not in_json:
        return entered
    written = str(entered)
    if setting.kind == "array" and written[0] not in "[{":
        written = f"[{written}]"
    try:
        return json.loads(written)
    except (ValueError, RecursionError):
        raise SettingsError(f"setting {setting.name!r}: write it as JSON, got {value!r:.80}") from None


def settings_panel(
    gr: Any, fields: Mapping[str, Any], given: ChatContext, *, states: tuple[Any, Any], owner: bool
) -> None:
    """Add the settings fields of a method or of `auto`, within Blocks or `gr.render`.

    `fields` are `settings_fields`; `states` are the `gr.State` of the fields shown, and that of the changes. A
    SettingsError if the method rejects a setting that the app was `given`.
    """
    effective, before = effective_settings(fields["method"], given), fields["changes"]
    groups = groupby(list_settings(effective, owner=owner), key=lambda each: each.group)
    for number, (group, settings) in enumerate(groups):
        with gr.Accordion(group, open=number == 0, elem_classes="hg-settings-group"):
            for each in settings:
                component = make_component(gr, each, before.get(each.name, each.value))
                _keep_changes(gr, component, type(effective), each, fields, states)


def _keep_changes(
    gr: Any, component: Any, cls: type[Context], setting: SettingField, fields: Mapping[str, Any], states: Any
) -> None:
    problem = gr.HTML(elem_classes="hg-setting-problem", visible=False)

    # Async, and with the states read after the value, so that nothing sets them between reading and writing.
    async def listen(value: object, shown: Mapping[str, Any], changes: dict[str, JsonValue]) -> Any:
        if shown != fields:
            return gr.skip(), gr.skip()  # another conversation was opened meanwhile
        now, wrong = apply_change(cls, setting, changes, value)
        return now, gr.update(value=problem_html(wrong), visible=bool(wrong))

    quiet = {"show_progress": "hidden", "trigger_mode": "always_last", "api_visibility": "private"}
    # Not `input`, which Gradio's text field does not fire for deleting or pasting.
    component.change(listen, [component, *states], [states[1], problem], **quiet)


def make_component(gr: Any, setting: SettingField, value: JsonValue) -> Any:
    """Create the component for a setting; its bounds are part of its description and checked in `apply_change`."""
    # `interactive`, since Gradio makes a component read-only if no function reads it yet.
    common: dict[str, Any] = {"info": setting.info, "elem_id": f"hg-setting-{setting.name}", "interactive": True}
    common["label"] = setting.name.replace("_", " ").capitalize()
    if setting.kind == "boolean":
        return gr.Checkbox(bool(value), **common)
    if "enum" in setting.schema:
        return gr.Dropdown(setting.schema["enum"], value=value, **common)
    if setting.kind in ("integer", "number") and not setting.optional:
        step = 1 if setting.kind == "integer" else 0.05
        least, most = (setting.schema.get(key) for key in ("minimum", "maximum"))
        if least is not None and most is not None and (most - least) / step <= _MAX_SLIDER_STEPS:
            return gr.Slider(least, most, value=value, step=step, **common)
        return gr.Number(value, step=step, **common)
    if setting.kind in ("object", "array"):
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return gr.Textbox(text if value else "", max_lines=4, **common)
    # Also for a number that may be None, which Gradio's number field shows as 0.
    hint = None if setting.kind == "string" else "none"
    return gr.Textbox("" if value is None else str(value), max_lines=1, placeholder=hint, **common)
