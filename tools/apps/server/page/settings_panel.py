"""The settings of a method as fields of the page, generated from its context model.

What may be chosen here is what `Service.settings` accepts from the same user: everything where the app serves its
owner alone, else all but `OWNER_SETTINGS`. Maps and lists are entered as JSON. A setting that holds an object, which
only code can set, has no field; nor have those that the page asks for elsewhere.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from pydantic import JsonValue

from hopgraph.graphs import METHODS
from hopgraph.state import Context, SettingsError
from hopgraph.state.chat import ChatContext, settings_for_method
from hopgraph.state.context import make_settings
from hopgraph.state.environment import with_environment
from hopgraph.state.fingerprint import record_settings
from hopgraph.tools.apps.server.page.html_text import problem_html
from hopgraph.tools.apps.server.service import AUTO, MODEL_NAMES, OWNER_SETTINGS
from hopgraph.tools.io.optional_packages import require

FieldKind = Literal["whole", "number", "switch", "choice", "text", "json"]
"""How a setting is entered; `json`: a list or a map, written as JSON."""

_NOT_HERE = frozenset({"use_method", "methods", "gold_passages", "retriever", "review_queries", "review_evidence"})
"""What the page asks for in another place, and passages, which are too long for a field."""
_GROUP_ORDER = ("Method", "Chat", "Retrieval", "Limits", "Model", "Operation")
"""What is changed most often comes first; groups of other names come last."""
_MAX_SLIDER_STEPS = 100
_KINDS: Final[dict[str, FieldKind]] = {
    "integer": "whole",
    "number": "number",
    "boolean": "switch",
    "string": "text",
    "object": "json",
    "array": "json",
}
"""By the type in the model's JSON schema."""


@dataclass(frozen=True)
class SettingField:
    """A setting that the page offers."""

    name: str
    group: str
    """The heading that it stands under."""
    description: str
    kind: FieldKind
    value: JsonValue
    """What applies unless it is changed."""
    optional: bool
    """May be none, which an empty field means."""
    least: float | None = None
    most: float | None = None
    """Inclusive bounds, unless `open_below`; None for no bound."""
    open_below: bool = False
    """The value must be above `least`."""
    choices: tuple[str, ...] = ()


def effective_settings(name: str, given: ChatContext | None = None) -> Context:
    """Return the settings of a method before anything is changed.

    Args:
        name: a method, or `auto` for the chat.
        given: the settings that the app was started with; None for those of the environment.

    Raises:
        SettingsError: the app was started with a setting that this method does not accept.
    """
    chat = given or with_environment(ChatContext())
    return chat if name == AUTO else settings_for_method(chat, METHODS[name].Context)


def list_settings(effective: Context, *, owner: bool = False) -> list[SettingField]:
    """Return the settings that a user of the page may change: by group, within a group in the order of the model.

    Args:
        effective: as `effective_settings` returns it.
        owner: whether the user may choose everything.
    """
    hidden = _NOT_HERE if owner else _NOT_HERE | OWNER_SETTINGS
    properties = type(effective).model_json_schema()["properties"]
    values = record_settings(effective, without=())
    found = [
        _setting_field(name, cast("dict[str, Any]", schema), values[name])
        for name, schema in properties.items()
        if name not in hidden and _can_be_typed(getattr(effective, name))
    ]
    order = {group: at for at, group in enumerate(_GROUP_ORDER)}
    return sorted(found, key=lambda each: order.get(each.group, len(order)))


