"""The guide's pictures of the page and of a run's tree; `make pictures` redraws them in `docs/pictures`."""

import os
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from hopgraph.tools.apps.cli import main
from hopgraph.tools.retrieval import build_index
from support.company_folder import write_company
from support.paths import ROOT
from support.servers.browsing import Chat, Open, Serve

REWRITE = "HOPGRAPH_REWRITE_PICTURES"
PICTURES = ROOT / "docs" / "pictures"
QUESTION = "In which city was the director of the film Pan's Labyrinth born?"
HOPS = {"use_method": "migres", "methods": {"migres": {"top_k": 4, "links": False}}}
PHONE_NUMBER, LEAVE = "What is the phone number of customer 007123?", "How many days of leave does grade B get?"
LOGO = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24">
<rect width="24" height="24" rx="6" fill="#0f766e"/>
<path d="M6 17 12 6l6 11M8.5 13h7" fill="none" stroke="#fff" stroke-width="2.4" stroke-linecap="round"/></svg>"""
FOOTER = "For employees of ACME alone · [Privacy](https://example.org/privacy)"
SMALL: dict[str, Any] = {"viewport": {"width": 1100, "height": 680}}
WIDE: dict[str, Any] = {"viewport": {"width": 1280, "height": 940}}
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 780}, "device_scale_factor": 2}
COLORS = 256  # the page has few colors; a palette saves two thirds of the bytes


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    return PICTURES if os.environ.get(REWRITE) else tmp_path


IN_THE_DARK = pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.long)])
"""The same page in other colors, whose contrasts the test of accessibility checks."""


def draw(chat: Chat, file: Path) -> None:
    """Take a screenshot of the viewport once nothing moves; nothing may overflow the conversation."""
    assert chat.page.evaluate("(each => each.scrollWidth <= each.clientWidth)(document.querySelector('#hg-talk'))"), (
        file
    )
    chat.page.evaluate("document.activeElement?.blur()")
    image = Image.open(BytesIO(chat.page.screenshot(animations="disabled"))).convert("RGB")
    image.quantize(COLORS, dither=Image.Dither.NONE).save(file, optimize=True)


def test_the_tree_of_a_run(pictures: Path, tmp_path: Path) -> None:
    run = str(tmp_path / "run.json")
    small = ["--set", "widths=[3,2]", "--set", "max_depth=2"]
    assert main(["ask", QUESTION, "--method", "tree_of_reviews", *small, "--save", run, "--quiet"]) == 0
    assert main(["draw", "--run", run, "--format", "svg", "--out", str(pictures / "run_tree.svg")]) == 0


def named(kind: str, device: str, scheme: str) -> str:
    parts = [kind, "dark" if scheme == "dark" else "", "phone" if device == "phone" else ""]
    return f"{'_'.join(filter(None, parts))}.png"


@pytest.mark.slow
@IN_THE_DARK
@pytest.mark.parametrize("device", ["desktop", pytest.param("phone", marks=pytest.mark.long)])
def test_a_conversation(serve: Serve, open_chat: Open, pictures: Path, device: str, scheme: Any) -> None:
    chat = open_chat(serve(settings=HOPS), color_scheme=scheme, **(WIDE if device == "desktop" else PHONE))
    chat.ask(QUESTION)
    if device == "desktop":
        chat.last.locator(".hg-steps > summary").click()
        chat.last.locator(".hg-group > summary").last.click()
    draw(chat, pictures / named("chat", device, scheme))


@pytest.fixture
def company(tmp_path: Path) -> Path:
    (tmp_path / "company").mkdir()
    write_company(tmp_path / "company")
    build_index(tmp_path / "company", tmp_path / "index", skip_invalid=True)
    return tmp_path / "index"


@pytest.mark.slow
@IN_THE_DARK
@pytest.mark.parametrize("device", [pytest.param("desktop", marks=pytest.mark.long), "phone"])
def test_a_simple_page(
    serve: Serve, open_chat: Open, company: Path, tmp_path: Path, pictures: Path, device: str, scheme: Any
) -> None:
    (tmp_path / "logo.svg").write_text(LOGO)
    look: dict[str, Any] = {"title": "Ask ACME", "logo": tmp_path / "logo.svg", "color": "#0f766e", "footer": FOOTER}
    settings = {"retriever": f"bm25:{company}", "use_method": "one_step"}
    app = serve(simple=True, settings=settings, examples=(PHONE_NUMBER, LEAVE), **look)
    chat = open_chat(app, color_scheme=scheme, **(SMALL if device == "desktop" else PHONE))
    draw(chat, pictures / named("simple_welcome", device, scheme))
    for question in (LEAVE, PHONE_NUMBER):
        chat.ask(question)
    draw(chat, pictures / named("simple", device, scheme))
    chat.last.locator(".hg-source").first.click()
    draw(chat, pictures / named("source", device, scheme))
    chat.page.keyboard.press("Escape")
    if device == "phone":
        chat.page.get_by_role("button", name="Menu").click()
    chat.unfold("Add your own documents")
    files = {"handbook.md": b"# Handbook\n\nLunch is at noon.", "photo.exe": b"MZ\0", "empty.txt": b""}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    chat.page.locator("#hg-documents input[type=file]").set_input_files([tmp_path / name for name in files])
    chat.page.get_by_text("uploaded", exact=True).wait_for()
    draw(chat, pictures / named("uploads", device, scheme))


def test_the_pictures_are_small() -> None:
    files = [each for each in PICTURES.iterdir() if each.is_file()]
    assert {"chat.png", "run_tree.svg"} <= {each.name for each in files}
    assert sum(each.stat().st_size for each in files) < 1_500_000
