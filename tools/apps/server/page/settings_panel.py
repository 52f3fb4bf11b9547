"""The settings of a method as fields of the page, made from its context model.

What may be chosen here is what `Service.settings` takes from the same user: everything where the app serves one
person on their own machine, else all but `OWNER_SETTINGS`. Maps and lists are entered as JSON. A setting that holds
an object, which only code can give, has no field; nor have those that the page asks for in a place of their own.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

from pydantic import JsonValue

from hopgraph.graphs import METHODS
from hopgraph.state import Context, SettingsError
from hopgraph.state.chat import ChatContext, settings_for_method
from hopgraph.state.context import make_settings, record_settings, with_environment
from hopgraph.tools.apps.server.page.html_text import inline_html
from hopgraph.tools.apps.server.service import AUTO, MODEL_NAMES, OWNER_SETTINGS
from hopgraph.tools.io.optional_packages import require

Kind = Literal["whole", "number", "switch", "choice", "text", "json"]
"""How a setting is entered; `json`: a list or a map, written as JSON."""

_ELSEWHERE = frozenset({"use_method", "methods", "gold_passages", "retriever", "review_queries", "review_evidence"})
"""What the page asks for in another place, and passages, which are too much for a field."""
_ORDER = ("Method", "Chat", "Retrieval", "Limits", "Model", "Operation")
"""The groups, what is changed most often first; groups of other names come last."""
_WIDEST_SLIDER = 100
"""Steps; with more of them a slider is too fine for a finger."""
_KINDS: Final[dict[str, Kind]] = {
    "integer": "whole",
    "number": "number",
    "boolean": "switch",
    "string": "text",
    "object": "json",
    "array": "json",
}
"""By the type in the model's JSON schema."""


@dataclass(frozen=True)
class Setting:
    """A setting that the page offers."""

    name: str
    group: str
    """The heading that it stands under."""
    description: str
    kind: Kind
    value: JsonValue
    """What is in force unless it is changed."""
    optional: bool
    """May be none, which an empty field says."""
    least: float | None = None
    most: float | None = None
    """Bounds, the values themselves included unless `open_below`; None for no bound."""
    open_below: bool = False
    """The value must be above `least`."""
    choices: tuple[str, ...] = field(default=())


def effective_settings(name: str, given: ChatContext | None = None) -> Context:
    """Find the settings that a method has before anything is changed.

    Args:
        name: a method, or `auto` for the chat.
        given: the settings that the app was started with; None for those of the environment.

    Raises:
        SettingsError: the app was started with a setting that this method does not take.
    """
    chat = given or with_environment(ChatContext())
    return chat if name == AUTO else settings_for_method(chat, METHODS[name].Context)


def list_settings(effective: Context, *, owner: bool = False) -> list[Setting]:
    """List the settings that a user of the page may change: by group, within a group in the order of the model.

    Args:
        effective: what is in force, as `effective_settings` finds it.
        owner: whether the user may choose everything.
    """
    hidden = _ELSEWHERE if owner else _ELSEWHERE | OWNER_SETTINGS
    properties = type(effective).model_json_schema()["properties"]
    values = record_settings(effective, without=())
    found = [
        _setting(name, cast("dict[str, Any]", schema), values[name])
        for name, schema in properties.items()
        if name not in hidden and _is_plain(getattr(effective, name))
    ]
    return sorted(found, key=lambda each: _ORDER.index(each.group) if each.group in _ORDER else len(_ORDER))


def _is_plain(value: object) -> bool:
    """Tell whether a value could be typed in."""
    if isinstance(value, Mapping):
        return all(_is_plain(each) for each in cast("Mapping[str, object]", value).values())
    if isinstance(value, tuple | list):
        return all(_is_plain(each) for each in cast("Sequence[object]", value))
    return value is None or isinstance(value, str | int | float)


def _setting(name: str, schema: Mapping[str, Any], value: JsonValue) -> Setting:
    ways = [schema, *schema.get("anyOf", ())]
    typed = next(each for each in ways if each.get("type", "null") != "null")
    choices = tuple(typed.get("enum", ()))
    above = typed.get("exclusiveMinimum")
    return Setting(
        name=name,
        group=schema.get("group", "Operation"),
        description=schema.get("description", ""),
        kind="choice" if choices else _KINDS[typed["type"]],
        value=value,
        optional=any(each.get("type") == "null" for each in ways),
        least=above if above is not None else typed.get("minimum"),
        most=typed.get("maximum"),
        open_below=above is not None,
        choices=choices,
    )


