"""The page's layout, and what each of its buttons does."""

import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gradio import Request
from pydantic import JsonValue

from hopgraph.state import HopgraphError
from hopgraph.tools.loading.errors import require
from hopgraph.tools.serving.options import OWNER
from hopgraph.tools.serving.page.conversation import conversation_html, picture_html, problem_html
from hopgraph.tools.serving.page.documents_panel import connect_documents, corpus_choices, documents_panel
from hopgraph.tools.serving.page.parts import Kept, Middle, Parts, Right
from hopgraph.tools.serving.page.reviewing import KINDS, Asked, answered, review_form, review_settings
from hopgraph.tools.serving.page.scripts import CLOSE, REMEMBER_FOLDS, TOGGLE
from hopgraph.tools.serving.page.settings_panel import settings_panel
from hopgraph.tools.serving.page.talking import Talking, View, Wanted
from hopgraph.tools.serving.page.text import shown
from hopgraph.tools.serving.page.threads_panel import thread_choices, threads_panel
from hopgraph.tools.serving.service import AUTO, OFFERED, Service

_UPLOADS = (600, 3600)
"""Seconds: how often the rest of uploads is looked for, and after how long it is removed."""


def build_page(service: Callable[[], Service]) -> Any:
    """Make the page.

    Args:
        service: gives the open service; asked only once the app has started.

    Returns:
        Gradio's Blocks.
    """
    gr: Any = require("gradio", "chat")
    page = _Page(gr, Talking(service))
    with gr.Blocks(title="hopgraph", fill_width=True, analytics_enabled=False, delete_cache=_UPLOADS) as blocks:
        parts = page.laid_out()
        page.connect(blocks, parts)
    blocks.queue(default_concurrency_limit=None, api_open=False)
    return blocks


