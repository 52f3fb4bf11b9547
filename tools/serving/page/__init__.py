"""The chat page, made with Gradio and mounted into the web app."""

import os
from typing import Any

from fastapi import FastAPI

from hopgraph.tools.serving.keys import user_with
from hopgraph.tools.serving.options import PAGE_PATH, ServingOptions

_HEAD = """<meta http-equiv="Content-Security-Policy" content="default-src 'self' data: blob:; \
script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; object-src 'none'; \
base-uri 'self'; form-action 'self'">
<link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E\
%3Cpath d='M3 3v10h10M3 8h6' fill='none' stroke='%232563eb' stroke-width='2'/%3E%3C/svg%3E">"""
"""Keeps the browser from fetching anything from elsewhere, whatever a text in the page says; and the page's sign."""


def mount_page(app: FastAPI, options: ServingOptions) -> FastAPI:
    """Add the chat page at `/chat` to an app whose lifespan puts the open service into `app.state.service`.

    Where keys are asked for, a person logs in with the user's name and the key.

    Raises:
        SpecError: Gradio is not installed.
    """
    # Read when Gradio is imported: it would report its use to its makers.
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    from hopgraph.tools.loading.errors import require
    from hopgraph.tools.serving.page.layout import LAYOUT
    from hopgraph.tools.serving.page.style import CSS, theme

    gradio: Any = require("gradio", "chat")
    from hopgraph.tools.serving.page.blocks import build_page

    def let_in(user: str, key: str) -> bool:
        return user_with(key, options.keys) == user

    return gradio.mount_gradio_app(
        app,
        build_page(lambda: app.state.service),
        PAGE_PATH,
        footer_links=[],
        run_history=False,
        auth=let_in if options.keys else None,
        auth_message="Your name and your key",
        show_error=False,
        max_file_size=options.max_upload_bytes,
        ssr_mode=False,
        enable_monitoring=False,
        pwa=False,
        theme=theme(),
        css=CSS + LAYOUT,
        head=_HEAD,
    )
