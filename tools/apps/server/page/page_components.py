"""The page's layout, the components that its functions read and fill, and its looks; no font is fetched."""

from base64 import b64encode
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from gradio import Request
from pydantic import JsonValue

from hopgraph.graphs import METHODS
from hopgraph.state import HopgraphError, SettingsError
from hopgraph.state.chat import AUTO
from hopgraph.tools.apps.server.index_upload import IndexingStage, UserCorpus
from hopgraph.tools.apps.server.page.document_store import JOINED, SUFFIXES, UserDocuments
from hopgraph.tools.apps.server.page.html_text import escape_text, inline_html, problem_html
from hopgraph.tools.apps.server.page.review_form import REVIEW_SETTINGS
from hopgraph.tools.apps.server.server_options import ServingOptions
from hopgraph.tools.apps.server.service import model_names
from hopgraph.tools.apps.server.threads import MAX_TITLE
from hopgraph.tools.text.languages import list_language_names
from hopgraph.tools.text.sanitize import pluralize

Updates = Mapping[Any, Any]  # component → its new value, or a `gr.update`
QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
_BY_QUESTION = "Automatic: chosen by the question"
_APP_CORPUS = ("The app's documents", "")
_DELETE, _CONFIRM = "Delete the chosen documents", "Press again to delete them for good"
_WHOSE = (
    "<p>Only you can search what you add here. To share documents with everyone, ask the owner of this app to add them"
    " to its own: <code>hopgraph index FILES --out INDEX --add</code></p>"
)
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
            for name in ("Conversations", "Picture and settings"):  # for narrow screens; `page.js` does it
                gr.Button(name, size="sm", elem_classes="hg-toggle", min_width=60)
        with gr.Row(elem_id="hg-columns"):
            with gr.Column(elem_id="hg-left", scale=0, min_width=0):
                self._add_threads(gr)
            with gr.Column(elem_id="hg-middle", min_width=0):
                self._add_conversation(gr)
            with gr.Column(elem_id="hg-right", scale=0, min_width=0):
                self._add_picture_and_settings(gr, initial_method)
        # What a `ThreadView` fills, what the next question is asked with, and what a conversation that is opened brings
        # back, with the fields before what they change.
        thread = [self.opened, self.last_opened, self.threads, self.new, self.manage, self.title, self.confirmation]
        self.view = [self.earlier, self.last, self.picture, self.asked, self.send, self.stop, *thread]
        self.options = [self.method, self.changes, self.corpus, self.to_review]
        self.restored = [self.fields, *self.options, self.documents.chosen, self.reviewed]

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
        abouts = {name: METHODS[name].about.partition("\n")[0].rstrip(".") for name in model_names() if name != AUTO}
        choices = [(_BY_QUESTION, AUTO), *((about or name, name) for name, about in abouts.items())]
        self.method = gr.Dropdown(choices, value=initial_method, label="Method", elem_id="hg-method")
        self.documents = DocumentsPanel(gr)
        self.corpus = self.documents.corpus
        self.to_review = gr.CheckboxGroup(list(REVIEW_SETTINGS), label="Let me review first", elem_id="hg-reviewed")
        self.settings = gr.Accordion("Settings", open=False, elem_id="hg-settings")


