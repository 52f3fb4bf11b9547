"""The panel in which users select documents, and add, change and delete their own."""

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from html import escape
from pathlib import Path
from typing import Any, cast

from gradio import Request

from hopgraph.state import HopgraphError, SettingsError
from hopgraph.tools.apps.server.index_upload import IndexingStage, UserCorpus
from hopgraph.tools.apps.server.page.chat_session import ChatSession
from hopgraph.tools.apps.server.page.document_store import JOINED, SET, UPLOAD_SUFFIXES
from hopgraph.tools.apps.server.page.html_text import inline_html, problem_html
from hopgraph.tools.apps.server.page.texts import ENGLISH, Texts, read_asset, texts_for
from hopgraph.tools.apps.server.server_options import OWNER
from hopgraph.tools.text.languages import list_language_names

Updates = Mapping[Any, Any]  # component → its new value, or a `gr.update`
QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
UploadOf = Callable[[str, str], Path]
"""(user, upload name) → path; a SettingsError for another user's upload."""


def page_user(request: Request) -> str:
    """Return the user who sent a request of the page."""
    return request.username or OWNER


def page_texts(request: Request) -> Texts:
    """Return the page's texts in the language of a request's browser."""
    return texts_for(cast("Any", request.headers).get("accept-language", ""))


class DocumentsPanel:
    """The panel; create it within Blocks."""

    def __init__(self, gr: Any, t: Any, max_bytes: int, upload_of: UploadOf) -> None:
        self._gr, self._upload_of = gr, upload_of
        self.corpus = gr.Dropdown([(ENGLISH("app_documents"), "")], value="", label=t("documents"), elem_id="hg-corpus")
        self.chosen = gr.State("")  # the server's copy of its value
        with gr.Accordion(t("add_documents"), open=False, elem_id="hg-documents"):
            zone = (
                f'<div class="hg-drop" data-kinds="{escape(" ".join(UPLOAD_SUFFIXES))}" data-most="{max_bytes}"></div>'
            )
            # Its value is the names of the uploads, as JSON; set to empty, it clears the list.
            self._files = gr.HTML(
                "", html_template=zone, js_on_load=read_asset("uploads.js"), elem_id="hg-files", preserved_by_key=None
            )
            self._name = gr.Textbox(label=t("name_them"), max_lines=1, max_length=80)
            languages = [(each.capitalize(), each) for each in list_language_names()]
            self._language = gr.Dropdown(languages, value="english", label=t("their_language"), elem_id="hg-language")
            self._index = gr.Button(t("index_them"), variant="primary", size="sm", elem_id="hg-index")
            with gr.Column(visible=False) as self._own:
                self._extend = gr.Button(t("add_to_chosen"), size="sm", elem_id="hg-extend")
                self._gone = gr.Dropdown([], multiselect=True, label=t("files_to_remove"), elem_id="hg-gone")
                self._remove = gr.Button(t("remove_files"), size="sm", elem_id="hg-remove")
                self._delete = gr.Button(t("delete_documents"), size="sm", elem_id="hg-forget")
                self._deletes = gr.State(False)  # whether the next press deletes
            self._result = gr.HTML(elem_id="hg-indexed")
            self.whose = gr.HTML()

    def connect(self, session: ChatSession) -> None:
        """Connect the buttons."""
        self._session = session
        empty, none = self._gr.State(""), self._gr.State([])
        buttons = [self._index, self._extend, self._remove]
        filled = [*buttons, self._result, self.corpus, self.chosen, self._gone, self._files, self._name]
        named = [self._name, self._language]
        self._index.click(self._add, [empty, self._files, none, *named], filled, **QUIET)
        self._extend.click(self._add, [self.corpus, self._files, none, *named], filled, **QUIET)
        self._remove.click(self._add, [self.corpus, empty, self._gone, *named], filled, **QUIET)
        forgotten = [self.corpus, self.chosen, self._result, self._delete, self._deletes]
        self._delete.click(self._forget, [self.corpus, self._deletes], forgotten, **QUIET)
        self.corpus.input(str, [self.corpus], [self.chosen], trigger_mode="always_last", **QUIET)
        self.corpus.change(self._choose, [self.corpus], [self._own, self._gone, self._delete, self._deletes], **QUIET)

    async def choices(self, user: str, t: Texts) -> list[tuple[str, str]]:
        """Return labels and values of what can be searched: the app's, then each corpus alone and with the app's."""
        sets = await self._session.service().documents.names_for(user)
        choices = [(t("app_documents"), ""), *((name, f"{SET}{name}") for name in sets if len(sets) > 1)]
        for each in await self._session.documents.list_for(user):
            label = f"{each['name']} ({t.count('passages', each['passages'])})"
            choices += [(label, each["id"]), (t("and_app_documents", name=label), f"{each['id']}{JOINED}")]
        return choices

    async def _add(
        self, request: Request, corpus: str, files: str | None, gone: Sequence[str], name: str, language: str
    ) -> AsyncGenerator[Updates]:
        """Create or change a corpus, showing the progress; then select it and delete the uploads."""
        user, t, key, gr = page_user(request), page_texts(request), corpus.removesuffix(JOINED), self._gr
        yield {self._index: gr.update(interactive=False)}
        indexed, paths, read = False, list[Path](), _FilesRead(t)
        try:
            paths = [self._upload_of(user, each) for each in _names_of(files)]
            if not paths and not gone:
                raise SettingsError(t("no_files"))
            made = self._session.documents.index(user, paths, key, name=name, language=language, remove=gone)
            async with aclosing(made) as stages:
                async for stage in stages:
                    if isinstance(stage, IndexingStage):
                        yield {self._result: read.html(stage)}
                        continue
                    choices, indexed = await self.choices(user, t), True
                    chosen = f"{stage['id']}{corpus.removeprefix(key)}"
                    yield {
                        self._result: read.html() + _corpus_html(stage, t),
                        self.corpus: gr.update(choices=choices, value=chosen),
                        self.chosen: chosen,
                        self._gone: gr.update(choices=stage["files"], value=[]),
                        self._files: "",
                        self._name: "",
                    }
        except HopgraphError as error:
            yield {self._result: read.html() + problem_html(t.problem(str(error)))}
        yield {self._index: gr.update(interactive=True)}
        for path in paths if indexed else ():
            path.unlink(missing_ok=True)

    async def _forget(self, request: Request, corpus: str, deletes: bool) -> Updates:
        t = page_texts(request)
        if not deletes:
            return {self._delete: self._gr.update(value=t("press_again"), variant="stop"), self._deletes: True}
        user, result = page_user(request), f"<p>{escape(t('deleted'))}</p>"
        try:
            await self._session.documents.delete(user, corpus.removesuffix(JOINED))
        except HopgraphError as error:
            result = problem_html(t.problem(str(error)))
        choices = await self.choices(user, t)
        return {self.corpus: self._gr.update(choices=choices, value=""), self.chosen: "", self._result: result}

    async def _choose(self, request: Request, corpus: str) -> Updates:
        own = {each["id"]: each["files"] for each in await self._session.documents.list_for(page_user(request))}
        label = page_texts(request)("delete_documents")
        return {
            self._own: self._gr.update(visible=bool(corpus) and not corpus.startswith(SET)),
            self._gone: self._gr.update(choices=own.get(corpus.removesuffix(JOINED), []), value=[]),
            self._delete: self._gr.update(value=label, variant="secondary"),
            self._deletes: False,
        }


