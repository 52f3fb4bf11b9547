"""The page's layout, its components, and its theme; no font is fetched.

The colors derive from the operator's `color`, adjusted for enough contrast on light and dark.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from pydantic import JsonValue

from hopgraph.graphs import METHODS
from hopgraph.state import SettingsError
from hopgraph.state.chat import AUTO
from hopgraph.tools.apps.server.page.documents_panel import DocumentsPanel, UploadOf
from hopgraph.tools.apps.server.page.html_text import escape_text, inline_html
from hopgraph.tools.apps.server.page.texts import ENGLISH, Texts, read_asset
from hopgraph.tools.apps.server.server_options import ServingOptions
from hopgraph.tools.apps.server.service import model_names
from hopgraph.tools.apps.server.threads import MAX_TITLE

Rgb = tuple[int, int, int]
WHITE, BLACK, DARK_PAGE = (255, 255, 255), (0, 0, 0), (24, 34, 53)
_SHADES = (0.95, 0.9, 0.75, 0.55, 0.3, 0.1, 0.0, -0.15, -0.3, -0.45, -0.6)
"""The shades of a palette, from 50 to 950: the share of white, or, if negative, of black."""
_CONTRAST = 4.6  # WCAG requires 4.5 for small text


def parse_color(text: str) -> Rgb:
    """Return the red, green and blue of `#RRGGBB`."""
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


def write_color(rgb: Sequence[int]) -> str:
    """Return a color as `#rrggbb`."""
    return "#" + "".join(f"{each:02x}" for each in rgb)


def mix(one: Rgb, other: Rgb, share: float) -> Rgb:
    """Return one color mixed with a share of the other."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


def contrast(one: Rgb, other: Rgb) -> float:
    """Return the WCAG contrast ratio of two colors, from 1 to 21."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def readable_on(color: Rgb, ground: Rgb) -> Rgb:
    """Return a color, lightened or darkened until text in it is readable on a background."""
    goal = WHITE if _luminance(ground) < 0.2 else BLACK
    return next(found for step in range(101) if contrast(found := mix(color, goal, step / 100), ground) >= _CONTRAST)


def palette(color: Rgb) -> list[str]:
    """Return the eleven shades of a Gradio palette, lightest first; white text is readable on the seventh."""
    base = readable_on(color, WHITE)
    return [write_color(mix(base, WHITE if share > 0 else BLACK, abs(share))) for share in _SHADES]


def _luminance(color: Rgb) -> float:
    parts = [each / 255 for each in color]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


_LOGO_KINDS = {".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".webp": "image/webp"}
_MAX_LOGO = 200_000
_FONT = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "Noto Sans", "sans-serif"]
_MONO = ["ui-monospace", "SF Mono", "Cascadia Mono", "Menlo", "Consolas", "monospace"]
_THEME = {
    "body_background_fill": "*neutral_50",
    "body_background_fill_dark": "*neutral_950",
    "background_fill_primary_dark": "*neutral_900",
    "background_fill_secondary": "white",
    "body_text_color_subdued": "*neutral_500",
    "body_text_color_subdued_dark": "*neutral_400",
    "input_placeholder_color": "*neutral_500",
    "input_placeholder_color_dark": "*neutral_400",
    "block_background_fill": "white",
    "block_background_fill_dark": "*neutral_900",
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
    "button_primary_background_fill_dark": "*primary_600",
    "button_primary_background_fill_hover_dark": "*primary_700",
    "button_large_radius": "*radius_lg",
}


def theme(gr: Any, color: str) -> Any:
    """Return the theme for `gradio.mount_gradio_app`, in a color if one is given."""
    hue = gr.themes.Color(*palette(parse_color(color)), name="own") if color else "indigo"
    hues = {"primary_hue": hue, "secondary_hue": hue, "neutral_hue": "slate"}
    return gr.themes.Base(**hues, font=_FONT, font_mono=_MONO, radius_size="md").set(**_THEME)


def page_style(color: str) -> str:
    """Return the page's style sheet, in a color if one is given."""
    if not color:
        return read_asset("page.css")
    light, dark = (write_color(readable_on(parse_color(color), ground)) for ground in (WHITE, DARK_PAGE))
    fills = f"--hg-next:{light};--hg-next-fill:{light}14", f"--hg-next:{dark};--hg-next-fill:{dark}24"
    return f"{read_asset('page.css')}\nbody{{{fills[0]}}}\nbody.dark{{{fills[1]}}}\n"


def operator_html(markdown: str, *, inline: bool = False) -> str:
    """Return the operator's Markdown as HTML; HTML in it is escaped."""
    drawer = MarkdownIt("commonmark", {"html": False})
    return drawer.renderInline(markdown) if inline else drawer.render(markdown)


def read_logo(path: Path) -> str:
    """Return an image as a `data:` URL; a SettingsError for another type of file or one that is too large."""
    kind = _LOGO_KINDS.get(path.suffix.lower())
    try:
        content = path.read_bytes() if kind else b""
    except OSError as error:
        raise SettingsError(f"logo {path}: {error.strerror}") from None
    if not kind or len(content) > _MAX_LOGO:
        raise SettingsError(f"logo {path}: use a {', '.join(_LOGO_KINDS)} file of at most {_MAX_LOGO:,} bytes")
    return f"data:{kind};base64,{b64encode(content).decode()}"


def settings_fields(method: str, changes: Mapping[str, JsonValue], mark: str = "") -> dict[str, Any]:
    """Return the state that the settings' fields are built from; they are rebuilt when it changes."""
    return {"method": method, "changes": dict(changes), "mark": mark}


