"""The page's layout, and what each of its buttons does."""

import contextlib
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gradio import Request
from pydantic import JsonValue

from hopgraph.state import HopgraphError
from hopgraph.tools.apps.server.page.chat_session import ChatSession, View, Wanted
from hopgraph.tools.apps.server.page.conversation_html import conversation_html, picture_html, problem_html
from hopgraph.tools.apps.server.page.documents_panel import connect_documents, corpus_choices, documents_panel
from hopgraph.tools.apps.server.page.html_text import inline_html
from hopgraph.tools.apps.server.page.page_turns import Turn
from hopgraph.tools.apps.server.page.parts import Kept, Middle, Parts, Right
from hopgraph.tools.apps.server.page.review_form import (
    REVIEW_KINDS,
    ReviewRequest,
    answered,
    review_form,
    review_settings,
    reviewed,
)
from hopgraph.tools.apps.server.page.scripts import CLOSE, ON_LOAD, TOGGLE
from hopgraph.tools.apps.server.page.settings_panel import settings_panel
from hopgraph.tools.apps.server.page.threads_panel import thread_choices, threads_panel
from hopgraph.tools.apps.server.page.upload_guard import make_guarded_blocks
from hopgraph.tools.apps.server.server_options import OWNER
from hopgraph.tools.apps.server.service import AUTO, MODEL_NAMES
from hopgraph.tools.io.optional_packages import require


def build_page(chat_session: ChatSession, initial_method: str) -> Any:
    """Make the page.

    Args:
        chat_session: its work; the service is asked for only once the app has started.
        initial_method: the method that is chosen at first.

    Returns:
        Gradio's Blocks.
    """
    gr: Any = require("gradio", "chat")
    page = _Page(gr, chat_session, initial_method)
    with make_guarded_blocks(gr)(title="hopgraph", fill_width=True, analytics_enabled=False) as blocks:
        parts = page.laid_out()
        page.connect(blocks, parts)
    blocks.queue(default_concurrency_limit=None, api_open=False)
    # Only then Gradio looks where a file lies that a browser names; `launch` would set it.
    blocks.has_launched = True
    return blocks


