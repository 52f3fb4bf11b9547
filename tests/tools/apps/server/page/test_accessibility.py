"""axe-core reports no serious or critical problem in any state of the page."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.paths import ROOT
from support.servers.browsing import Chat, Open, Serve

AXE = ROOT / "tests" / "javascript" / "node_modules" / "axe-core" / "axe.min.js"
SERIOUS = ("serious", "critical")
PHONE = {"width": 390, "height": 780}


def findings(chat: Chat) -> list[str]:
    """Return axe-core's serious findings in the current view."""
    chat.page.evaluate("Promise.allSettled(document.getAnimations().map((each) => each.finished))")
    if not chat.page.evaluate("'axe' in window"):
        chat.page.add_script_tag(content=AXE.read_text("utf-8"))
    found: dict[str, Any] = chat.page.evaluate("axe.run(document)")
    assert len(found["passes"]) > 10
    return [
        f"{each['id']}: {node['target']} {node['failureSummary']}"
        for each in found["violations"]
        if each["impact"] in SERIOUS
        for node in each["nodes"]
    ]


@pytest.mark.slow
@pytest.mark.skipif(not AXE.exists(), reason="needs axe-core: npm ci --prefix tests/javascript")
@pytest.mark.parametrize(
    ("simple", "device", "scheme"),
    [
        (True, "desktop", "dark"),
        pytest.param(True, "phone", "light", marks=pytest.mark.long),
        pytest.param(False, "desktop", "light", marks=pytest.mark.long),
        (False, "phone", "dark"),
    ],
)
def test_the_page_has_no_serious_accessibility_problem(
    serve: Serve, open_chat: Open, tmp_path: Path, simple: bool, device: str, scheme: Any
) -> None:
    look = {"color": "#c2410c", "footer": "[Privacy](https://example.org)"} if simple else {}
    context: dict[str, Any] = {"color_scheme": scheme} | ({"viewport": PHONE} if device == "phone" else {})
    chat = open_chat(serve(simple=simple, **look), **context)
    found = {"welcome": findings(chat)}
    chat.ask("Where was the painter of Guernica born?")
    chat.last.locator(".hg-steps > summary").click()
    found["answer"] = findings(chat)
    chat.last.locator(".hg-source").first.click()
    found["source"] = findings(chat)
    chat.page.keyboard.press("Escape")
    chat.last.get_by_role("button", name="Edit").click()
    found["edit"] = findings(chat)
    chat.page.keyboard.press("Escape")
    side = "Menu" if simple else "Diagram and settings"
    if device == "phone":
        chat.page.get_by_role("button", name=side).click()
    chat.unfold("Add your own documents")
    (tmp_path / "a.txt").write_text("Rain falls in Bergen.")
    (tmp_path / "b.exe").write_bytes(b"MZ\0")
    chat.page.locator("#hg-documents input[type=file]").set_input_files([tmp_path / "a.txt", tmp_path / "b.exe"])
    chat.page.get_by_text("uploaded", exact=True).wait_for()
    if not simple:
        chat.unfold("Settings")
        chat.page.get_by_text("Method", exact=True).last.wait_for()
    found["documents"] = findings(chat)
    assert not any(found.values()), json.dumps(found, indent=1)


@pytest.mark.slow
@pytest.mark.skipif(not AXE.exists(), reason="needs axe-core: npm ci --prefix tests/javascript")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_log_in_has_no_serious_accessibility_problem(serve: Serve, open_chat: Open, scheme: Any) -> None:
    chat = open_chat(serve(keys={"ann-0123456789abcdef": "ann"}), wait=False, color_scheme=scheme)
    chat.page.get_by_role("button").first.wait_for()
    assert "/login" in chat.page.url
    assert findings(chat) == []
