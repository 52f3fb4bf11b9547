"""Step events: one record for each kind, the same on the wire as in code."""

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopgraph.state.events import EVENTS, Event, Retrieved, StepEvent, UnknownEvent, event_order, parse_event


def on_the_wire(event: str, data: dict[str, Any]) -> StepEvent:
    return StepEvent(event=event, node="retrieve", step=1, path="retrieve", number=0, data=data)


@pytest.mark.parametrize("record", EVENTS, ids=lambda record: record.__name__)
def test_a_record_comes_back_as_it_was(record: type[Event]) -> None:
    @settings(max_examples=10)
    @given(st.from_type(record))
    def comes_back(event: Event) -> None:
        assert parse_event(on_the_wire(event.event, dict(vars(event)))) == event

    comes_back()


@pytest.mark.parametrize("record", EVENTS, ids=lambda record: record.__name__)
def test_a_record_of_another_shape_is_unknown(record: type[Event]) -> None:
    data = {field.name: object() for field in fields(record)}
    assert parse_event(on_the_wire(record.event, data)) == UnknownEvent(name=record.event, data=data)


def test_a_kind_of_another_graph_is_unknown_by_its_name() -> None:
    assert parse_event(on_the_wire("pondered", {"text": "x"})) == UnknownEvent(name="pondered", data={"text": "x"})


def test_what_older_traces_lack_has_a_default() -> None:
    data: dict[str, Any] = {"query": "q", "passage_ids": ["a"], "titles": ["A"], "scores": [1.0]}
    assert parse_event(on_the_wire("retrieved", data)) == Retrieved(**data)


def test_a_trace_has_one_order() -> None:
    def event(step: int, path: str, number: int) -> StepEvent:
        return StepEvent(event="asked", node="n", step=step, path=path, number=number, data={})

    ordered = [event(1, "n", 0), event(2, "n/0001", 0), event(2, "n/0001", 1), event(2, "n/0010", 0), event(10, "a", 0)]
    arrived = [ordered[place] for place in (3, 0, 4, 2, 1)]
    assert sorted(arrived, key=event_order) == ordered


def test_a_method_of_ones_own_may_name_its_kind_as_a_field_or_inherit_it() -> None:
    class Pondered(Event):
        event = "pondered"
        text: str

    class RetrievedTwice(Retrieved):
        times: int = 2

    assert (Pondered(text="x").event, Pondered(text="x").text) == ("pondered", "x")
    assert RetrievedTwice(query="q", passage_ids=[], titles=[], scores=[]).event == "retrieved"