@dataclass(frozen=True)
class _Page:
    gr: Any
    talking: Talking

    def laid_out(self) -> Parts:
        gr = self.gr
        kept = Kept(
            opened=gr.State(""),
            last_opened=gr.BrowserState("", storage_key="hopgraph-thread", secret="not-secret"),  # noqa: S106
            changes=gr.State({}),
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
                right = self._right(kept.changes)
        return Parts(**{**vars(kept), **vars(left), **vars(middle), **vars(right)})

    def _middle(self) -> Middle:
        gr = self.gr
        with gr.Column(elem_id="hg-talk"):
            earlier = gr.HTML(elem_id="hg-earlier", js_on_load=None)
            last = gr.HTML(elem_id="hg-last", autoscroll=True, js_on_load=REMEMBER_FOLDS)
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

    def _right(self, changes: Any) -> Right:
        gr = self.gr
        with gr.Column(elem_id="hg-picture-box"):
            picture = gr.HTML(elem_id="hg-picture", js_on_load=None)
        method = gr.Dropdown(list(OFFERED), value=AUTO, label="Method", elem_id="hg-method")
        corpus, files, name, index, indexed, forget = documents_panel()
        reviewed = gr.CheckboxGroup(list(KINDS), label="Let me review first", elem_id="hg-reviewed")
        with gr.Accordion("Settings", open=False, elem_id="hg-settings"):

            @gr.render(inputs=[method])
            def settings(name: str) -> None:  # pyright: ignore[reportUnusedFunction]
                settings_panel(name, changes, self.talking.service().settings(AUTO, {}), owner=self.talking.owner)

        return Right(picture, method, reviewed, corpus, files, name, index, indexed, forget)

    def connect(self, blocks: Any, parts: Parts) -> None:
        gr = self.gr
        everything = [getattr(parts, name) for name in _FILLED]
        asking = [parts.opened, parts.box, parts.method, parts.changes, parts.corpus, parts.reviewed]

        async def ask(
            request: Request, thread: str, text: str, method: str, changes: Any, corpus: str, kinds: Sequence[str]
        ) -> AsyncGenerator[Mapping[Any, Any]]:
            if not text.strip():
                return
            wanted = _wanted(method, changes, corpus, kinds)
            user, first = _user(request), True
            async for view in self.talking.ask(_session(request), user, thread, text, wanted):
                shows = await self._shown(parts, user, view, all_of_it=first or not view.runs)
                yield {**shows, parts.box: ""} if first and not view.problem else shows
                first = False

        async def open_thread(request: Request, thread: str | None) -> Mapping[Any, Any]:
            user = _user(request)
            return await self._shown(parts, user, await self.talking.open(user, thread or ""))

        async def loaded(request: Request, thread: str | None) -> Mapping[Any, Any]:
            user = _user(request)
            return {
                **await open_thread(request, thread),
                parts.notice: await self._notice(user, Wanted()),
                parts.corpus: gr.update(choices=corpus_choices(await self.talking.documents.of(user)), value=""),
            }

        async def new(request: Request) -> Mapping[Any, Any]:
            return await self._shown(parts, _user(request), View("", []))

        async def stop(request: Request) -> None:
            self.talking.running.stop(_session(request))

        async def rename(request: Request, thread: str, title: str) -> Mapping[Any, Any]:
            with contextlib.suppress(HopgraphError):  # deleted meanwhile, in another tab
                await self.talking.service().threads.rename(_user(request), thread, title)
            return await open_thread(request, thread)

        async def delete(request: Request, thread: str) -> Mapping[Any, Any]:
            await self.talking.delete(_user(request), thread)
            return await new(request)

        quiet = {"show_progress": "hidden", "api_visibility": "private"}
        gr.on([parts.box.submit, parts.send.click], ask, asking, [*everything, parts.box], **quiet)
        parts.stop.click(stop, None, None, **quiet)
        parts.new.click(new, None, everything, **quiet)
        gr.on([parts.new.click, parts.threads.input], None, js=CLOSE)
        parts.threads.input(open_thread, [parts.threads], everything, **quiet)
        gr.on([parts.rename.click, parts.title.submit], rename, [parts.opened, parts.title], everything, **quiet)
        parts.delete.click(lambda: gr.update(visible=True), None, [parts.sure], **quiet)
        parts.keep_it.click(lambda: gr.update(visible=False), None, [parts.sure], **quiet)
        parts.delete_it.click(delete, [parts.opened], everything, **quiet)
        blocks.load(loaded, [parts.last_opened], [*everything, parts.notice, parts.corpus], **quiet)
        blocks.unload(stop)
        self._connect_review(parts, everything, quiet)
        self._connect_choices(parts, quiet)
        connect_documents(parts, lambda: self.talking.documents, _user)

    def _connect_review(self, parts: Parts, everything: list[Any], quiet: Mapping[str, str]) -> None:
        gr = self.gr
        with parts.review:

            @gr.render(inputs=[parts.asked])
            def form(asked: Sequence[Asked]) -> None:  # pyright: ignore[reportUnusedFunction]
                def answer(button: Any, inputs: list[Any], make: Callable[..., Mapping[str, Any]]) -> None:
                    async def go_on(
                        request: Request, thread: str, asked: Sequence[Asked], *values: Any
                    ) -> AsyncGenerator[Mapping[Any, Any]]:
                        user, first = _user(request), True
                        said = answered(asked, make(*values))
                        async for view in self.talking.review(_session(request), user, thread, said):
                            yield await self._shown(parts, user, view, all_of_it=first or not view.runs)
                            first = False

                    button.click(go_on, [parts.opened, parts.asked, *inputs], everything, **quiet)

                review_form(asked, answer)

    def _connect_choices(self, parts: Parts, quiet: Mapping[str, str]) -> None:
        async def about(request: Request, method: str, changes: Any, corpus: str, kinds: Sequence[str]) -> str:
            return await self._notice(_user(request), _wanted(method, changes, corpus, kinds))

        asked_with = [parts.method, parts.changes, parts.corpus, parts.reviewed]
        parts.method.input(dict, None, [parts.changes], **quiet)
        self.gr.on([each.change for each in asked_with], about, asked_with, [parts.notice], **quiet)

    async def _notice(self, user: str, wanted: Wanted) -> str:
        line, stand_in = await self.talking.about(user, wanted)
        changed = f" · changed: {', '.join(wanted.changes)}" if wanted.changes else ""
        return f"<p>{shown(line + changed)}</p>" + (f"<p>{shown(stand_in)}</p>" if stand_in else "")

    async def _shown(self, parts: Parts, user: str, view: View, *, all_of_it: bool = True) -> Mapping[Any, Any]:
        """Say what is to stand on the page; while a turn runs only the turn and its picture."""
        gr, last = self.gr, view.turns[-1:]
        html = conversation_html(last, welcome=not view.problem) + problem_html(view.problem)
        changing = {parts.last: html, parts.picture: picture_html(last[0] if last else None)}
        if not all_of_it:
            return changing
        threads = thread_choices(await self.talking.service().threads.of(user))
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


def _wanted(method: str, changes: Mapping[str, JsonValue], corpus: str, kinds: Sequence[str]) -> Wanted:
    return Wanted(method, {**changes, **review_settings(kinds)}, corpus or "")


def _user(request: Request) -> str:
    return request.username or OWNER


def _session(request: Request) -> str:
    return request.session_hash or ""
