"""The panel for choosing the documents that are asked, and for adding one's own."""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from gradio import Request

from hopgraph.state import HopgraphError
from hopgraph.tools.apps.server.index_upload import IndexingStage, UserCorpus
from hopgraph.tools.apps.server.page.document_store import UserDocuments
from hopgraph.tools.apps.server.page.html_text import inline_html, problem_html
from hopgraph.tools.apps.server.uploaded_files import SUFFIXES
from hopgraph.tools.text.languages import list_language_names
from hopgraph.tools.text.sanitize import pluralize

_APP_CORPUS = ("The app's documents", "")
_DELETE, _CONFIRM = "Delete the chosen documents", "Press again to delete them for good"


def corpus_choices(own: Iterable[UserCorpus]) -> list[tuple[str, str]]:
    """Return the labels and ids of the corpora that can be chosen; the app's own first."""
    return [_APP_CORPUS, *((f"{each['name']} ({pluralize(each['passages'], 'passage')})", each["id"]) for each in own)]


class DocumentsPanel:
    """The panel; to be created within Blocks."""

    def __init__(self, gr: Any) -> None:
        self._gr = gr
        self.corpus = gr.Dropdown([_APP_CORPUS], value="", label="Documents", elem_id="hg-corpus")
        with gr.Accordion("Add your own documents", open=False, elem_id="hg-documents"):
            self._files = gr.File(label="Files", file_count="multiple", file_types=list(SUFFIXES), height=140)
            self._name = gr.Textbox(label="What to call them", max_lines=1, max_length=80)
            languages = [(each.capitalize(), each) for each in list_language_names()]
            self._language = gr.Dropdown(languages, value="english", label="Their language", elem_id="hg-language")
            self._index = gr.Button("Index them", variant="primary", size="sm", elem_id="hg-index")
            self._result = gr.HTML(elem_id="hg-indexed")
            self._delete = gr.Button(_DELETE, size="sm", visible=False, elem_id="hg-forget")

    def connect(self, documents: Callable[[], UserDocuments], user_of: Callable[[Request], str]) -> None:
        """Connect the buttons."""
        gr = self._gr

        async def index(
            request: Request, files: Sequence[str] | None, name: str, language: str
        ) -> AsyncGenerator[Mapping[Any, Any]]:
            user, paths = user_of(request), [Path(each) for each in files or ()]
            yield {self._index: gr.update(interactive=False)}
            try:
                async with aclosing(documents().add(user, paths, name, language=language)) as stages:
                    async for stage in stages:
                        if isinstance(stage, IndexingStage):
                            yield {self._result: _stage_html(stage)}
                            continue
                        choices = corpus_choices(await documents().list_for(user))
                        for path in paths:
                            path.unlink(missing_ok=True)
                        chosen = gr.update(choices=choices, value=stage["id"])
                        yield {
                            self._result: _corpus_html(stage),
                            self.corpus: chosen,
                            self._files: None,
                            self._name: "",
                        }
            except HopgraphError as error:
                yield {self._result: problem_html(str(error))}
            yield {self._index: gr.update(interactive=True)}

        async def delete(request: Request, corpus: str, label: str) -> Mapping[Any, Any]:
            if label != _CONFIRM:
                return {self._delete: gr.update(value=_CONFIRM, variant="stop")}
            result = "<p>Deleted.</p>"
            try:
                await documents().delete(user_of(request), corpus)
            except HopgraphError as error:
                result = problem_html(str(error))
            choices = corpus_choices(await documents().list_for(user_of(request)))
            return {self.corpus: gr.update(choices=choices, value=""), self._result: result}

        def choose(corpus: str) -> Any:
            return gr.update(visible=bool(corpus), value=_DELETE, variant="secondary")

        quiet = {"show_progress": "hidden", "api_visibility": "private"}
        filled = [self._index, self._result, self.corpus, self._files, self._name]
        self._index.click(index, [self._files, self._name, self._language], filled, **quiet)
        self._delete.click(delete, [self.corpus, self._delete], [self.corpus, self._result, self._delete], **quiet)
        self.corpus.change(choose, [self.corpus], [self._delete], **quiet)


def _stage_html(stage: IndexingStage) -> str:
    progress = f' value="{stage.done}" max="{stage.total}"' if stage.total else ""
    return f'<p role="status">{inline_html(stage.name)} … <progress{progress}></progress></p>'


def _corpus_html(corpus: UserCorpus) -> str:
    skipped = [f"{pluralize(corpus['skipped'], 'record')} could not be used"] if corpus["skipped"] else []
    result = "; ".join([f"{pluralize(corpus['passages'], 'passage')} indexed", *skipped, *corpus["first_skipped"]])
    return f'<p role="status">“{inline_html(corpus["name"])}”: {inline_html(result)}.</p>'
