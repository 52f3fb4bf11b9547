"""The page on a wide and a narrow screen, light and dark, and without a mouse."""

from collections.abc import Callable

import pytest

from servers.browsing import Chat
from servers.web_app import WebApp

Serve = Callable[..., WebApp]
Open = Callable[..., Chat]
LONG = "Where was the painter of Guernica born" + " and when" * 3 + "?"
OUTSIDE = """() => [...document.querySelectorAll("#hg-top *, #hg-middle *")].filter((each) => {
  const box = each.getBoundingClientRect();
  return box.width > 1 && (box.right > innerWidth + 1 || box.left < -1);
}).map((each) => each.outerHTML.slice(0, 120))"""


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_cut_off_and_colours_follow_the_system(serve: Serve, open_chat: Open, width: int) -> None:
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
        for side, name in (("#hg-left", "Conversations"), ("#hg-right", "Picture and settings")):
            if width < 980:
                assert not chat.page.locator(side).is_visible()
                chat.page.get_by_role("button", name=name).press("Enter")
            chat.page.locator(side).wait_for()
    assert len(set(backgrounds)) == 2


def test_everything_is_reached_by_tab_and_is_seen_to_be(serve: Serve, open_chat: Open) -> None:
    chat = open_chat(serve())
    chat.ask("Who painted Guernica?")
    chat.page.evaluate("document.activeElement.blur()")
    reached = set[str]()
    for _ in range(45):
        chat.page.keyboard.press("Tab")
        name, seen = chat.page.evaluate(
            """() => {
              const at = document.activeElement, style = getComputedStyle(at);
              const label = at.closest("label") || at;
              const seen = style.outlineStyle !== "none" || style.boxShadow !== "none"
                || getComputedStyle(label).outlineStyle !== "none" || style.borderColor !== "";
              return [at.getAttribute("aria-label") || at.labels?.[0]?.innerText || at.innerText || at.tagName, seen];
            }"""
        )
        reached.add(str(name).strip().split("\n")[0])
        assert seen, name
    wanted = {
        "New conversation",
        "Title",
        "Rename",
        "Delete",
        "Source 1",
        "Method",
        "Documents",
        "Your question",
        "Send",
    }
    assert wanted <= reached, reached
    assert any(name.startswith("4 steps") for name in reached), reached
    assert {"Who painted Guernica?", "queries", "evidence", "Settings"} <= reached, reached
