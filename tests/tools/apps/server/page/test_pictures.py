"""The guide's pictures: states of the page, and a run's tree; `make pictures` draws them again, in `docs/pictures`."""

import os
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from hopgraph.tools.apps.cli import main
from support.paths import ROOT
from support.servers.browsing import Chat
from support.servers.web_app import WebApp

Serve = Callable[..., WebApp]
Open = Callable[..., Chat]
REWRITE = "HOPGRAPH_REWRITE_PICTURES"
PICTURES = ROOT / "docs" / "pictures"
QUESTION = "In which city was the director of the film Pan's Labyrinth born?"
HOPS = {"use_method": "migres", "methods": {"migres": {"passages_per_query": 4, "links": False}}}
WIDE: dict[str, Any] = {"viewport": {"width": 1280, "height": 940}}
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 780}, "device_scale_factor": 2}
COLOURS = 128  # a page has few, and a picture of so many takes a third of the bytes


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    return PICTURES if os.environ.get(REWRITE) else tmp_path


def draw(chat: Chat, file: Path) -> None:
    """Take a picture of what is in view, once nothing moves."""
    chat.page.evaluate("document.activeElement?.blur()")
    image = Image.open(BytesIO(chat.page.screenshot(animations="disabled"))).convert("RGB")
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)


def test_the_tree_of_a_run(pictures: Path, tmp_path: Path) -> None:
    run = str(tmp_path / "run.json")
    small = ["--set", "widths=[3,2]", "--set", "max_depth=2"]
    assert main(["ask", QUESTION, "--method", "tree_of_reviews", *small, "--save", run, "--quiet"]) == 0
    assert main(["draw", "--run", run, "--format", "svg", "--out", str(pictures / "run_tree.svg")]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("device", ["desktop", "phone"])
def test_a_conversation(serve: Serve, open_chat: Open, pictures: Path, device: str, scheme: Any) -> None:
    chat = open_chat(serve(settings=HOPS), color_scheme=scheme, **(WIDE if device == "desktop" else PHONE))
    chat.ask(QUESTION)
    if device == "desktop":
        chat.last.locator(".hg-steps > summary").click()
        chat.last.locator(".hg-group > summary").last.click()
    name = "_".join(["chat", *(["dark"] if scheme == "dark" else []), *(["phone"] if device == "phone" else [])])
    draw(chat, pictures / f"{name}.png")


def test_they_are_small() -> None:
    files = [each for each in PICTURES.iterdir() if each.is_file()]
    assert {"chat.png", "run_tree.svg"} <= {each.name for each in files}
    assert sum(each.stat().st_size for each in files) < 1_500_000
