"""The chat page, made with Gradio and mounted into the web app."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request

from hopgraph.state import SettingsError
from hopgraph.tools.apps.server.page import page_routes
from hopgraph.tools.apps.server.page.chat_session import ChatSession
from hopgraph.tools.apps.server.page.document_store import UPLOADS, data_folder, remove_old_files
from hopgraph.tools.apps.server.page.login import Logins, add_login
from hopgraph.tools.apps.server.page.texts import HEAD, texts_by_language
from hopgraph.tools.apps.server.page.upload_guard import UPLOAD_SECONDS, UploadGuard
from hopgraph.tools.apps.server.server_options import PAGE_PATH, ServingOptions
from hopgraph.tools.io.guarded_files import make_private
from hopgraph.tools.io.optional_packages import require

_UPLOADS = "GRADIO_TEMP_DIR"


def mount_page(app: FastAPI, options: ServingOptions, logins: Logins) -> FastAPI:
    """Add the chat page at `/chat`, with its log-in, to an app whose lifespan enters `page_open`.

    A SpecError if Gradio is not installed; a SettingsError if no uploads folder can be created.
    """
    # Read when Gradio is imported: it would report usage to its vendor.
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    # After each event Gradio would summarize all events so far, with pandas, for a page that is not served.
    os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", str(sys.maxsize))
    # Gradio's default is shared by all users of this machine. The first of several apps in a process decides.
    uploads = Path(os.environ.get(_UPLOADS) or data_folder(options)).absolute()
    if uploads.name != UPLOADS:  # a folder from the environment may contain other files
        uploads /= UPLOADS
    os.environ[_UPLOADS] = str(_create_private(uploads))
    gradio: Any = require("gradio", "chat")
    from hopgraph.tools.apps.server.page.page_components import page_style, theme
    from hopgraph.tools.apps.server.page.page_events import build_page

    uploaded = dict[str, set[str]]()  # user → names of uploaded files
    app.add_middleware(UploadGuard, folder=uploads, max_upload_bytes=options.max_upload_bytes, uploads=uploaded)
    app.state.chat_session = ChatSession(lambda: app.state.service)
    app.include_router(page_routes.router)  # before the page, which handles every path below its own

    if options.keys:
        add_login(app, options, logins)

    i18n = gradio.I18n(**texts_by_language())
    return gradio.mount_gradio_app(
        app,
        build_page(app.state.chat_session, options, i18n, uploads, uploaded),
        PAGE_PATH,
        footer_links=[],
        auth_dependency=_user_of,
        max_file_size=options.max_upload_bytes,
        **dict.fromkeys(("run_history", "show_error", "ssr_mode", "enable_monitoring", "pwa"), False),
        theme=theme(gradio, options.color),
        css=page_style(options.color),
        head=HEAD,
        i18n=i18n,
    )


def _user_of(request: Request) -> str:
    """Return the user of a request to the page, as identified by the guards."""
    return request.scope["state"]["user"]


def _create_private(folder: Path) -> Path:
    try:
        make_private(folder)
        folder.chmod(0o700)  # it may be an older one
    except OSError as error:
        advice = f"set {_UPLOADS} to another folder, or use another file for threads"
        raise SettingsError(f"cannot create the uploads folder {folder}: {error.strerror}; {advice}") from None
    return folder


@asynccontextmanager
async def page_open(app: FastAPI) -> AsyncGenerator[None]:
    """Periodically remove old uploads and documents; on exit, stop and store the page's turns."""
    app.state.chat_session.closed = False  # an app may be reopened
    cleaning = asyncio.create_task(_remove_old_files(Path(os.environ[_UPLOADS]), app.state.chat_session))
    try:
        yield
    finally:
        cleaning.cancel()
        await app.state.chat_session.close()


async def _remove_old_files(folder: Path, session: ChatSession) -> None:
    while True:
        await session.documents.recover()
        if keep_days := session.service().options.keep_days:
            await session.documents.delete_old(keep_days * 24 * 3600)
        if folder.name == UPLOADS:
            await asyncio.to_thread(remove_old_files, folder, UPLOAD_SECONDS)
        await asyncio.sleep(UPLOAD_SECONDS / 6)
