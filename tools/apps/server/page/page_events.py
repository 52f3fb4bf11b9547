"""The page's event handlers."""

import contextlib
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from gradio import EventData, Request
from pydantic import JsonValue

from hopgraph.state import HopgraphError
from hopgraph.state.chat import AUTO
from hopgraph.tools.apps.server.page.chat_session import ChatSession
from hopgraph.tools.apps.server.page.conversation_html import View, conversation_html, picture_html
from hopgraph.tools.apps.server.page.documents_panel import QUIET, Updates, page_texts, page_user
from hopgraph.tools.apps.server.page.html_text import inline_html, problem_html
from hopgraph.tools.apps.server.page.login import account_html
from hopgraph.tools.apps.server.page.page_components import PageComponents, operator_html, settings_fields
from hopgraph.tools.apps.server.page.page_turns import LiveTurn, PageTurn, ThreadView, TurnOptions
from hopgraph.tools.apps.server.page.review_form import REVIEW_SETTINGS, ReviewRequest, answer_next, review_form
from hopgraph.tools.apps.server.page.settings_panel import settings_panel
from hopgraph.tools.apps.server.page.upload_guard import find_upload, make_guarded_blocks
from hopgraph.tools.apps.server.server_options import ServingOptions
from hopgraph.tools.apps.server.service import model_names
from hopgraph.tools.apps.server.turn import error_line
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.text.sanitize import sanitize_line


def build_page(
    session: ChatSession, options: ServingOptions, i18n: Any, folder: Path, uploads: Mapping[str, set[str]]
) -> Any:
    """Return the page as Gradio Blocks; its session's service is used only once the app has started.

    `uploads` has the names of each user's uploads in `folder`.
    """
    gr: Any = require("gradio", "chat")

    def upload_of(user: str, name: str) -> Path:
        return find_upload(name, folder, uploads.get(user, ()))

    with make_guarded_blocks(gr, uploads)(title=options.title, fill_width=True, analytics_enabled=False) as blocks:
        _PageEvents(session, PageComponents(gr, options, i18n, upload_of), options).connect(blocks)
    blocks.queue(default_concurrency_limit=None, api_open=False)
    # Otherwise Gradio does not check the location of a file that a browser names; `launch` would set it.
    blocks.has_launched = True
    return blocks


