"""Which documents are asked, and adding one's own."""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from gradio import Request

from hopgraph.state import HopgraphError
from hopgraph.tools.apps.server.page.document_store import IndexingStage, UserCorpus, UserDocuments
from hopgraph.tools.apps.server.page.html_text import inline_html
from hopgraph.tools.apps.server.page.parts import Parts
from hopgraph.tools.apps.server.page.uploaded_files import SUFFIXES
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.text.languages import list_language_names
from hopgraph.tools.text.sanitize import pluralize

_APPS = ("The app's documents", "")
_DELETE, _SURE = "Delete the chosen documents", "Press again to delete them for good"


def documents_panel() -> tuple[Any, Any, Any, Any, Any, Any, Any]:
    """Make the panel; the parts in the order in which `Right` names them."""
    gr: Any = require("gradio", "chat")
    corpus = gr.Dropdown([_APPS], value="", label="Documents", elem_id="hg-corpus")
    with gr.Accordion("Add your own documents", open=False, elem_id="hg-documents"):
        files = gr.File(label="Files", file_count="multiple", file_types=list(SUFFIXES), height=140)
        name = gr.Textbox(label="What to call them", max_lines=1, max_length=80)
        languages = [(each.capitalize(), each) for each in list_language_names()]
        language = gr.Dropdown(languages, value="english", label="Their language", elem_id="hg-language")
        index = gr.Button("Index them", variant="primary", size="sm", elem_id="hg-index")
        indexed = gr.HTML(elem_id="hg-indexed")
        forget = gr.Button(_DELETE, size="sm", visible=False, elem_id="hg-forget")
    return corpus, files, name, language, index, indexed, forget


def corpus_choices(own: Iterable[UserCorpus]) -> list[tuple[str, str]]:
    """Name the corpora that can be chosen, with their ids; the app's own first."""
    return [_APPS, *((f"{each['name']} ({pluralize(each['passages'], 'passage')})", each["id"]) for each in own)]


def connect_documents(parts: Parts, documents: Callable[[], UserDocuments], user_of: Callable[[Request], str]) -> None:
    """Let the panel's buttons do their work."""
    gr: Any = require("gradio", "chat")

    async def index(
        request: Request, files: Sequence[str] | None, name: str, language: str
    ) -> AsyncGenerator[Mapping[Any, Any]]:
        user, paths = user_of(request), [Path(each) for each in files or ()]
        yield {parts.index: gr.update(interactive=False)}
        try:
            async with aclosing(documents().add(user, paths, name, language=language)) as stages:
                async for told in stages:
                    if isinstance(told, IndexingStage):
                        yield {parts.indexed: _stage_html(told)}
                        continue
                    choices = corpus_choices(await documents().list_for(user))
                    for path in paths:
                        path.unlink(missing_ok=True)
                    yield {
                        parts.indexed: _corpus_html(told),
                        parts.corpus: gr.update(choices=choices, value=told["id"]),
                        parts.files: None,
                        parts.name: "",
                    }
        except HopgraphError as error:
            yield {parts.indexed: f'<p class="hg-problem" role="alert">{inline_html(str(error))}</p>'}
        yield {parts.index: gr.update(interactive=True)}

    async def forget(request: Request, corpus: str, label: str) -> Mapping[Any, Any]:
        if label != _SURE:
            return {parts.forget: gr.update(value=_SURE, variant="stop")}
        said = "<p>Deleted.</p>"
        try:
            await documents().delete(user_of(request), corpus)
        except HopgraphError as error:
            said = f'<p class="hg-problem" role="alert">{inline_html(str(error))}</p>'
        choices = corpus_choices(await documents().list_for(user_of(request)))
        return {parts.corpus: gr.update(choices=choices, value=""), parts.indexed: said}

    def chosen(corpus: str) -> Any:
        return gr.update(visible=bool(corpus), value=_DELETE, variant="secondary")

    quiet = {"show_progress": "hidden", "api_visibility": "private"}
    filled = [parts.index, parts.indexed, parts.corpus, parts.files, parts.name]
    parts.index.click(index, [parts.files, parts.name, parts.language], filled, **quiet)
    parts.forget.click(forget, [parts.corpus, parts.forget], [parts.corpus, parts.indexed, parts.forget], **quiet)
    parts.corpus.change(chosen, [parts.corpus], [parts.forget], **quiet)


def _stage_html(stage: IndexingStage) -> str:
    known = f' value="{stage.done}" max="{stage.total}"' if stage.total else ""
    return f'<p role="status">{inline_html(stage.name)} … <progress{known}></progress></p>'


def _corpus_html(corpus: UserCorpus) -> str:
    skipped = [f"{pluralize(corpus['skipped'], 'record')} could not be used"] if corpus["skipped"] else []
    told = "; ".join([f"{pluralize(corpus['passages'], 'passage')} indexed", *skipped, *corpus["first_skipped"]])
    return f'<p role="status">“{inline_html(corpus["name"])}”: {inline_html(told)}.</p>'
