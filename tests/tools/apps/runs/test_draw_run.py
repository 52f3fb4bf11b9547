import json
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopgraph.tools.apps.drawing import text_width, wrap_text
from hopgraph.tools.apps.runs.run_svg import draw_run_svg
from hopgraph.tools.apps.runs.run_tree import RunTree
from hopgraph.tools.apps.runs.tree_builder import build_tree
from hopgraph.tools.apps.runs.tree_text import draw_run_text
from support.hostile_text import ANY_TEXT, is_harmless
from support.pictures import SVG, check_layout
from support.recorded_runs import QUESTION, all_runs, recorded
from support.step_events import sparse_event

Run = Callable[..., Any]


def picture_of(tree: RunTree) -> ET.Element:
    return ET.fromstring(draw_run_svg(tree, "Method"))  # noqa: S314 - what we wrote ourselves


@pytest.mark.parametrize(("method", "variant"), all_runs())
def test_every_method_is_drawn_without_overlaps(method: str, variant: int) -> None:
    events, _, answer = recorded(method, variant)
    tree = build_tree(QUESTION, events)
    picture = picture_of(tree)
    assert check_layout(picture) >= 2
    shown = " ".join(picture.itertext())
    for word in {"rejected", "accepted", "expanded"} & {node.status for node in tree.nodes if node.kind == "paragraph"}:
        assert word in shown
    assert (f"Answer: {answer}" if answer else "No answer") in shown
    stars = list(picture.iter(f"{SVG}polygon"))
    assert bool(stars) == any(node.evidence for node in tree.nodes)


def drawn_tree(texts: list[str], seed: int) -> RunTree:
    nodes = [
        {
            "id": f"0.{number}",
            "parent": "0" if number < 3 else f"0.{(number * 7 + seed) % number or 1}",
            "passage_ids": [f"p{number}"],
            "titles": [text],
        }
        for number, text in enumerate(texts, start=1)
    ]
    reviews = [
        {**node, "verdict": ["accept", "search", "reject", ""][(number + seed) % 4], "answer": text, "analysis": text}
        for number, (node, text) in enumerate(zip(nodes, texts, strict=True))
    ]
    cited = [{"passage_id": "p1", "title": texts[0] if texts else "", "quote": texts[0] if texts else ""}]
    data: list[tuple[str, dict[str, Any]]] = [
        ("grown", {"nodes": nodes}),
        *(("reviewed", each) for each in reviews),
        ("answered", {"answer": texts[0] if texts else "", "stop_reason": "answered", "citations": cited}),
    ]
    events = [sparse_event(kind, each, step=number) for number, (kind, each) in enumerate(data)]
    return build_tree("Q? " + (texts[0] if texts else ""), events)


@pytest.mark.slow
@given(st.lists(ANY_TEXT, max_size=14), st.integers(0, 50))
@settings(max_examples=80)
def test_any_text_stays_inside_its_card_and_is_inert(texts: list[str], seed: int) -> None:
    tree = drawn_tree(texts, seed)
    picture = picture_of(tree)
    check_layout(picture)
    for text in picture.itertext():
        assert is_harmless(text.replace("\n", ""))
    assert is_harmless(draw_run_text(tree, "Method").replace("\n", ""))


def test_markup_and_urls_in_a_text_are_escaped() -> None:
    evil = '</text><script>alert(1)</script><image href="http://example.org/x.png"/>&amp;]]>'
    svg = draw_run_svg(drawn_tree([evil] * 4, 1), "</title><script>")
    tags = {element.tag.removeprefix(SVG) for element in ET.fromstring(svg).iter()}  # noqa: S314
    assert tags <= {"svg", "title", "desc", "style", "rect", "text", "g", "circle", "path", "polygon"}
    assert re.findall(r"<[a-z]+[^>]*(?:href|src)=|url\(|@import", svg) == []


def test_a_picture_has_a_text_alternative() -> None:
    events, _, _ = recorded("tree_of_reviews")
    picture = picture_of(build_tree(QUESTION, events))
    assert picture.get("role") == "img"
    assert picture.findtext(f"{SVG}title") == f"Method: {QUESTION}"
    about = picture.findtext(f"{SVG}desc") or ""
    assert about.startswith("Answer: Guadalajara. Nodes: ")
    assert "paragraph rejected" in about
    assert len(list(picture.iter(f"{SVG}title"))) > 5  # hovering over a card shows its whole text


