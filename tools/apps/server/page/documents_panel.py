"""The panel for choosing the documents that are asked, and for adding, changing and deleting one's own."""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from gradio import Request

from hopgraph.state import HopgraphError
from hopgraph.tools.apps.server.index_upload import IndexingStage, UserCorpus
from hopgraph.tools.apps.server.page.document_store import JOINED, SUFFIXES, UserDocuments, corpus_id
from hopgraph.tools.apps.server.page.html_text import inline_html, problem_html
from hopgraph.tools.text.languages import list_language_names
from hopgraph.tools.text.sanitize import pluralize

_APP_CORPUS = ("The app's documents", "")
_DELETE, _CONFIRM = "Delete the chosen documents", "Press again to delete them for good"
_WHOSE = (
    "<p>Only you can search what you add here. To share documents with everyone, ask the owner of this app to add them"
    " to its own: <code>hopgraph index FILES --out INDEX --add</code></p>"
)
_Updates = Mapping[Any, Any]


def corpus_choices(own: Iterable[UserCorpus]) -> list[tuple[str, str]]:
    """Return the labels and values of what can be asked: the app's documents, then each corpus alone and with them."""
    choices: list[tuple[str, str]] = [_APP_CORPUS]
    for each in own:
        label = f"{each['name']} ({pluralize(each['passages'], 'passage')})"
        choices += [(label, each["id"]), (f"{label} + the app's", f"{each['id']}{JOINED}")]
    return choices


class DocumentsPanel:
    """The panel; to be created within Blocks."""

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
        quiet = {"show_progress": "hidden", "api_visibility": "private"}
        buttons = [self._index, self._extend, self._remove]
        filled = [*buttons, self._result, self.corpus, self.chosen, self._gone, self._files, self._name]
        named = [self._name, self._language]
        self._index.click(self._add, [empty, self._files, none, *named], filled, **quiet)
        self._extend.click(self._add, [self.corpus, self._files, none, *named], filled, **quiet)
        self._remove.click(self._add, [self.corpus, none, self._gone, *named], filled, **quiet)
        self._delete.click(
            self._forget, [self.corpus, self._delete], [self.corpus, self.chosen, self._result, self._delete], **quiet
        )
        self.corpus.input(str, [self.corpus], [self.chosen], trigger_mode="always_last", **quiet)
        self.corpus.change(self._choose, [self.corpus], [self._own, self._gone, self._delete], **quiet)

    async def _add(
        self, request: Request, corpus: str, files: Sequence[str] | None, gone: Sequence[str], name: str, language: str
    ) -> AsyncGenerator[_Updates]:
        """Show how a corpus is made or changed, then choose it, and delete the uploads."""
        user, paths, key = self._user_of(request), [Path(each) for each in files or ()], corpus_id(corpus)
        documents, gr, indexed = self._documents(), self._gr, False
        yield {self._index: gr.update(interactive=False)}
        try:
            made = documents.index(user, paths, key, name=name, language=language, remove=gone)
            async with aclosing(made) as stages:
                async for stage in stages:
                    if isinstance(stage, IndexingStage):
                        yield {self._result: _stage_html(stage)}
                        continue
                    choices, indexed = corpus_choices(await documents.list_for(user)), True
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

    async def _forget(self, request: Request, corpus: str, label: str) -> _Updates:
        if label != _CONFIRM:
            return {self._delete: self._gr.update(value=_CONFIRM, variant="stop")}
        user, result = self._user_of(request), "<p>Deleted.</p>"
        try:
            await self._documents().delete(user, corpus_id(corpus))
        except HopgraphError as error:
            result = problem_html(str(error))
        choices = corpus_choices(await self._documents().list_for(user))
        return {self.corpus: self._gr.update(choices=choices, value=""), self.chosen: "", self._result: result}

    async def _choose(self, request: Request, corpus: str) -> _Updates:
        own = {each["id"]: each["files"] for each in await self._documents().list_for(self._user_of(request))}
        return {
            self._own: self._gr.update(visible=bool(corpus)),
            self._gone: self._gr.update(choices=own.get(corpus_id(corpus), []), value=[]),
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
