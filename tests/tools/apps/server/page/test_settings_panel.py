import json
from importlib import import_module
from typing import Any, cast

import pytest
from pydantic import JsonValue

from hopgraph.graphs import METHODS, chat
from hopgraph.state import SettingsError
from hopgraph.state.chat import AUTO, ChatContext
from hopgraph.tools.apps.server.caller_settings import OPERATOR_SETTINGS
from hopgraph.tools.apps.server.page.settings_panel import (
    SettingField,
    apply_change,
    effective_settings,
    list_settings,
    make_component,
    settings_panel,
)
from hopgraph.tools.apps.server.server_options import ServingOptions
from hopgraph.tools.apps.server.service import Admission, Service, model_names


@pytest.fixture(scope="session")
def gr() -> Any:
    """Gradio, imported here because that takes seconds in each process that collects tests."""
    return import_module("gradio")


def settings_fields(method: str, given: dict[str, JsonValue]) -> dict[str, JsonValue]:
    made: dict[str, JsonValue] = import_module("hopgraph.tools.apps.server.page.page_components").settings_fields(
        method, given
    )
    return made


def by_name(method: str, *, owner: bool = False, given: ChatContext | None = None) -> dict[str, SettingField]:
    effective = effective_settings(method, given or ChatContext())
    return {each.name: each for each in list_settings(effective, owner=owner)}


def test_bounds_choices_and_defaults_are_those_of_the_context() -> None:
    found = by_name("tree_of_reviews")
    depth = found["max_depth"]
    assert (depth.kind, depth.value, depth.group, depth.optional) == ("integer", 3, "Method", False)
    assert (depth.schema["minimum"], depth.schema["maximum"]) == (1, 10)
    assert found["expansion"].schema["enum"] == ["mpc", "cot", "direct"]
    assert (found["widths"].kind, found["widths"].value) == ("array", [5, 3, 3])
    similar = found["prune_similar"]
    assert (similar.kind, similar.optional, similar.schema["exclusiveMinimum"]) == ("number", True, 0)
    assert found["prune_relevance"].kind == "boolean"
    assert all(each.schema["description"] for each in found.values())


@pytest.mark.parametrize("name", model_names())
def test_callers_see_no_owner_settings(name: str) -> None:
    mine, all_of_them = by_name(name), by_name(name, owner=True)
    assert not mine.keys() & OPERATOR_SETTINGS
    assert {"model", "reranker", "cache_dir"} <= all_of_them.keys()
    assert mine.keys() < all_of_them.keys()
    assert not all_of_them.keys() & {"methods", "use_method", "retriever", "review_queries", "review_evidence"}


@pytest.mark.parametrize("name", model_names())
def test_the_initial_value_of_a_field_is_not_a_change(name: str, gr: Any) -> None:
    cls = ChatContext if name == AUTO else METHODS[name].Context
    for setting in by_name(name, owner=True).values():
        first = make_component(gr, setting, setting.value).value
        assert apply_change(cls, setting, {}, first) == ({}, "")


def test_the_apps_settings_are_the_defaults() -> None:
    given = ChatContext.model_validate({"top_k": 7, "methods": {"migres": {"max_iterations": 2}}})
    found = by_name("migres", given=given)
    assert found["top_k"].value == 7
    assert found["max_iterations"].value == 2


def test_settings_that_only_code_can_set_have_no_field() -> None:
    found = ChatContext().model_copy(update={"reranker": object(), "models": {"migres": object()}})
    names = {each.name for each in list_settings(found, owner=True)}
    assert not {"reranker", "models"} & names
    assert "model" in names


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("max_depth", 4.0, 4),
        ("widths", "[4, 2]", [4, 2]),
        ("widths", "4, 2", [4, 2]),
        ("widths", " 5 ", [5]),
        ("prune_similar", " 0.5 ", 0.5),
        ("prune_similar", "", None),
        ("early_stop", "3", 3),
        ("temperature", "", None),
        ("model", " offline:extractive ", "offline:extractive"),
        ("models", "", {}),
        ("models", '{"tree_of_reviews": "offline:extractive"}', {"tree_of_reviews": "offline:extractive"}),
        ("prune_relevance", False, False),
        ("search", "depth", "depth"),
    ],
)
def test_entered_values_are_parsed(name: str, value: object, read: object) -> None:
    setting = by_name("tree_of_reviews", owner=True)[name]
    now, wrong = apply_change(METHODS["tree_of_reviews"].Context, setting, {"max_depth": 9}, value)
    assert wrong == ""
    # Restoring the default is not a change.
    assert now.get(name, setting.value) == read
    assert json.dumps(now)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("max_depth", 11, "less than or equal to 10, got 11"),
        ("max_depth", 2.5, "fractional part, got 2.5"),
        ("max_depth", None, "needs a value"),
        ("early_stop", "many", "got 'many'"),
        ("widths", "[4,", "write it as JSON, got '[4,'"),
        ("widths", "[0]", "greater than or equal to 1"),
        pytest.param("widths", "[" * 100_000, "write it as JSON", id="deep"),
        ("prune_similar", "nan", "got 'nan'"),
        ("early_stop", "inf", "got 'inf'"),
        ("search", "sideways", "got 'sideways'"),
    ],
)
def test_an_invalid_value_is_reported_in_one_line_and_refuses_the_question(name: str, value: Any, said: str) -> None:
    cls, setting = METHODS["tree_of_reviews"].Context, by_name("tree_of_reviews", owner=True)[name]
    now, wrong = apply_change(cls, setting, {}, value)
    assert said in wrong
    assert name in wrong
    assert "\n" not in wrong
    assert len(wrong) < 300
    assert name in now
    with pytest.raises(SettingsError, match=name):
        service_settings(now)