@given(st.text(max_size=120), st.floats(20, 300), st.integers(1, 4))
def test_lines_fit_their_width_and_mark_what_is_cut(text: str, width: float, most: int) -> None:
    lines = wrap_text(text, 12, width, most=most)
    assert 1 <= len(lines) <= most
    assert all(text_width(line, 12) <= width for line in lines)
    if not lines[-1].endswith("…"):
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def saved(run: Run, path: Path, *arguments: str) -> dict[str, Any]:
    assert run("ask", QUESTION, "--method", "tor", "--save", str(path), *arguments).code == 0
    return json.loads(path.read_text(encoding="utf-8"))


def test_a_saved_run_equals_the_json_output_and_can_be_drawn(run: Run, tmp_path: Path) -> None:
    path, out = tmp_path / "new" / "run.json", tmp_path / "run.svg"
    record = saved(run, path)
    printed = json.loads(run("ask", QUESTION, "--method", "tor", "--json").out)

    def timeless(found: dict[str, Any]) -> dict[str, Any]:
        for event in found["trace"]:
            event["data"].pop("seconds", None)
        return found

    assert timeless(record) == timeless(printed)
    text = run("draw", "--run", str(path)).out
    assert text.startswith("Tree of Reviews\n===============\n\n+ answered In which city")
    assert "+-- * + accepted Guillermo del Toro -> Guadalajara" in text
    assert text.endswith('born in Guadalajara on 9 October 1964."\n')
    assert run("draw", "--run", str(path), "--format", "svg", "--out", str(out)).code == 0
    assert out.read_text(encoding="utf-8") == run("draw", "--run", str(path), "--format", "svg").out


def test_saving_to_a_folder_is_refused_before_the_run(run: Run, tmp_path: Path) -> None:
    ran = run("ask", QUESTION, "--save", str(tmp_path))
    assert (ran.code, ran.out) == (2, "")
    assert "this is a folder" in ran.err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a saved run: the file: "),
        ("{}", "not a saved run: question: Field required"),
        ('{"question": "q", "method": "m", "trace": [1]}', "not a saved run: trace.0"),
        ('{"question": "q", "method": "m", "trace": [{"event": "query"}]}', "not a saved run: trace.0.node"),
        ('{"question": 1, "method": "m", "trace": []}', "not a saved run: question: "),
    ],
)
def test_a_file_that_is_not_a_run_is_refused_in_one_line(content: str, said: str, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(content, encoding="utf-8")
    ran = run("draw", "--run", str(path))
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert f"{path}: {said}" in ran.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name a METHOD"),
        (["migres", "--run", "{}"], "name a METHOD"),
        (["--run", "{}", "--format", "mermaid"], "a run is drawn as ascii, svg or png"),
        *((["migres", "--format", kind], "a method's graph is drawn as mermaid") for kind in ("ascii", "svg", "png")),
    ],
)
def test_invalid_drawing_options_are_refused(arguments: list[str], said: str, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    saved(run, path)
    ran = run("draw", *(each.format(path) for each in arguments))
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_a_run_of_a_custom_method_is_drawn_with_its_name(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text('{"question": "Why?", "method": "my\\u001b[31m_method", "trace": []}', encoding="utf-8")
    assert run("draw", "--run", str(path)).out == "my_method\n=========\n\no open Why?\n\nNo answer\n"


def test_a_missing_png_package_names_the_extra(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    saved(run, tmp_path / "run.json")
    ran = run("draw", "--run", str(tmp_path / "run.json"), "--format", "png", "--out", str(tmp_path / "m.png"))
    assert (ran.code, ran.out) == (2, "")
    assert "pip install 'hopgraph[png]'" in ran.err


@pytest.mark.slow
def test_a_run_is_drawn_as_png(run: Run, tmp_path: Path) -> None:
    resvg: Any = pytest.importorskip("resvg_py")
    saved(run, tmp_path / "run.json")
    draw, out = ("draw", "--run", str(tmp_path / "run.json"), "--format"), tmp_path / "picture.png"
    ran = run(*draw, "png", "--out", str(out))
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    png, svg = out.read_bytes(), run(*draw, "svg").out
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width = float(svg.split('viewBox="0 0 ')[1].split()[0])
    assert int.from_bytes(png[16:20], "big") == 2 * round(width)
    without_text = re.sub(r"<text.*?</text>", "", svg)
    assert len(png) > 1.3 * len(resvg.svg_to_bytes(svg_string=without_text, width=2 * round(width)))