class PageComponents:
    """Gradio's components, which have no types; create it within Blocks."""

    def __init__(self, gr: Any, options: ServingOptions, i18n: Any, upload_of: UploadOf) -> None:
        self.gr, initial_method, self.simple, self.i18n = gr, options.chat_settings.use_method, options.simple, i18n
        self._panel = partial(DocumentsPanel, gr, i18n, options.max_upload_bytes, upload_of)
        self.opened = gr.State("")  # the id of the shown thread; empty for a new one
        self.last_opened = gr.BrowserState("", storage_key="hopgraph-thread", secret="not-secret")  # noqa: S106
        self.changes = gr.State({})  # changed settings: name → value
        self.fields = gr.State(settings_fields(initial_method, {}))
        self.reviewed = gr.State([])  # the server's copy of what is ticked in `to_review`
        self.asked = gr.State([])  # the `ReviewRequest`s of a paused turn
        with gr.Row(elem_id="hg-top"):
            logo = f'<img src="{escape_text(read_logo(options.logo))}" alt="">' if options.logo else ""
            gr.HTML(f"<h1>{logo}{inline_html(options.title)}</h1>", padding=False)
            for key in ["menu"] if self.simple else ["menu", "picture_and_settings"]:
                gr.Button(self.i18n(key), size="sm", elem_classes="hg-toggle", min_width=60)  # handled in `page.js`
        with gr.Row(elem_id="hg-columns", elem_classes="hg-simple" if self.simple else None):
            with gr.Column(elem_id="hg-left", scale=0, min_width=0):
                self._add_threads(gr)
                if self.simple:
                    self.documents = self._panel()
                self.account = gr.HTML(elem_id="hg-account", padding=False)  # who is logged in
            with gr.Column(elem_id="hg-middle", min_width=0):
                self._add_conversation(gr, options.footer)
            with gr.Column(elem_id="hg-right", scale=0, min_width=0, visible=not self.simple):
                self._add_picture_and_settings(gr, initial_method)
        self.corpus = self.documents.corpus
        # The components that a `ThreadView` fills, the next question's options, and what opening a conversation
        # restores, with the fields before what they change.
        thread = [self.opened, self.last_opened, self.threads, self.manage, self.title, self.export, self.confirmation]
        thread.append(self.sure)
        self.view = [self.earlier, self.last, self.picture, self.asked, self.send, self.stop, *thread]
        self.options = [self.method, self.changes, self.corpus, self.to_review]
        self.restored = [self.fields, *self.options, self.documents.chosen, self.documents.whose, self.reviewed]

    def _add_threads(self, gr: Any) -> None:
        t = self.i18n
        self.new = gr.Button(t("new_conversation"), variant="primary", size="sm", elem_id="hg-new")
        self.threads = gr.Radio([], label=t("conversations"), elem_classes="hg-threads")
        with gr.Column(visible=False, elem_classes="hg-manage") as self.manage:
            self.title = gr.Textbox(label=t("title"), max_lines=1, max_length=MAX_TITLE)
            with gr.Row():
                self.rename = gr.Button(t("rename"), size="sm", min_width=60, elem_classes="hg-done")
                self.delete = gr.Button(t("delete"), size="sm", min_width=60)
            self.export = gr.HTML(elem_id="hg-export")
            with gr.Column(visible=False, elem_classes="hg-sure") as self.confirmation:
                self.sure = gr.HTML()
                with gr.Row():
                    self.delete_it = gr.Button(
                        t("delete_it"), variant="stop", size="sm", min_width=60, elem_classes="hg-done"
                    )
                    self.keep_it = gr.Button(t("keep_it"), size="sm", min_width=60)

    def _add_conversation(self, gr: Any, footer: str) -> None:
        t = self.i18n
        with gr.Column(elem_id="hg-talk"):
            self.earlier = gr.HTML(elem_id="hg-earlier", js_on_load=None)  # all turns but the last, which may run
            self.last = gr.HTML(elem_id="hg-last", js_on_load=read_asset("page.js"))
            self.review = gr.Column(elem_id="hg-review")
        with gr.Row(elem_id="hg-ask"):
            looks: dict[str, Any] = {"show_label": False, "placeholder": t("ask_a_question"), "elem_id": "hg-box"}
            self.box = gr.Textbox(label=t("your_question"), lines=1, max_lines=8, scale=1, autofocus=True, **looks)
            self.send = gr.Button(t("send"), variant="primary", scale=0, min_width=80, elem_id="hg-send")
            self.stop = gr.Button(t("stop"), variant="stop", scale=0, min_width=80, visible=False, elem_id="hg-stop")
        self.notice = gr.HTML(elem_id="hg-notice")  # the model and the corpus of the next question
        if footer:
            gr.HTML(f"<footer>{operator_html(footer, inline=True)}</footer>", elem_id="hg-footer")

    def _add_picture_and_settings(self, gr: Any, initial_method: str) -> None:
        t = self.i18n
        with gr.Column(elem_id="hg-picture-box"):
            self.picture = gr.HTML(elem_id="hg-picture", js_on_load=None)
        self.method = gr.Dropdown(
            self.method_choices(ENGLISH), value=initial_method, label=t("method"), elem_id="hg-method"
        )
        if not self.simple:
            self.documents = self._panel()
        self.to_review = gr.CheckboxGroup([], label=t("let_me_review"), elem_id="hg-reviewed")
        self.settings = gr.Accordion(t("settings"), open=False, elem_id="hg-settings")

    def method_choices(self, texts: Texts) -> list[tuple[str, str]]:
        """Return the labels and values of the methods."""
        abouts = {
            name: METHODS[name].docstring.partition("\n")[0].rstrip(".") for name in model_names() if name != AUTO
        }
        return [(texts("by_question"), AUTO), *((about or name, name) for name, about in abouts.items())]