def service_settings(changes: dict[str, Any]) -> ChatContext:
    nothing = cast("Any", None)
    service = Service(ServingOptions(), nothing, chat.graph, Admission(1, 1), nothing, nothing)
    return service.settings("tree_of_reviews", changes, owner=True)


def test_the_service_accepts_the_panels_changes() -> None:
    cls, found = METHODS["tree_of_reviews"].Context, by_name("tree_of_reviews")
    changes: dict[str, Any] = {}
    for name, value in {"max_depth": 2, "widths": "[2, 1]", "top_k": 8}.items():
        changes, wrong = apply_change(cls, found[name], changes, value)
        assert wrong == ""
    made = service_settings(changes)
    assert made.methods["tree_of_reviews"] == {"max_depth": 2, "widths": [2, 1]}
    assert made.top_k == 8
    changes, _ = apply_change(cls, found["max_depth"], changes, found["max_depth"].value)
    assert "max_depth" not in changes


def add_panel(gr: Any, method: str, before: dict[str, JsonValue]) -> None:
    fields = settings_fields(method, before)
    states = (gr.State(fields), gr.State(before))
    settings_panel(gr, fields, ChatContext(), states=states, owner=True)


@pytest.mark.parametrize("name", [AUTO, "tree_of_reviews"])
async def test_a_panel_has_every_field_in_its_group(name: str, gr: Any) -> None:
    # In a running loop, as Gradio makes one for each Blocks otherwise, and does not close it.
    with gr.Blocks() as blocks:
        add_panel(gr, name, {})
    groups = [each.label for each in blocks.blocks.values() if isinstance(each, gr.Accordion)]
    assert groups[0] == "Method"
    assert len(groups) == len(set(groups))
    assert len(blocks.fns) == len(by_name(name, owner=True))


async def test_a_panel_shows_earlier_changes(gr: Any) -> None:
    before: dict[str, JsonValue] = {"max_depth": 6, "widths": "[4,"}
    with gr.Blocks() as blocks:
        add_panel(gr, "tree_of_reviews", before)
    shown = {each.elem_id: getattr(each, "value", None) for each in blocks.blocks.values()}
    assert shown["hg-setting-max_depth"] == 6
    assert shown["hg-setting-widths"] == "[4,"


async def test_a_late_change_does_not_affect_the_next_conversation(gr: Any) -> None:
    with gr.Blocks() as blocks:
        add_panel(gr, "tree_of_reviews", {})
    widths = next(each for each in blocks.fns.values() if each.inputs[0].elem_id == "hg-setting-widths")
    shown = settings_fields("tree_of_reviews", {})
    listen: Any = widths.fn
    now, _ = await listen("[1]", shown, {})
    assert now == {"widths": [1]}
    for other in (settings_fields("one_step", {}), {**shown, "mark": "opened again"}):
        assert await listen("[1]", other, {}) == (gr.skip(), gr.skip())


def test_a_field_describes_its_values(gr: Any) -> None:
    found = by_name("tree_of_reviews")
    assert make_component(gr, found["max_depth"], 3).info.endswith("(from 1 to 10)")
    assert make_component(gr, found["prune_similar"], None).info.endswith("(above 0 to 1; empty for none)")
    assert isinstance(make_component(gr, found["max_depth"], 3), gr.Slider)
    assert isinstance(make_component(gr, found["recall_passages"], 15), gr.Number)
