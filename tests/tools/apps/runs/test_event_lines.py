from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopgraph.state import Event, StepEvent
from hopgraph.state.events import EVENTS
from hopgraph.tools.apps.runs.lines import Line
from hopgraph.tools.apps.runs.narration import Narrator
from support.hostile_text import is_harmless
from support.recorded_runs import all_runs, recorded
from support.step_events import step_event

HOSTILE = "\x1b[31mred\x1b]0;title\x07 [bold]x[/bold] \u202eabc\u0000\n{0} " + "long " * 60
CHOSEN = ("outcome", "of", "kind", "how", "status", "verdict", "mode", "written_by")
"""Keys whose value a node chooses, not a model or a corpus."""


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_every_event_class_is_formatted_whatever_its_values(kind: type[Event]) -> None:
    @settings(max_examples=20)
    @given(st.from_type(kind), st.booleans())
    def is_formatted(event: Event, verbose: bool) -> None:
        for line in lines_of([step_event(event)], [], verbose=verbose):
            assert line.label != "step"
            assert is_harmless(line.label + line.text + line.mark)

    is_formatted()


def lines_of(events: list[StepEvent], passages: Any, *, verbose: bool) -> list[Line]:
    narrator = Narrator(verbose=verbose)
    narrator.add_passages(passages)
    return [*(line for event in events for line in narrator.add_event(event)), *narrator.flush()]


def spoilt(value: Any, key: str = "") -> Any:
    """Insert hostile text in fields from a model or corpus; ids stay distinct."""
    if isinstance(value, str):
        return value if key in CHOSEN or not value else f"{HOSTILE}{value}"
    if isinstance(value, list):
        return [spoilt(each, key) for each in value]
    if isinstance(value, dict):
        return {name: spoilt(each, name) for name, each in value.items()}
    return value


@pytest.mark.parametrize(("method", "variant"), all_runs())
def test_every_event_of_every_method_is_formatted_and_hostile_text_is_harmless(method: str, variant: int) -> None:
    events, passages, _ = recorded(method, variant)
    hostile: Any = [{**event, "data": spoilt(event["data"])} for event in events]
    plain = [lines_of(events, passages, verbose=verbose) for verbose in (False, True)]
    for lines in (*plain, *(lines_of([each], [], verbose=True) for each in hostile)):
        for line in lines:
            assert line.label != "step"
            assert is_harmless(line.label + line.text + line.mark)
            assert line.text
    assert all(plain)
