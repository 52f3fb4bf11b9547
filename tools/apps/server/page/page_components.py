"""The page's layout, the components that its functions read and fill, and its looks: `page.css`, `page.js`, the theme.

Nothing is fetched: the fonts are those of the reader's system.
"""

from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from hopgraph.graphs import METHODS
from hopgraph.state import SettingsError
from hopgraph.state.chat import AUTO
from hopgraph.tools.apps.server.page.documents_panel import DocumentsPanel
from hopgraph.tools.apps.server.page.html_text import escape_text, inline_html
from hopgraph.tools.apps.server.page.review_form import REVIEW_SETTINGS
from hopgraph.tools.apps.server.server_options import ServingOptions
from hopgraph.tools.apps.server.service import model_names
from hopgraph.tools.apps.server.threads import MAX_TITLE

_TOGGLE_SIDE = """() => {{
  const columns = document.getElementById("hg-columns");
  columns.dataset.shown = columns.dataset.shown === "{side}" ? "" : "{side}";
}}"""
"""On a narrow screen the columns at the sides are shown one at a time, over the conversation."""

_CLOSE_SIDES = """() => { document.getElementById("hg-columns").dataset.shown = ""; }"""
"""Back to the conversation."""

_BY_QUESTION = "Automatic: chosen by the question"
_LOGO_KINDS = {".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".webp": "image/webp"}
_MAX_LOGO = 200_000
_FONT = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "Noto Sans", "sans-serif"]
_MONO = ["ui-monospace", "SF Mono", "Cascadia Mono", "Menlo", "Consolas", "monospace"]
_THEME = {
    "body_background_fill": "*neutral_50",
    "body_background_fill_dark": "*neutral_950",
    "background_fill_primary_dark": "*neutral_900",
    "background_fill_secondary": "white",
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
    "button_primary_background_fill_dark": "*primary_500",
    "button_primary_background_fill_hover_dark": "*primary_400",
    "button_large_radius": "*radius_lg",
}


def read_asset(name: str) -> str:
    """Return `page.css`, or `page.js`: for `js_on_load` of the last turn's element, which it calls `element`."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def theme(gr: Any) -> Any:
    """Return the theme, for `theme` of `gradio.mount_gradio_app`."""
    hues = {"primary_hue": "indigo", "secondary_hue": "indigo", "neutral_hue": "slate"}
    return gr.themes.Base(**hues, font=_FONT, font_mono=_MONO, radius_size="md").set(**_THEME)


def method_choices() -> list[tuple[str, str]]:
    """Return a line on each method, in the words of its docstring, with its name; the choice by the question first."""
    abouts = {name: METHODS[name].about.partition("\n")[0].rstrip(".") for name in model_names() if name != AUTO}
    return [(_BY_QUESTION, AUTO), *((about or name, name) for name, about in abouts.items())]


def read_logo(path: Path) -> str:
    """Return an image as a `data:` address; a SettingsError for another kind of file, or one that is large."""
    kind = _LOGO_KINDS.get(path.suffix.lower())
    try:
        content = path.read_bytes() if kind else b""
    except OSError as error:
        raise SettingsError(f"logo {path}: {error.strerror}") from None
    if not kind or len(content) > _MAX_LOGO:
        raise SettingsError(f"logo {path}: give one of {', '.join(_LOGO_KINDS)} with at most {_MAX_LOGO:,} bytes")
    return f"data:{kind};base64,{b64encode(content).decode()}"


def settings_fields(method: str, changes: Mapping[str, JsonValue], mark: str = "") -> dict[str, Any]:
    """Return what the settings' fields are built for; they are built anew when this changes."""
    return {"method": method, "changes": dict(changes), "mark": mark}


