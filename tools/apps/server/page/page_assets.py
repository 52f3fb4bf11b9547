"""How the page looks and what it does in the browser by itself: `page.css`, `page.js`, and Gradio's theme.

Nothing is fetched: the fonts are those of the reader's system.
"""

from pathlib import Path
from typing import Any

TOGGLE_SIDE = """() => {{
  const columns = document.getElementById("hg-columns");
  columns.dataset.shown = columns.dataset.shown === "{side}" ? "" : "{side}";
}}"""
"""On a narrow screen the columns at the sides are shown one at a time, over the conversation."""

CLOSE_SIDES = """() => { document.getElementById("hg-columns").dataset.shown = ""; }"""
"""Back to the conversation."""

_FONT = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "Noto Sans", "sans-serif")
_MONO = ("ui-monospace", "SF Mono", "Cascadia Mono", "Menlo", "Consolas", "monospace")
_THEME = {
    "body_background_fill": "*neutral_50",
    "body_background_fill_dark": "*neutral_950",
    "background_fill_primary_dark": "*neutral_900",
    "background_fill_secondary": "white",
    "background_fill_secondary_dark": "*neutral_900",
    "block_background_fill": "white",
    "block_background_fill_dark": "*neutral_900",
    "block_border_width": "1px",
    "block_shadow": "none",
    "block_label_text_weight": "600",
    "block_title_text_weight": "600",
    "block_title_text_size": "*text_sm",
    "block_info_text_size": "*text_xs",
    "input_border_width": "1px",
    "input_border_color": "*neutral_300",
    "input_border_color_dark": "*neutral_600",
    "input_background_fill": "white",
    "input_background_fill_dark": "*neutral_800",
    "button_primary_background_fill": "*primary_600",
    "button_primary_background_fill_hover": "*primary_700",
    "button_primary_background_fill_dark": "*primary_500",
    "button_primary_background_fill_hover_dark": "*primary_400",
    "button_primary_text_color": "white",
    "button_primary_text_color_dark": "white",
    "button_large_radius": "*radius_lg",
    "button_small_radius": "*radius_md",
}


def read_asset(name: str) -> str:
    """Return `page.css`, or `page.js`: for `js_on_load` of the last turn's element, which it calls `element`."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def theme(gr: Any) -> Any:
    """Return the theme, for `theme` of `gradio.mount_gradio_app`."""
    return gr.themes.Base(
        primary_hue="indigo",
        secondary_hue="indigo",
        neutral_hue="slate",
        font=list(_FONT),
        font_mono=list(_MONO),
        radius_size="md",
    ).set(**_THEME)