class _PageEvents:
    def __init__(self, session: ChatSession, parts: PageComponents, options: ServingOptions) -> None:
        self.session, self.parts, self.initial_method = session, parts, options.chat_settings.use_method
        self.examples, self.gr = options.example_questions, parts.gr
        self.welcome = operator_html(options.welcome) if options.welcome else ""
        self.logout_url = options.logout_url
        self.asking = set[tuple[str, str]]()  # (tab, thread) with a running question
        self.following = dict[str, object]()  # tab → the event that shows a turn there: the latest
        # The final update of an event whose conversation is no longer shown: when an event ends, Gradio applies its
        # last update again, or clears all components if there was none. It is never sent after an update to be shown,
        # since Gradio may apply only the second of two that arrive together.
        self.nothing: dict[Any, Any] = {parts.last: self.gr.skip()}

    def connect(self, blocks: Any) -> None:
        gr, parts = self.gr, self.parts
        view, opened = parts.view, [*parts.view, *parts.restored, parts.notice]
        blocks.load(self.load, [parts.last_opened], opened, **QUIET)
        blocks.load(self.account, None, [parts.account], **QUIET)
        # Gradio's other trigger modes drop events that arrive while another one ends, or their data.
        queued: dict[str, Any] = {"trigger_mode": "multiple", **QUIET}
        triggers, inputs = [parts.box.submit, parts.send.click], [parts.opened, parts.box, *parts.options]
        gr.on(triggers, self.ask, inputs, [*view, parts.box], **queued)
        parts.last.edit(self.edit, [parts.opened, *parts.options], [*view, parts.box], **queued)
        parts.stop.click(self.stop, [parts.opened], None, **QUIET)
        parts.last.submit(self.resume, [parts.opened], view, **QUIET)
        parts.last.like(self.rate, [parts.opened], None, concurrency_limit=1, **queued)  # the latest comes last
        parts.new.click(self.new, None, view, **QUIET)
        parts.last.select(self.go, None, opened, **queued)
        parts.threads.input(self.choose, [parts.threads], opened, **queued)
        gr.on([parts.rename.click, parts.title.submit], self.rename, [parts.opened, parts.title], view, **QUIET)
        parts.delete.click(lambda: gr.update(visible=True), None, [parts.confirmation], **QUIET)
        parts.keep_it.click(lambda: gr.update(visible=False), None, [parts.confirmation], **QUIET)
        parts.delete_it.click(self.delete, [parts.opened], view, **QUIET)
        blocks.unload(self.forget)
        self._connect_review()
        self._connect_options()
        parts.documents.connect(self.session)

    async def load(self, request: Request, thread: str | None) -> AsyncGenerator[Updates]:
        """Open the conversation in the URL, else the one that was open last."""
        named: str = cast("Any", request.query_params).get("conversation", "")
        async for updates in self._open(request, named or thread or ""):
            yield updates

    async def go(self, request: Request, told: EventData) -> AsyncGenerator[Updates]:
        """Open the conversation in the URL that the browser has gone back to."""
        thread, asked = str(getattr(told, "thread", "")), getattr(told, "asked", 0)
        async for updates in self._open(request, thread, asked if isinstance(asked, int) else 0):
            yield updates

    def account(self, request: Request) -> str:
        if self.session.is_owner:
            return ""
        cookies = cast("Mapping[str, str]", request.cookies)
        return account_html(page_user(request), cookies, page_texts(request), self.logout_url)

    async def choose(self, request: Request, thread: str | None) -> AsyncGenerator[Updates]:
        async for updates in self._open(request, thread or ""):
            if updates.get(self.parts.opened) == (thread or ""):
                del updates[self.parts.threads]["value"]  # another may be chosen by now
            yield updates

    async def edit(self, request: Request, told: EventData, thread: str, *chosen: Any) -> AsyncGenerator[Updates]:
        text, turn = str(getattr(told, "text", "")), str(getattr(told, "turn", ""))
        async with contextlib.aclosing(self.ask(request, thread, text, *chosen, edited=turn)) as updates:
            async for each in updates:
                yield each

    async def ask(
        self, request: Request, thread: str, text: str, *chosen: Any, edited: str = ""
    ) -> AsyncGenerator[Updates]:
        """Ask a question, replacing the `edited` turn if any, and show its answer in progress."""
        if not text.strip():
            yield {self.parts.box: ""}  # without any update, Gradio would clear all components
            return
        user, asked = page_user(request), (_tab(request), thread)
        if asked in self.asking or self.session.live_turn(user, thread):
            yield self.nothing  # Enter while a turn runs
            return
        self.asking.add(asked)
        first = True
        try:
            live = await self.session.ask(user, thread, text, _options(*chosen), edited)
            async for updates in self._shown(request, live):
                if not live.view.runs:
                    self.asking.discard(asked)  # before this function ends, as the next question may follow at once
                kept = live.view.problem or edited
                yield {**updates, self.parts.box: ""} if first and not kept else updates
                first = False
        finally:
            self.asking.discard(asked)

    def forget(self, request: Request) -> None:
        self.following.pop(_tab(request), None)

    async def stop(self, request: Request, thread: str) -> None:
        self.session.stop(page_user(request), thread)

    async def resume(self, request: Request, thread: str) -> AsyncGenerator[Updates]:
        async for each in self._shown(request, await self.session.resume(page_user(request), thread)):
            yield each

    async def rate(self, request: Request, thread: str, told: EventData) -> None:
        turn, feedback = str(getattr(told, "turn", "")), str(getattr(told, "feedback", ""))
        if feedback in ("", "good", "bad"):
            comment = str(getattr(told, "comment", ""))
            await self.session.rate(page_user(request), thread, turn, feedback, comment)

    async def new(self, request: Request) -> Updates:
        self._leave(request)
        return await self._show(request, ThreadView("", []))

    async def rename(self, request: Request, thread: str, title: str) -> Updates:
        user = page_user(request)
        with contextlib.suppress(HopgraphError):  # deleted meanwhile, in another tab
            await self.session.service().threads.rename(user, thread, title)
        return await self._show(request, await self.session.open(user, thread))

    async def delete(self, request: Request, thread: str) -> Updates:
        user, view = page_user(request), ThreadView("", [])
        try:
            await self.session.delete(user, thread)
        except HopgraphError as error:
            view = replace(await self.session.open(user, thread), problem=str(error))
        self._leave(request)
        return await self._show(request, view)

    def _connect_review(self) -> None:
        parts = self.parts

        def connect(button: Any, inputs: list[Any], make: Callable[..., Mapping[str, Any]]) -> None:
            async def resume(
                request: Request, thread: str, asked: Sequence[ReviewRequest], *values: Any
            ) -> AsyncGenerator[Updates]:
                answered = answer_next(asked, make(*values))
                async for each in self._shown(request, await self.session.review(page_user(request), thread, answered)):
                    yield each

            button.click(resume, [parts.opened, parts.asked, *inputs], parts.view, **QUIET)

        with parts.review:
            # Not on load: that would discard what was entered.
            @self.gr.render(inputs=[parts.asked], triggers=[parts.asked.change])
            def render(request: Request, asked: Sequence[ReviewRequest]) -> None:  # pyright: ignore[reportUnusedFunction]
                review_form(self.gr, asked, page_texts(request), connect)

    def _connect_options(self) -> None:
        parts = self.parts

        async def describe(request: Request, fields: Mapping[str, Any], *others: Any) -> str:
            return await self._notice(request, _options(fields["method"], *others))

        def choose_method(method: str, fields: Mapping[str, Any]) -> Updates:
            if method == fields["method"]:
                return {parts.fields: fields}
            # Methods have different settings, so changes are not carried over.
            return {parts.changes: {}, parts.fields: settings_fields(method, {})}

        if not parts.simple:
            self._connect_settings()
        # Gradio reports a choice twice; handled concurrently, both would rebuild the fields and discard any input.
        inputs, outputs = [parts.method, parts.fields], [parts.changes, parts.fields]
        one_at_a_time: dict[str, Any] = {"concurrency_limit": 1, "trigger_mode": "always_last"}
        parts.method.input(choose_method, inputs, outputs, **one_at_a_time, **QUIET)
        # Only server-side state: the browser may still send the previous conversation's choices.
        described = [parts.fields, parts.changes, parts.documents.chosen, parts.reviewed]
        self.gr.on([each.change for each in described], describe, described, [parts.notice], **QUIET)
        parts.to_review.input(list, [parts.to_review], [parts.reviewed], **one_at_a_time, **QUIET)

    def _connect_settings(self) -> None:
        parts = self.parts
        with parts.settings:
            # One at a time, so that a method's fields are not overwritten by the previous method's.
            @self.gr.render(inputs=[parts.fields], triggers=[parts.fields.change], concurrency_limit=1)
            def render(fields: Mapping[str, Any]) -> None:  # pyright: ignore[reportUnusedFunction]
                given, owner = self.session.service().settings(AUTO, {}), self.session.is_owner
                with contextlib.suppress(HopgraphError):  # reported below the box
                    settings_panel(self.gr, fields, given, states=(parts.fields, parts.changes), owner=owner)

    async def _notice(self, request: Request, options: TurnOptions) -> str:
        """Return the line below the box: what the next question will run with; on a simple page only problems."""
        t = page_texts(request)
        try:
            line, stand_in = await self.session.describe(page_user(request), options)
        except HopgraphError as error:
            return f"<p>{inline_html(t.problem(error_line(error)))}</p>"
        no_model = f"<p>{inline_html(t('no_model'))}</p>" if stand_in else ""
        if self.parts.simple:
            return no_model or "<p></p>"
        changed = f" · {t('changed_settings', names=', '.join(options.changes))}" if options.changes else ""
        return f"<p>{inline_html(t.problem(line) + changed)}</p>{no_model}"

    async def _open(self, request: Request, thread: str, asked: int = 0) -> AsyncGenerator[dict[Any, Any]]:
        """Yield the updates for a thread and the options of its last question, then those of a running turn."""
        parts, user, t, follows = self.parts, page_user(request), page_texts(request), self._leave(request)
        view = await self.session.open(user, thread)
        live = self.session.live_turn(user, thread)  # now, as it may end while the updates are built
        last = view.turns[-1] if view.turns else PageTurn("", method=self.initial_method)
        choices = await parts.documents.choices(user, t)
        corpus = last.corpus if last.corpus in [key for _, key in choices] else ""
        method = last.method if last.method in model_names() else AUTO
        changes = self.session.known_changes(method, last.changes)
        kinds = [kind for kind, setting in REVIEW_SETTINGS.items() if last.changes.get(setting) is True]
        updates = {
            **await self._show(request, view, asked=asked),
            parts.method: self.gr.update(choices=parts.method_choices(t), value=method),
            parts.changes: changes,
            parts.fields: settings_fields(method, changes, uuid.uuid4().hex),
            parts.to_review: self.gr.update(choices=[(t(kind), kind) for kind in REVIEW_SETTINGS], value=kinds),
            parts.reviewed: kinds,
            parts.documents.chosen: corpus,
            parts.corpus: self.gr.update(choices=choices, value=corpus),
            parts.documents.whose: f"<p>{inline_html(t('only_you'))}</p>",
            parts.notice: await self._notice(request, _options(method, changes, corpus, kinds)),
        }
        if self.following.get(_tab(request), follows) is follows:  # else another thread was opened meanwhile
            yield updates
            if live and not view.problem:
                async for each in self._shown(request, live, complete=False, follows=follows):
                    yield each
        else:
            yield self.nothing

    def _follow(self, request: Request) -> object:
        """Make this event the only one that updates its tab's conversation; return its token."""
        mine = self.following[_tab(request)] = object()
        return mine

    def _leave(self, request: Request) -> object:
        """Let a tab ask in another conversation while the previous one continues; return the token of `_follow`."""
        self.asking.discard((_tab(request), ""))
        return self._follow(request)

    async def _shown(
        self, request: Request, live: LiveTurn, *, complete: bool = True, follows: object = None
    ) -> AsyncGenerator[dict[Any, Any]]:
        """Yield the updates for a turn: complete ones at first (if `complete`) and once it has ended.

        Stop when the tab shows another conversation; the turn continues.
        """
        follows = follows or self._follow(request)
        async for view in live.follow():
            updates = await self._show(request, view, complete=complete or not view.runs)
            if self.following.get(_tab(request)) is not follows:
                yield self.nothing
                return
            yield updates
            complete = False

    async def _show(
        self, request: Request, view: ThreadView, *, complete: bool = True, asked: int = 0
    ) -> dict[Any, Any]:
        """Return the updates for a view; unless `complete`, only those that change while a turn runs."""
        gr, parts, last, user, t = self.gr, self.parts, view.turns[-1:], page_user(request), page_texts(request)
        look = View(t, parts.simple, self.welcome, self.examples, partial(self.session.document_link, user))
        html = conversation_html(last, look, welcome=not view.problem) + problem_html(t.problem(view.problem))
        changing = {parts.last: html}
        if not parts.simple:
            changing[parts.picture] = picture_html(last[0] if last else None, t)
        if not complete or self.session.closed:  # a page may still follow a turn that closing the app stopped
            return changing
        threads = await self.session.service().threads.list_for(user)
        titles = {each["id"]: sanitize_line(each["title"]) or t("untitled") for each in threads}
        choices = [(title, key) for key, title in titles.items()]
        return {
            **changing,
            parts.earlier: f'<i hidden data-thread="{view.thread}" data-answers="{asked or ""}"></i>'
            + conversation_html(view.turns[:-1], look),
            parts.opened: view.thread,
            parts.last_opened: view.thread,
            parts.asked: list(view.asked),
            parts.threads: gr.update(choices=choices, value=view.thread or None),
            parts.manage: gr.update(visible=bool(view.thread) and not view.runs),
            parts.title: titles.get(view.thread, ""),
            parts.export: f'<a href="conversations/{view.thread}" download>{inline_html(t("export"))}</a>',
            parts.confirmation: gr.update(visible=False),
            parts.sure: f"<p>{inline_html(t('delete_conversation'))}</p>",
            parts.send: gr.update(visible=not view.runs),
            parts.stop: gr.update(visible=view.runs),
        }


def _options(method: str, changes: Mapping[str, JsonValue], corpus: str, kinds: Sequence[str]) -> TurnOptions:
    asked = {REVIEW_SETTINGS[kind]: True for kind in kinds}
    return TurnOptions(method=method, changes={**changes, **asked}, corpus=corpus or "")


def _tab(request: Request) -> str:
    return str(request.session_hash)
