"""The page's layout: the components that its functions read and fill."""

from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from hopgraph.tools.apps.server.page.documents_panel import DocumentsPanel
from hopgraph.tools.apps.server.page.page_assets import CLOSE_SIDES, TOGGLE_SIDE, read_asset
from hopgraph.tools.apps.server.page.review_form import REVIEW_KINDS
from hopgraph.tools.apps.server.service import MODEL_NAMES
from hopgraph.tools.apps.server.threads import MAX_TITLE


def settings_fields(method: str, changes: Mapping[str, JsonValue], mark: str = "") -> dict[str, Any]:
    """Return what the settings' fields are built for; they are built anew when this changes."""
    return {"method": method, "changes": dict(changes), "mark": mark}


class PageComponents:
    """Gradio's components, which have no types; to be created within Blocks.

    Args:
        gr: Gradio.
        initial_method: the method that is selected at first.
    """

    def __init__(self, gr: Any, initial_method: str) -> None:
        self.gr = gr
        self.opened = gr.State("")  # the id of the shown thread; empty for a new one
        self.last_opened = gr.BrowserState("", storage_key="hopgraph-thread", secret="not-secret")  # noqa: S106
        self.changes = gr.State({})  # the settings that were changed: name → value
        self.fields = gr.State(settings_fields(initial_method, {}))
        self.asked = gr.State([])  # the `ReviewRequest`s of a paused turn
        with gr.Row(elem_id="hg-top"):
            gr.HTML("<h1>hopgraph</h1>", padding=False)
            for name, side in (("Conversations", "left"), ("Picture and settings", "right")):
                toggle = gr.Button(name, size="sm", elem_classes="hg-toggle", min_width=60)
                toggle.click(None, js=TOGGLE_SIDE.format(side=side))
        with gr.Row(elem_id="hg-columns"):
            with gr.Column(elem_id="hg-left", scale=0, min_width=0):
                self._add_threads(gr)
            with gr.Column(elem_id="hg-middle", min_width=0):
                self._add_conversation(gr)
            with gr.Column(elem_id="hg-right", scale=0, min_width=0):
                self._add_picture_and_settings(gr, initial_method)
        gr.on([self.new.click, self.threads.input], None, js=CLOSE_SIDES)

    def _add_threads(self, gr: Any) -> None:
        self.new = gr.Button("New conversation", variant="primary", size="sm")
        self.threads = gr.Radio([], label="Conversations", elem_classes="hg-threads")
        with gr.Column(visible=False, elem_classes="hg-manage") as self.manage:
            self.title = gr.Textbox(label="Title", max_lines=1, max_length=MAX_TITLE)
            with gr.Row():
                self.rename = gr.Button("Rename", size="sm", min_width=60)
                self.delete = gr.Button("Delete", size="sm", min_width=60)
            with gr.Column(visible=False, elem_classes="hg-sure") as self.confirmation:
                gr.HTML("<p>Delete this conversation for good?</p>")
                with gr.Row():
                    self.delete_it = gr.Button("Delete it", variant="stop", size="sm", min_width=60)
                    self.keep_it = gr.Button("Keep it", size="sm", min_width=60)

    def _add_conversation(self, gr: Any) -> None:
        with gr.Column(elem_id="hg-talk"):
            self.earlier = gr.HTML(elem_id="hg-earlier", js_on_load=None)  # all turns but the last, which may run
            self.last = gr.HTML(elem_id="hg-last", js_on_load=read_asset("page.js"))
            self.review = gr.Column(elem_id="hg-review")
        with gr.Row(elem_id="hg-ask"):
            self.box = gr.Textbox(
                label="Your question",
                show_label=False,
                placeholder="Ask a question",
                lines=1,
                max_lines=8,
                scale=1,
                autofocus=True,
                elem_id="hg-box",
            )
            self.send = gr.Button("Send", variant="primary", scale=0, min_width=80, elem_id="hg-send")
            self.stop = gr.Button("Stop", variant="stop", scale=0, min_width=80, visible=False, elem_id="hg-stop")
        self.notice = gr.HTML(elem_id="hg-notice")  # the model and the corpus of the next question

    def _add_picture_and_settings(self, gr: Any, initial_method: str) -> None:
        with gr.Column(elem_id="hg-picture-box"):
            self.picture = gr.HTML(elem_id="hg-picture", js_on_load=None)
        self.method = gr.Dropdown(list(MODEL_NAMES), value=initial_method, label="Method", elem_id="hg-method")
        self.documents = DocumentsPanel(gr)
        self.corpus = self.documents.corpus
        self.to_review = gr.CheckboxGroup(list(REVIEW_KINDS), label="Let me review first", elem_id="hg-reviewed")
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