class DocumentsPanel:
    """Where documents are chosen, and one's own added, changed and deleted; to be created within Blocks."""

    def __init__(self, gr: Any) -> None:
        self._gr = gr
        self.corpus = gr.Dropdown([_APP_CORPUS], value="", label="Documents", elem_id="hg-corpus")
        self.chosen = gr.State("")  # the server's copy of its value
        with gr.Accordion("Add your own documents", open=False, elem_id="hg-documents"):
            self._files = gr.File(label="Files", file_count="multiple", file_types=list(SUFFIXES), height=140)
            self._name = gr.Textbox(label="What to call them", max_lines=1, max_length=80)
            languages = [(each.capitalize(), each) for each in list_language_names()]
            self._language = gr.Dropdown(languages, value="english", label="Their language", elem_id="hg-language")
            self._index = gr.Button("Index them", variant="primary", size="sm", elem_id="hg-index")
            with gr.Column(visible=False) as self._own:
                self._extend = gr.Button("Add them to the chosen documents", size="sm", elem_id="hg-extend")
                self._gone = gr.Dropdown([], multiselect=True, label="Files to remove from them", elem_id="hg-gone")
                self._remove = gr.Button("Remove these files", size="sm", elem_id="hg-remove")
                self._delete = gr.Button(_DELETE, size="sm", elem_id="hg-forget")
            self._result = gr.HTML(elem_id="hg-indexed")
            gr.HTML(_WHOSE)

    def connect(self, documents: Callable[[], UserDocuments], user_of: Callable[[Request], str]) -> None:
        """Connect the buttons."""
        self._documents, self._user_of = documents, user_of
        empty, none = self._gr.State(""), self._gr.State([])
        buttons = [self._index, self._extend, self._remove]
        filled = [*buttons, self._result, self.corpus, self.chosen, self._gone, self._files, self._name]
        named = [self._name, self._language]
        self._index.click(self._add, [empty, self._files, none, *named], filled, **QUIET)
        self._extend.click(self._add, [self.corpus, self._files, none, *named], filled, **QUIET)
        self._remove.click(self._add, [self.corpus, none, self._gone, *named], filled, **QUIET)
        forgotten = [self.corpus, self.chosen, self._result, self._delete]
        self._delete.click(self._forget, [self.corpus, self._delete], forgotten, **QUIET)
        self.corpus.input(str, [self.corpus], [self.chosen], trigger_mode="always_last", **QUIET)
        self.corpus.change(self._choose, [self.corpus], [self._own, self._gone, self._delete], **QUIET)

    async def choices(self, user: str) -> list[tuple[str, str]]:
        """Return the labels and values of what can be asked: the app's, then each corpus alone and with them."""
        choices: list[tuple[str, str]] = [_APP_CORPUS]
        for each in await self._documents().list_for(user):
            label = f"{each['name']} ({pluralize(each['passages'], 'passage')})"
            choices += [(label, each["id"]), (f"{label} + the app's", f"{each['id']}{JOINED}")]
        return choices

    async def _add(
        self, request: Request, corpus: str, files: Sequence[str] | None, gone: Sequence[str], name: str, language: str
    ) -> AsyncGenerator[Updates]:
        """Show how a corpus is made or changed, then choose it, and delete the uploads."""
        user, paths, key = self._user_of(request), [Path(each) for each in files or ()], corpus.removesuffix(JOINED)
        documents, gr, indexed = self._documents(), self._gr, False
        yield {self._index: gr.update(interactive=False)}
        try:
            made = documents.index(user, paths, key, name=name, language=language, remove=gone)
            async with aclosing(made) as stages:
                async for stage in stages:
                    if isinstance(stage, IndexingStage):
                        yield {self._result: _stage_html(stage)}
                        continue
                    choices, indexed = await self.choices(user), True
                    chosen = f"{stage['id']}{corpus.removeprefix(key)}"
                    yield {
                        self._result: _corpus_html(stage),
                        self.corpus: gr.update(choices=choices, value=chosen),
                        self.chosen: chosen,
                        self._gone: gr.update(choices=stage["files"], value=[]),
                        self._files: None,
                        self._name: "",
                    }
        except HopgraphError as error:
            yield {self._result: problem_html(str(error))}
        yield {self._index: gr.update(interactive=True)}
        for path in paths if indexed else ():  # last, as Gradio sends the same files at each step
            path.unlink(missing_ok=True)

    async def _forget(self, request: Request, corpus: str, label: str) -> Updates:
        if label != _CONFIRM:
            return {self._delete: self._gr.update(value=_CONFIRM, variant="stop")}
        user, result = self._user_of(request), "<p>Deleted.</p>"
        try:
            await self._documents().delete(user, corpus.removesuffix(JOINED))
        except HopgraphError as error:
            result = problem_html(str(error))
        choices = await self.choices(user)
        return {self.corpus: self._gr.update(choices=choices, value=""), self.chosen: "", self._result: result}

    async def _choose(self, request: Request, corpus: str) -> Updates:
        own = {each["id"]: each["files"] for each in await self._documents().list_for(self._user_of(request))}
        return {
            self._own: self._gr.update(visible=bool(corpus)),
            self._gone: self._gr.update(choices=own.get(corpus.removesuffix(JOINED), []), value=[]),
            self._delete: self._gr.update(value=_DELETE, variant="secondary"),
        }


def _stage_html(stage: IndexingStage) -> str:
    progress = f' value="{stage.done}" max="{stage.total}"' if stage.total else ""
    return f'<p role="status">{inline_html(stage.name)} … <progress{progress}></progress></p>'


def _corpus_html(corpus: UserCorpus) -> str:
    told = [f"{pluralize(corpus['passages'], 'passage')} indexed"]
    if corpus["skipped"]:
        told.append(f"{pluralize(corpus['skipped'], 'file or record', 'files or records')} could not be used")
    result = "; ".join([*told, *corpus["first_skipped"]])
    return f'<p role="status">“{inline_html(corpus["name"])}”: {inline_html(result)}.</p>'