def _names_of(files: str | None) -> list[str]:
    try:
        names = json.loads(files or "[]")
    except (TypeError, ValueError):
        names = None
    if not isinstance(names, list):
        raise SettingsError("the list of uploaded files cannot be read; reload the page")
    return [str(each) for each in cast("list[object]", names)]


class _FilesRead:
    """The files of an upload, each on its own line with its progress or its result."""

    def __init__(self, t: Texts) -> None:
        self._t, self._lines = t, dict[str, str]()

    def html(self, stage: IndexingStage | None = None) -> str:
        """Draw the lines, updated for a stage, with the stage's own progress below."""
        t = self._t
        if stage and stage.file:
            said, state = f'{escape(t("stage_reading"))} <progress aria-label="{escape(stage.file)}"></progress>', ""
            if stage.problem:
                said, state = inline_html(t.problem(stage.problem.removeprefix(f"{stage.file}: "))), ' class="hg-bad"'
            elif stage.passages is not None:
                said = escape(t.count("passages", stage.passages))
            self._lines[stage.file] = f"<li{state}><b>{inline_html(stage.file)}</b> <span>{said}</span></li>"
        lines = f'<ul class="hg-file-list">{"".join(self._lines.values())}</ul>' if self._lines else ""
        return lines + (_stage_html(stage, t) if stage and not stage.problem else "")


def _stage_html(stage: IndexingStage, t: Texts) -> str:
    progress = f' value="{stage.done}" max="{stage.total}"' if stage.total else ""
    name = escape(t(f"stage_{stage.name}"))
    return f'<p role="status">{name} … <progress aria-label="{name}"{progress}></progress></p>'


def _corpus_html(corpus: UserCorpus, t: Texts) -> str:
    told = [t("indexed", name=corpus["name"], passages=t.count("passages", corpus["passages"]))]
    if corpus["skipped"]:
        told.append(t.count("skipped", corpus["skipped"]))
    return f'<p role="status">{inline_html("; ".join([*told, *map(t.problem, corpus["first_skipped"])]))}.</p>'