def _can_be_typed(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(_can_be_typed(each) for each in cast("Mapping[str, object]", value).values())
    if isinstance(value, tuple | list):
        return all(_can_be_typed(each) for each in cast("Sequence[object]", value))
    return value is None or isinstance(value, str | int | float)


def _setting_field(name: str, schema: Mapping[str, Any], value: JsonValue) -> SettingField:
    variants = [schema, *schema.get("anyOf", ())]
    typed = next(each for each in variants if each.get("type", "null") != "null")
    choices = tuple(typed.get("enum", ()))
    above = typed.get("exclusiveMinimum")
    return SettingField(
        name=name,
        group=schema.get("group", "Operation"),
        description=schema.get("description", ""),
        kind="choice" if choices else _KINDS[typed["type"]],
        value=value,
        optional=any(each.get("type") == "null" for each in variants),
        least=above if above is not None else typed.get("minimum"),
        most=typed.get("maximum"),
        open_below=above is not None,
        choices=choices,
    )


def parse_value(setting: SettingField, value: object) -> JsonValue:
    """Parse what was entered; an empty field is none.

    Raises:
        SettingsError: no JSON, or an empty field of a setting that must have a value.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        if setting.optional:
            return None
        if setting.kind == "json":
            return {} if isinstance(setting.value, Mapping) else []
        raise SettingsError(f"setting {setting.name!r}: it is empty, but it needs a value")
    if setting.kind == "json":
        written = str(value).strip()
        if not isinstance(setting.value, Mapping) and written[0] not in "[{":
            written = f"[{written}]"
        try:
            return json.loads(written)
        except (ValueError, RecursionError):
            raise SettingsError(f"setting {setting.name!r}: write it as JSON, got {str(value)!r:.80}") from None
    if setting.kind in ("whole", "number"):
        return _number(value)
    return value.strip() if isinstance(value, str) else cast("JsonValue", value)


def _number(value: object) -> JsonValue:
    """Parse a number; anything else stays as it is, for the context model to refuse."""
    try:
        number = float(cast("str | float", value))
    except ValueError:
        return str(value)
    return int(number) if number.is_integer() else number


def apply_change(
    cls: type[Context], setting: SettingField, changes: Mapping[str, JsonValue], value: object
) -> tuple[dict[str, JsonValue], str]:
    """Add an entered value to the changes.

    Args:
        cls: the context model that has the setting.
        setting: which one.
        changes: what was changed before.
        value: as its field gives it.

    Returns:
        The changes, without values that are the effective ones; and what is wrong with the value, in one line, empty
        for nothing. A wrong value stays among the changes, so that a question is refused instead of asked without it.
    """
    others = {name: each for name, each in changes.items() if name != setting.name}
    try:
        parsed = parse_value(setting, value)
        make_settings(cls, {setting.name: parsed})
    except SettingsError as error:
        return {**others, setting.name: cast("JsonValue", value)}, str(error)
    return (others if parsed == setting.value else {**others, setting.name: parsed}), ""


def check_changes(
    name: str, changes: Mapping[str, JsonValue], given: ChatContext | None = None, *, owner: bool = False
) -> None:
    """Refuse, in the same words, values that `apply_change` kept though they could not be parsed.

    The other arguments are those of `effective_settings` and `list_settings`.
    """
    unparsed = {key for key, value in changes.items() if value is None or isinstance(value, str)}
    if not unparsed or name not in MODEL_NAMES:
        return
    for setting in list_settings(effective_settings(name, given), owner=owner):
        if setting.name in unparsed:
            parse_value(setting, changes[setting.name])


def settings_panel(
    name: str,
    changes: Any,
    given: ChatContext | None = None,
    *,
    owner: bool = False,
    before: Mapping[str, JsonValue] | None = None,
) -> list[Any]:
    """Add the fields of a method's settings, within Blocks or in `gr.render`; return Gradio's components in order.

    Args:
        name: a method, or `auto`.
        changes: the `gr.State` that holds name → value of what was changed, ready for `Service.settings`. As methods
            have different settings, the page empties it when another method is chosen.
        given: the settings that the app was started with.
        owner: whether the user may choose everything.
        before: what was changed already, to be shown.

    Raises:
        SettingsError: as of `effective_settings`.
    """
    gr: Any = require("gradio", "chat")
    effective = effective_settings(name, given)
    settings = list_settings(effective, owner=owner)
    components: list[Any] = []
    for group in dict.fromkeys(each.group for each in settings):
        with gr.Accordion(group, open=group == settings[0].group, elem_classes="hg-settings-group"):
            for each in [each for each in settings if each.group == group]:
                component = make_component(gr, each, (before or {}).get(each.name, each.value))
                problem = gr.HTML(elem_classes="hg-setting-problem", visible=False)
                # Not `input`, which Gradio's text field does not report for what is deleted or pasted.
                component.change(
                    _change_listener(gr, type(effective), each),
                    [changes, component],
                    [changes, problem],
                    show_progress="hidden",
                    trigger_mode="always_last",
                    api_visibility="private",
                )
                components.append(component)
    return components


def _change_listener(gr: Any, cls: type[Context], setting: SettingField) -> Callable[..., Any]:
    def listen(changes: dict[str, JsonValue], value: object) -> Any:
        now, wrong = apply_change(cls, setting, changes, value)
        return now, gr.update(value=problem_html(wrong), visible=bool(wrong))

    return listen


def make_component(gr: Any, setting: SettingField, value: JsonValue) -> Any:
    """Create the component for a setting; its bounds are described next to it and checked in `apply_change`."""
    # `interactive`, or Gradio shows what no function reads yet as read-only.
    common: dict[str, Any] = {"info": _info(setting), "elem_id": f"hg-setting-{setting.name}", "interactive": True}
    common["label"] = setting.name.replace("_", " ").capitalize()
    if setting.kind == "switch":
        return gr.Checkbox(bool(value), **common)
    if setting.kind == "choice":
        return gr.Dropdown(list(setting.choices), value=value, **common)
    if setting.kind in ("whole", "number"):
        step = 1 if setting.kind == "whole" else 0.05
        if _fits_slider(setting, step):
            return gr.Slider(setting.least, setting.most, value=value, step=step, **common)
        if not setting.optional:
            return gr.Number(value, step=step, **common)
        # Gradio's field for numbers shows none as 0.
        return gr.Textbox("" if value is None else str(value), max_lines=1, placeholder="none", **common)
    if setting.kind == "json":
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return gr.Textbox(text if value else "", max_lines=4, **common)
    return gr.Textbox("" if value is None else str(value), max_lines=1, **common)


def _fits_slider(setting: SettingField, step: float) -> bool:
    """Whether a slider can enter the value: with more steps it is too fine for a finger."""
    if setting.least is None or setting.most is None or setting.optional or setting.open_below:
        return False
    return (setting.most - setting.least) / step <= _MAX_SLIDER_STEPS


def _info(setting: SettingField) -> str:
    """Describe a setting, with its bounds."""
    described = f"{setting.description[:1].upper()}{setting.description[1:]}"
    lower = "" if setting.least is None else f"{'above' if setting.open_below else 'from'} {setting.least:g}"
    upper = "" if setting.most is None else f"to {setting.most:g}"
    empty = "empty for none" if setting.optional and setting.kind != "switch" else ""
    notes = ["JSON" if setting.kind == "json" else "", " ".join(filter(None, [lower, upper])), empty]
    more = "; ".join(filter(None, notes))
    return f"{described} ({more})" if more else described
