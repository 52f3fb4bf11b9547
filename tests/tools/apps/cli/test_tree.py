import io
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.segment import SegmentLines
from rich.text import Text

from hopgraph.state import StepEvent
from hopgraph.tools.apps.cli.run_output import RunDisplay
from hopgraph.tools.apps.runs.tree_text import terminal_tree
from support.hostile_text import ANY_TEXT, is_harmless
from support.recorded_runs import QUESTION, recorded
from support.step_events import sparse_event

Run = Callable[..., Any]
TREES = ("ra_isf", "tree_of_reviews", "chain_of_reviews", "migres", "genground")


def printed(question: str, events: list[StepEvent], width: int, encoding: str = "utf-8", *, full: bool) -> list[str]:
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace")
    console = Console(file=out, width=width, markup=False, highlight=False, emoji=False)
    lines = terminal_tree(console, question, events, full=full)
    console.print(SegmentLines(lines, new_lines=True), end="", crop=False)
    out.seek(0)
    return out.read().splitlines()


@pytest.mark.parametrize("method", TREES)
@pytest.mark.parametrize("width", [40, 80])
def test_a_tree_fits_the_terminal_without_trailing_spaces(method: str, width: int) -> None:
    events, _, answer = recorded(method)
    lines = printed(QUESTION, events, width, full=True)
    assert all(len(line) <= width and line == line.rstrip() for line in lines)
    text = " ".join(" ".join(lines).replace("│", " ").split())
    assert text.startswith("✓ answered In which city" if answer else "? unknown In which city")
    assert any(line.startswith(("├── ", "└── ")) for line in lines)


def test_an_ascii_terminal_gets_ascii_signs() -> None:
    events, _, _ = recorded("tree_of_reviews")
    text = "\n".join(printed(QUESTION, events, 80, "ascii", full=False))
    assert "+-- * + accepted" in text
    assert "x rejected" in text
    assert "✓" not in text


@given(ANY_TEXT, st.booleans())
@settings(max_examples=60)
def test_hostile_text_is_harmless_on_a_terminal(text: str, full: bool) -> None:
    parts = [{"id": "0.1", "question": text}]
    data: list[tuple[str, dict[str, Any]]] = [
        ("decomposed", {"id": "0", "question": text, "sub_questions": parts}),
        ("retrieved", {"query": text, "passage_ids": [text], "titles": [text]}),
        ("question_settled", {"id": "0.1", "question": text, "status": "answered", "answer": text, "how": "passages"}),
    ]
    events = [sparse_event(kind, each, step=number) for number, (kind, each) in enumerate(data)]
    for line in printed(text, events, 60, full=full):
        assert is_harmless(line)


def test_text_at_a_very_deep_level_is_kept() -> None:
    keys = ["0.1"]
    while len(keys) < 30:
        keys.append(f"{keys[-1]}.1")
    nodes: Any = [{"id": key, "parent": key[:-2], "passage_ids": [f"p{len(key)}"], "titles": ["Deep"]} for key in keys]
    grown = sparse_event("grown", {"nodes": nodes})
    expanded = sparse_event("expanded", {"id": "0.1", "query": "more"}, step=2)
    lines = printed("Q?", [grown, expanded], 40, full=False)
    assert sum("Deep" in line for line in lines) == 30


def test_the_tree_is_printed_after_the_steps_and_the_answer_last(run: Run) -> None:
    out = run("ask", QUESTION, "--method", "tor", "--verbose").out
    assert "step  " not in out
    order = ["\nIteration 1\n", "\n  review ", "\nThe run\n✓ answered ", "★ ✓ accepted Guillermo del Toro", "\nAnswer "]
    places = [out.index(part) for part in order]
    assert places == sorted(places)


def test_a_single_search_has_no_tree(run: Run) -> None:
    assert "The run" not in run("ask", QUESTION, "--method", "one_step").out
    assert "The run" not in run("ask", QUESTION, "--method", "tor", "--quiet").out


def test_on_a_terminal_the_live_tree_is_drawn_below_the_lines_and_erased() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=60, height=20, markup=False)
    events, _, _ = recorded("ra_isf")
    with RunDisplay(console) as display:
        for count in (3, len(events)):
            display.show_tree(QUESTION, events[:count])
            display.show_node("solve")
            console.print("a line")
    text = out.getvalue()
    assert "answered" in text
    assert text.endswith("\x1b[2K") or "\x1b[?25h" in text
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1
    assert "\n..." not in text


def test_a_live_tree_shows_only_the_last_lines_that_fit() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, no_color=True, width=80, height=14, markup=False)
    events, _, _ = recorded("tree_of_reviews")
    with RunDisplay(console) as display:
        display.show_tree(QUESTION, events)
    whole, shown = printed(QUESTION, events, 80, full=False), Text.from_ansi(out.getvalue()).plain.splitlines()
    start = shown.index("...")
    assert shown[start + 1 : start + 8] == whole[-7:]
