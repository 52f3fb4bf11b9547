"""The page on a wide and a narrow screen, light and dark, and without a mouse."""

from collections.abc import Mapping
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from PIL import Image

from support.servers.browsing import Chat, Open, Serve

LONG = "Where was the painter of Guernica born" + " and when" * 3 + "?"
OUTSIDE = """() => [...document.querySelectorAll("#hg-top *, #hg-middle *")].filter((each) => {
  const box = each.getBoundingClientRect();
  return box.width > 1 && (box.right > innerWidth + 1 || box.left < -1);
}).map((each) => each.outerHTML.slice(0, 120))"""

FOCUSED = """async () => {
  const at = document.activeElement;
  if (at === document.body) return null;
  const ringed = getComputedStyle(at).opacity === "0" ? at.closest("label") : at;  // one that is drawn by its label
  const place = () => { const {x, y, width, height} = ringed.getBoundingClientRect(); return [x, y, width, height]; };
  let before, box = place();
  do {  // it may be scrolled to, or a list may be closing over it
    before = box;
    await Promise.allSettled(document.getAnimations().map((each) => each.finished));
    await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
    box = place();
  } while (`${box}` !== `${before}`);
  const style = getComputedStyle(ringed);
  const drawn = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  return {
    name: at.getAttribute("aria-label") || at.labels?.[0]?.innerText || at.innerText || at.tagName,
    html: at.outerHTML.slice(0, 120), box, color: drawn ? style.outlineColor.match(/[0-9.]+/g).map(Number) : [],
  };
}"""
"""What has the focus, where it stands, and the color of the line around it; null for nothing."""


def ring_drawn(chat: Chat, focused: Mapping[str, Any]) -> float:
    """Return the visible share of the focus outline, neither clipped nor covered."""
    if len(focused["color"]) != 3:  # none, or one that is partly transparent
        return 0.0
    x, y, width, height = (round(each) for each in focused["box"])
    left, top, right, bottom = max(0, x - 6), max(0, y - 6), min(1280, x + width + 6), min(800, y + height + 6)
    if left >= right or top >= bottom:
        return 0.0
    clip: Any = {"x": left, "y": top, "width": right - left, "height": bottom - top}
    around = np.asarray(Image.open(BytesIO(chat.page.screenshot(clip=clip))).convert("RGB"), dtype=np.int16)
    alike = np.abs(around - np.array(focused["color"])).max(axis=2) < 25
    return float(alike.sum()) / (4 * (width + height))


@pytest.mark.slow
@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.long), 390])
def test_nothing_is_clipped_and_colors_follow_the_system(serve: Serve, open_chat: Open, width: int) -> None:
    app = serve()
    backgrounds: list[str] = []
    for scheme in ("light", "dark"):
        chat = open_chat(app, viewport={"width": width, "height": 844}, color_scheme=scheme)
        chat.ask(LONG)
        assert chat.page.evaluate("document.documentElement.scrollWidth") == width
        assert chat.page.evaluate(OUTSIDE) == []
        assert not chat.page.locator("footer").filter(visible=True).count()
        assert chat.box.is_visible()
        backgrounds.append(str(chat.page.evaluate("getComputedStyle(document.body).backgroundColor")))
        for side, name in (("#hg-left", "Menu"), ("#hg-right", "Diagram and settings")):
            if width < 980:
                assert not chat.page.locator(side).is_visible()
                chat.page.get_by_role("button", name=name).press("Enter")
            chat.page.locator(side).wait_for()
    assert len(set(backgrounds)) == 2


@pytest.mark.long
def test_every_control_is_reachable_by_tab_with_a_visible_focus(chat: Chat) -> None:
    chat.ask("Who painted Guernica?")
    chat.page.add_style_tag(content="*{transition:none !important}")
    for title in ("Add your own documents", "Settings", "Chat"):
        chat.unfold(title)
    chat.page.get_by_label("number input for History turns").wait_for()
    chat.manage()
    chat.page.evaluate("document.activeElement.blur()")
    reached, unseen = set[str](), set[str]()
    for _ in range(68):
        chat.page.keyboard.press("Tab")
        if (found := chat.page.evaluate(FOCUSED)) is None:
            continue
        name = str(found["name"]).strip().split("\n")[0]
        reached.add(name)
        looks = 20  # on a busy machine a list closes late over what is below it
        while ring_drawn(chat, chat.page.evaluate(FOCUSED) or found) < 0.8 and looks:
            chat.page.wait_for_timeout(200)
            looks -= 1
        if not looks:
            unseen.add(f"{name}: {found['html']}")
    assert not unseen, unseen
    wanted = {
        "New conversation",
        "Copy",
        "Rename, export or delete this conversation",
        "Title",
        "Rename",
        "Delete",
        "Source 1",
        "Method",
        "Documents",
        "Your question",
        "Send",
        "Choose files, or drop them here",
        "Reset to default value",
        "range slider for History turns",
    }
    assert wanted <= reached, reached
    assert any(name.startswith("4 steps") for name in reached), reached
    assert {"Who painted Guernica?", "Search queries", "Evidence", "Settings"} <= reached, reached


@pytest.mark.slow
def test_every_passage_opens_centered(chat: Chat) -> None:
    chat.ask("Where was the painter of Guernica born?")
    marks = chat.last.locator(".hg-cite")
    assert marks.count() == 2
    for number in range(2):
        marks.nth(number).click()
        box = chat.page.get_by_role("dialog").filter(visible=True).bounding_box()
        assert box is not None
        assert abs(box["x"] * 2 + box["width"] - 1280) < 2
        assert abs(box["y"] * 2 + box["height"] - 800) < 2
        chat.page.keyboard.press("Escape")


@pytest.mark.long
def test_on_a_narrow_screen_the_picture_scrolls_and_escape_closes_the_panel(serve: Serve, open_chat: Open) -> None:
    chat = open_chat(serve(settings={"use_method": "migres"}), viewport={"width": 390, "height": 844})
    chat.ask("Where was the painter of Guernica born?")
    settings = chat.page.get_by_role("button", name="Diagram and settings")
    settings.click()
    method = chat.page.locator("#hg-method").bounding_box()
    assert method is not None
    assert method["y"] + method["height"] < 844
    picture = chat.page.locator("#hg-picture-box")
    assert picture.evaluate("box => box.scrollHeight > box.clientHeight")
    # Escape first closes the open list.
    chat.page.get_by_role("combobox", name="Method").click()
    chat.page.get_by_role("option", name="BlendFilter").wait_for()
    chat.page.keyboard.press("Escape")
    chat.page.get_by_role("combobox", name="Method", expanded=False).wait_for()
    assert chat.page.locator("#hg-right").is_visible()
    chat.page.keyboard.press("Escape")
    chat.page.locator("#hg-right").wait_for(state="hidden")
    assert settings.evaluate("each => each === document.activeElement")
    chat.page.get_by_role("button", name="Menu").click()
    chat.page.keyboard.press("Escape")
    chat.page.locator("#hg-left").wait_for(state="hidden")