def entered(setting: Setting, value: object) -> JsonValue:
    """Read what somebody entered; an empty field is none.

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
    """Read a number; what is none stays as it is, for the context model to refuse."""
    try:
        number = float(cast("str | float", value))
    except ValueError:
        return str(value)
    return int(number) if number.is_integer() else number


def changed(
    cls: type[Context], setting: Setting, changes: Mapping[str, JsonValue], value: object
) -> tuple[dict[str, JsonValue], str]:
    """Write down that a setting was entered.

    Args:
        cls: the context model that has it.
        setting: which one.
        changes: what was changed before.
        value: as its field gives it.

    Returns:
        The changes, without those that are no change; and what is wrong with the value, in one line, empty for
        nothing. A wrong value stays among the changes, so that a question is refused instead of asked without it.
    """
    others = {name: each for name, each in changes.items() if name != setting.name}
    try:
        read = entered(setting, value)
        make_settings(cls, {setting.name: read})
    except SettingsError as error:
        return {**others, setting.name: cast("JsonValue", value)}, str(error)
    return (others if read == setting.value else {**others, setting.name: read}), ""


def check_readable(
    name: str, changes: Mapping[str, JsonValue], given: ChatContext | None = None, *, owner: bool = False
) -> None:
    """Refuse what `changed` kept though it could not be read, in the same words.

    Args:
        name: a method, or `auto`.
        changes: name → value of what was changed.
        given: the settings that the app was started with.
        owner: whether the user may choose everything.

    Raises:
        SettingsError: such a value, or as of `effective_settings`.
    """
    unread = {key for key, value in changes.items() if value is None or isinstance(value, str)}
    for setting in (
        list_settings(effective_settings(name, given), owner=owner) if unread and name in MODEL_NAMES else ()
    ):
        if setting.name in unread:
            entered(setting, changes[setting.name])


def settings_panel(
    name: str,
    changes: Any,
    given: ChatContext | None = None,
    *,
    owner: bool = False,
    before: Mapping[str, JsonValue] | None = None,
) -> list[Any]:
    """Put the fields of a method's settings on the page, to be called within Blocks or in `gr.render`.

    Args:
        name: a method, or `auto`.
        changes: the `gr.State` that keeps name → value of what was changed, ready for `Service.settings`. As
            methods have different settings, the page empties it when another method is chosen.
        given: the settings that the app was started with.
        owner: whether the user may choose everything.
        before: what was changed already, to be shown.

    Returns:
        Gradio's components, one for each setting, in the order of `list_settings`.

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
                    _listener(gr, type(effective), each),
                    [changes, component],
                    [changes, problem],
                    show_progress="hidden",
                    trigger_mode="always_last",
                    api_visibility="private",
                )
                components.append(component)
    return components


def _listener(gr: Any, cls: type[Context], setting: Setting) -> Callable[[dict[str, JsonValue], object], Any]:
    def listen(changes: dict[str, JsonValue], value: object) -> Any:
        now, wrong = changed(cls, setting, changes, value)
        line = f'<p role="alert" class="hg-problem">{inline_html(wrong)}</p>' if wrong else ""
        return now, gr.update(value=line, visible=bool(wrong))

    return listen


def make_component(gr: Any, setting: Setting, value: JsonValue) -> Any:
    """Make the component that a setting is entered with; bounds are told beside it and checked in `changed`."""
    told: dict[str, Any] = {"label": setting.name.replace("_", " ").capitalize(), "info": _info(setting)}
    told["elem_id"] = f"hg-setting-{setting.name}"
    told["interactive"] = True  # else Gradio shows what no function reads yet as fixed
    if setting.kind == "switch":
        return gr.Checkbox(bool(value), **told)
    if setting.kind == "choice":
        return gr.Dropdown(list(setting.choices), value=value, **told)
    if setting.kind in ("whole", "number"):
        step = 1 if setting.kind == "whole" else 0.05
        if _fits_slider(setting, step):
            return gr.Slider(setting.least, setting.most, value=value, step=step, **told)
        if not setting.optional:
            return gr.Number(value, step=step, **told)
        # Gradio's field for numbers shows none as 0.
        return gr.Textbox("" if value is None else str(value), max_lines=1, placeholder="none", **told)
    if setting.kind == "json":
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return gr.Textbox(text if value else "", max_lines=4, **told)
    return gr.Textbox("" if value is None else str(value), max_lines=1, **told)


def _fits_slider(setting: Setting, step: float) -> bool:
    bounds = setting.least, setting.most
    if bounds[0] is None or bounds[1] is None or setting.optional or setting.open_below:
        return False
    return (bounds[1] - bounds[0]) / step <= _WIDEST_SLIDER


def _info(setting: Setting) -> str:
    """Describe a setting, with its bounds."""
    described = f"{setting.description[:1].upper()}{setting.description[1:]}"
    lower = "" if setting.least is None else f"{'above' if setting.open_below else 'from'} {setting.least:g}"
    upper = "" if setting.most is None else f"to {setting.most:g}"
    bounds = " ".join(part for part in (lower, upper) if part)
    empty = "empty for none" if setting.optional and setting.kind != "switch" else ""
    more = "; ".join(part for part in ("JSON" if setting.kind == "json" else "", bounds, empty) if part)
    return f"{described} ({more})" if more else described
