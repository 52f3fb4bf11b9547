"""Layout checks of a run's picture."""

import itertools
import xml.etree.ElementTree as ET

from hopgraph.tools.apps.drawing import text_width

SVG = "{http://www.w3.org/2000/svg}"


def number(element: ET.Element, name: str) -> float:
    return float(element.get(name, "nan"))


def check_layout(picture: ET.Element) -> int:
    """Check that cards do not overlap and every text is inside a card; return the number of cards."""
    width, height = (float(value) for value in picture.get("viewBox", "").split()[2:])
    cards = [rect for rect in picture.iter(f"{SVG}rect") if "card" in rect.get("class", "")]
    sides = [[number(each, name) for name in ("x", "y", "width", "height")] for each in cards]
    boxes = [(x, y, x + wide, y + high) for x, y, wide, high in sides]
    for left, top, right, bottom in boxes:
        assert 0 < left < right < width
        assert 0 < top < bottom < height
    for above, below in itertools.pairwise(boxes):
        assert above[3] < below[1]
    sizes = {"word": (12, True), "label": (12, False), "text": (13.5, False), "asked": (13.5, True)}
    sizes |= {"answer": (13.5, True), "note": (12, False), "end": (18, True)}
    lines: dict[float, list[tuple[float, float]]] = {}
    for text in picture.iter(f"{SVG}text"):
        kind = text.get("class", "")
        if kind == "title":
            continue
        size, bold = sizes[kind]
        x, y = number(text, "x"), number(text, "y")
        end = x + text_width(text.text or "", size, bold=bold)
        assert any(box[0] < x and end <= box[2] + 1 and box[1] < y - size * 0.7 and y < box[3] for box in boxes)
        assert not any(one < end and x < other for one, other in lines.get(y, []))
        lines.setdefault(y, []).append((x, end))
    return len(cards)