@dataclass(frozen=True)
class _Page:
    gr: Any
    chat_session: ChatSession
    initial_method: str

    def laid_out(self) -> Parts:
        gr = self.gr
        kept = Kept(
            opened=gr.State(""),
            last_opened=gr.BrowserState("", storage_key="hopgraph-thread", secret="not-secret"),  # noqa: S106
            changes=gr.State({}),
            fields=gr.State(_fields(self.initial_method, {})),
            asked=gr.State([]),
        )
        with gr.Row(elem_id="hg-top"):
            gr.HTML("<h1>hopgraph</h1>", padding=False)
            to_left = gr.Button("Conversations", size="sm", elem_classes="hg-toggle", min_width=60)
            to_right = gr.Button("Picture and settings", size="sm", elem_classes="hg-toggle", min_width=60)
        to_left.click(None, js=TOGGLE.format(side="left"))
        to_right.click(None, js=TOGGLE.format(side="right"))
        with gr.Row(elem_id="hg-columns"):
            with gr.Column(elem_id="hg-left", scale=0, min_width=0):
                left = threads_panel()
            with gr.Column(elem_id="hg-middle", min_width=0):
                middle = self._middle()
            with gr.Column(elem_id="hg-right", scale=0, min_width=0):
                right = self._right(kept)
        return Parts(**{**vars(kept), **vars(left), **vars(middle), **vars(right)})

    def _middle(self) -> Middle:
        gr = self.gr
        with gr.Column(elem_id="hg-talk"):
            earlier = gr.HTML(elem_id="hg-earlier", js_on_load=None)
            last = gr.HTML(elem_id="hg-last", js_on_load=ON_LOAD)
            review = gr.Column(elem_id="hg-review")
        with gr.Row(elem_id="hg-ask"):
            box = gr.Textbox(
                label="Your question",
                show_label=False,
                placeholder="Ask a question",
                lines=1,
                max_lines=8,
                scale=1,
                autofocus=True,
                elem_id="hg-box",
            )
            send = gr.Button("Send", variant="primary", scale=0, min_width=80, elem_id="hg-send")
            stop = gr.Button("Stop", variant="stop", scale=0, min_width=80, visible=False, elem_id="hg-stop")
        notice = gr.HTML(elem_id="hg-notice")
        return Middle(notice, earlier, last, review, box, send, stop)

    def _right(self, kept: Kept) -> Right:
        gr = self.gr
        with gr.Column(elem_id="hg-picture-box"):
            picture = gr.HTML(elem_id="hg-picture", js_on_load=None)
        method = gr.Dropdown(list(MODEL_NAMES), value=self.initial_method, label="Method", elem_id="hg-method")
        corpus, files, name, language, index, indexed, forget = documents_panel()
        to_review = gr.CheckboxGroup(list(REVIEW_KINDS), label="Let me review first", elem_id="hg-reviewed")
        with gr.Accordion("Settings", open=False, elem_id="hg-settings"):
            # One after the other, so that the fields of a method come after those of the one before.
            @gr.render(inputs=[kept.fields], triggers=[kept.fields.change], concurrency_limit=1)
            def settings(fields: Mapping[str, Any]) -> None:  # pyright: ignore[reportUnusedFunction]
                given, owner = self.chat_session.service().settings(AUTO, {}), self.chat_session.owner
                with contextlib.suppress(HopgraphError):  # told below the box
                    settings_panel(fields["method"], kept.changes, given, owner=owner, before=fields["changes"])

        return Right(picture, method, to_review, corpus, files, name, language, index, indexed, forget)

    def connect(self, blocks: Any, parts: Parts) -> None:
        everything = [getattr(parts, name) for name in _FILLED]
        quiet = {"show_progress": "hidden", "api_visibility": "private"}

        async def loaded(request: Request, thread: str | None) -> Mapping[Any, Any]:
            shown, wanted = await self._opened(parts, _user(request), thread or "")
            return {**shown, parts.notice: await self._notice(_user(request), wanted)}

        blocks.load(loaded, [parts.last_opened], [*everything, *_chosen(parts), parts.notice], **quiet)
        self._connect_asking(blocks, parts, everything, quiet)
        self._connect_threads(parts, everything, quiet)
        self._connect_review(parts, everything, quiet)
        self._connect_choices(parts, quiet)
        connect_documents(parts, lambda: self.chat_session.documents, _user)

    def _connect_asking(self, blocks: Any, parts: Parts, everything: list[Any], quiet: Mapping[str, str]) -> None:
        asking: dict[str, object] = {}  # by session, a mark of the question that is under way

        async def ask(
            request: Request, thread: str, text: str, method: str, changes: Any, corpus: str, kinds: Sequence[str]
        ) -> AsyncGenerator[Mapping[Any, Any]]:
            if not text.strip():
                yield {parts.box: ""}  # without any, Gradio would empty them all
                return
            wanted = _wanted(method, changes, corpus, kinds)
            session, user, first, mark = _session(request), _user(request), True, object()
            if asking.setdefault(session, mark) is not mark:
                yield {parts.box: self.gr.skip()}  # Enter while a turn runs
                return

            def free() -> None:
                if asking.get(session) is mark:
                    del asking[session]

            try:
                async for view in self.chat_session.ask(session, user, thread, text, wanted):
                    shows = await self._shown(parts, user, view, all_of_it=first or not view.runs)
                    if not view.runs:
                        free()
                    yield {**shows, parts.box: ""} if first and not view.problem else shows
                    first = False
            finally:
                free()

        async def stop(request: Request) -> None:
            self.chat_session.running.stop(_session(request))

        asked = [parts.opened, parts.box, parts.method, parts.changes, parts.corpus, parts.reviewed]
        # Gradio's default drops what comes between an event's last update and its end, without a word.
        filled = [*everything, parts.box]
        self.gr.on([parts.box.submit, parts.send.click], ask, asked, filled, trigger_mode="multiple", **quiet)
        parts.stop.click(stop, None, None, **quiet)
        blocks.unload(stop)

    def _connect_threads(self, parts: Parts, everything: list[Any], quiet: Mapping[str, str]) -> None:
        gr = self.gr

        async def choose(request: Request, thread: str | None) -> Mapping[Any, Any]:
            shown, _ = await self._opened(parts, _user(request), thread or "")
            if shown[parts.opened] == thread:
                del shown[parts.threads]["value"]  # another may be chosen by now
            return shown

        async def new(request: Request) -> Mapping[Any, Any]:
            return await self._shown(parts, _user(request), View("", []))

        async def rename(request: Request, thread: str, title: str) -> Mapping[Any, Any]:
            user = _user(request)
            with contextlib.suppress(HopgraphError):  # deleted meanwhile, in another tab
                await self.chat_session.service().threads.rename(user, thread, title)
            return await self._shown(parts, user, await self.chat_session.open(user, thread))

        async def delete(request: Request, thread: str) -> Mapping[Any, Any]:
            user, view = _user(request), View("", [])
            try:
                await self.chat_session.delete(user, thread)
            except HopgraphError as error:
                view = replace(await self.chat_session.open(user, thread), problem=str(error))
            return await self._shown(parts, user, view)

        parts.new.click(new, None, everything, **quiet)
        gr.on([parts.new.click, parts.threads.input], None, js=CLOSE)
        opened = [*everything, *_chosen(parts)]
        parts.threads.input(choose, [parts.threads], opened, trigger_mode="always_last", **quiet)
        gr.on([parts.rename.click, parts.title.submit], rename, [parts.opened, parts.title], everything, **quiet)
        parts.delete.click(lambda: gr.update(visible=True), None, [parts.sure], **quiet)
        parts.keep_it.click(lambda: gr.update(visible=False), None, [parts.sure], **quiet)
        parts.delete_it.click(delete, [parts.opened], everything, **quiet)

    def _connect_review(self, parts: Parts, everything: list[Any], quiet: Mapping[str, str]) -> None:
        gr = self.gr
        with parts.review:
            # Not when the page is loaded, too, which would make the form anew over what is entered.
            @gr.render(inputs=[parts.asked], triggers=[parts.asked.change])
            def form(asked: Sequence[ReviewRequest]) -> None:  # pyright: ignore[reportUnusedFunction]
                def answer(button: Any, inputs: list[Any], make: Callable[..., Mapping[str, Any]]) -> None:
                    async def go_on(
                        request: Request, thread: str, asked: Sequence[ReviewRequest], *values: Any
                    ) -> AsyncGenerator[Mapping[Any, Any]]:
                        user, first = _user(request), True
                        said = answered(asked, make(*values))
                        async for view in self.chat_session.review(_session(request), user, thread, said):
                            yield await self._shown(parts, user, view, all_of_it=first or not view.runs)
                            first = False

                    button.click(go_on, [parts.opened, parts.asked, *inputs], everything, **quiet)

                review_form(asked, answer)

    def _connect_choices(self, parts: Parts, quiet: Mapping[str, str]) -> None:
        async def about(request: Request, method: str, changes: Any, corpus: str, kinds: Sequence[str]) -> str:
            return await self._notice(_user(request), _wanted(method, changes, corpus, kinds))

        asked_with = [parts.method, parts.changes, parts.corpus, parts.reviewed]

        def other(method: str, fields: Mapping[str, Any]) -> Mapping[Any, Any]:
            if method == fields["method"]:
                return {parts.fields: fields}
            # Methods have different settings, so none of the changes is kept.
            return {parts.changes: {}, parts.fields: _fields(method, {})}

        # Gradio tells of one choice twice: side by side both would have the fields made anew, over what is entered.
        asked = [parts.method, parts.fields], [parts.changes, parts.fields]
        parts.method.input(other, *asked, concurrency_limit=1, trigger_mode="always_last", **quiet)
        self.gr.on([each.change for each in asked_with], about, asked_with, [parts.notice], **quiet)

    async def _notice(self, user: str, wanted: Wanted) -> str:
        line, stand_in = await self.chat_session.about(user, wanted)
        changed = f" · changed: {', '.join(wanted.changes)}" if wanted.changes else ""
        return f"<p>{inline_html(line + changed)}</p>" + (f"<p>{inline_html(stand_in)}</p>" if stand_in else "")

    async def _opened(self, parts: Parts, user: str, thread: str) -> tuple[dict[Any, Any], Wanted]:
        """Say what is to stand on the page for a thread, and with what its last question was asked."""
        view = await self.chat_session.open(user, thread)
        last = view.turns[-1] if view.turns else Turn("", method=self.initial_method)
        choices = corpus_choices(await self.chat_session.documents.list_for(user))
        corpus = last.corpus if last.corpus in [key for _, key in choices] else ""
        method = last.method if last.method in MODEL_NAMES else AUTO
        wanted = Wanted(method, self.chat_session.offered(method, last.changes), corpus)
        kinds = reviewed(last.changes)
        return {
            **await self._shown(parts, user, view),
            parts.method: wanted.method,
            parts.changes: wanted.changes,
            parts.fields: _fields(wanted.method, wanted.changes, uuid.uuid4().hex),
            parts.reviewed: kinds,
            parts.corpus: self.gr.update(choices=choices, value=corpus),
        }, replace(wanted, changes={**wanted.changes, **review_settings(kinds)})

    async def _shown(self, parts: Parts, user: str, view: View, *, all_of_it: bool = True) -> Mapping[Any, Any]:
        """Say what is to stand on the page; while a turn runs only the turn and its picture."""
        gr, last = self.gr, view.turns[-1:]
        html = conversation_html(last, welcome=not view.problem) + problem_html(view.problem)
        changing = {parts.last: html, parts.picture: picture_html(last[0] if last else None)}
        if not all_of_it:
            return changing
        threads = thread_choices(await self.chat_session.service().threads.list_for(user))
        titles = {key: title for title, key in threads}
        return {
            **changing,
            parts.earlier: conversation_html(view.turns[:-1]),
            parts.opened: view.thread,
            parts.last_opened: view.thread,
            parts.asked: list(view.asked),
            parts.threads: gr.update(choices=threads, value=view.thread or None, interactive=not view.runs),
            parts.new: gr.update(interactive=not view.runs),
            parts.manage: gr.update(visible=bool(view.thread) and not view.runs),
            parts.title: titles.get(view.thread, ""),
            parts.sure: gr.update(visible=False),
            parts.send: gr.update(visible=not view.runs),
            parts.stop: gr.update(visible=view.runs),
        }


_FILLED = (
    "earlier",
    "last",
    "picture",
    "opened",
    "last_opened",
    "asked",
    "threads",
    "new",
    "manage",
    "title",
    "sure",
    "send",
    "stop",
)
"""The parts that `_Page._shown` fills."""


def _chosen(parts: Parts) -> list[Any]:
    """List the parts that `_Page._opened` fills besides."""
    return [parts.method, parts.changes, parts.fields, parts.reviewed, parts.corpus]


def _fields(method: str, changes: Mapping[str, JsonValue], mark: str = "") -> dict[str, Any]:
    """Say what the fields of the settings are to be made for; they are made anew where this is another value."""
    return {"method": method, "changes": dict(changes), "mark": mark}


def _wanted(method: str, changes: Mapping[str, JsonValue], corpus: str, kinds: Sequence[str]) -> Wanted:
    return Wanted(method, {**changes, **review_settings(kinds)}, corpus or "")


def _user(request: Request) -> str:
    return request.username or OWNER


def _session(request: Request) -> str:
    return request.session_hash or ""