class PageComponents:
    """Gradio's components, which have no types; to be created within Blocks."""

    def __init__(self, gr: Any, options: ServingOptions) -> None:
        self.gr, initial_method = gr, options.chat_settings.use_method
        self.opened = gr.State("")  # the id of the shown thread; empty for a new one
        self.last_opened = gr.BrowserState("", storage_key="hopgraph-thread", secret="not-secret")  # noqa: S106
        self.changes = gr.State({})  # the settings that were changed: name → value
        self.fields = gr.State(settings_fields(initial_method, {}))
        self.reviewed = gr.State([])  # the server's copy of what is ticked in `to_review`
        self.asked = gr.State([])  # the `ReviewRequest`s of a paused turn
        with gr.Row(elem_id="hg-top"):
            logo = f'<img src="{escape_text(read_logo(options.logo))}" alt="">' if options.logo else ""
            gr.HTML(f"<h1>{logo}{inline_html(options.title)}</h1>", padding=False)
            for name, side in (("Conversations", "left"), ("Picture and settings", "right")):
                toggle = gr.Button(name, size="sm", elem_classes="hg-toggle", min_width=60)
                toggle.click(None, js=_TOGGLE_SIDE.format(side=side))
        with gr.Row(elem_id="hg-columns"):
            with gr.Column(elem_id="hg-left", scale=0, min_width=0):
                self._add_threads(gr)
            with gr.Column(elem_id="hg-middle", min_width=0):
                self._add_conversation(gr)
            with gr.Column(elem_id="hg-right", scale=0, min_width=0):
                self._add_picture_and_settings(gr, initial_method)
        gr.on([self.new.click, self.threads.input], None, js=_CLOSE_SIDES)

    def _add_threads(self, gr: Any) -> None:
        self.new = gr.Button("New conversation", variant="primary", size="sm", elem_id="hg-new")
        self.threads = gr.Radio([], label="Conversations", elem_classes="hg-threads")
        with gr.Column(visible=False, elem_classes="hg-manage") as self.manage:
            self.title = gr.Textbox(label="Title", max_lines=1, max_length=MAX_TITLE)
            with gr.Row():
                self.rename = gr.Button("Rename", size="sm", min_width=60, elem_classes="hg-done")
                self.delete = gr.Button("Delete", size="sm", min_width=60)
            with gr.Column(visible=False, elem_classes="hg-sure") as self.confirmation:
                gr.HTML("<p>Delete this conversation for good?</p>")
                with gr.Row():
                    self.delete_it = gr.Button(
                        "Delete it", variant="stop", size="sm", min_width=60, elem_classes="hg-done"
                    )
                    self.keep_it = gr.Button("Keep it", size="sm", min_width=60)

    def _add_conversation(self, gr: Any) -> None:
        with gr.Column(elem_id="hg-talk"):
            self.earlier = gr.HTML(elem_id="hg-earlier", js_on_load=None)  # all turns but the last, which may run
            self.last = gr.HTML(elem_id="hg-last", js_on_load=read_asset("page.js"))
            self.review = gr.Column(elem_id="hg-review")
        with gr.Row(elem_id="hg-ask"):
            looks: dict[str, Any] = {"show_label": False, "placeholder": "Ask a question", "elem_id": "hg-box"}
            self.box = gr.Textbox(label="Your question", lines=1, max_lines=8, scale=1, autofocus=True, **looks)
            self.send = gr.Button("Send", variant="primary", scale=0, min_width=80, elem_id="hg-send")
            self.stop = gr.Button("Stop", variant="stop", scale=0, min_width=80, visible=False, elem_id="hg-stop")
        self.notice = gr.HTML(elem_id="hg-notice")  # the model and the corpus of the next question

    def _add_picture_and_settings(self, gr: Any, initial_method: str) -> None:
        with gr.Column(elem_id="hg-picture-box"):
            self.picture = gr.HTML(elem_id="hg-picture", js_on_load=None)
        self.method = gr.Dropdown(method_choices(), value=initial_method, label="Method", elem_id="hg-method")
        self.documents = DocumentsPanel(gr)
        self.corpus = self.documents.corpus
        self.to_review = gr.CheckboxGroup(list(REVIEW_SETTINGS), label="Let me review first", elem_id="hg-reviewed")
        self.settings = gr.Accordion("Settings", open=False, elem_id="hg-settings")

    @property
    def view(self) -> list[Any]:
        """What a `ThreadView` fills."""
        thread = [self.opened, self.last_opened, self.threads, self.new, self.manage, self.title, self.confirmation]
        return [self.earlier, self.last, self.picture, self.asked, self.send, self.stop, *thread]

    @property
    def options(self) -> list[Any]:
        """What the next question is asked with."""
        return [self.method, self.changes, self.corpus, self.to_review]

    @property
    def restored(self) -> list[Any]:
        """What a conversation that is opened brings back; the fields come before what they change."""
        return [self.fields, *self.options, self.documents.chosen, self.reviewed]
