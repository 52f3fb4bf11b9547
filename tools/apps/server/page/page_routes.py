"""Routes linked from the page: source documents, and conversations as Markdown files."""

import asyncio
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from hopgraph.state import HopgraphError
from hopgraph.tools.apps.server.page.chat_session import APP, ChatSession
from hopgraph.tools.apps.server.page.conversation_html import conversation_markdown
from hopgraph.tools.apps.server.page.served_documents import send_document
from hopgraph.tools.apps.server.page.texts import texts_for
from hopgraph.tools.apps.server.server_options import PAGE_PATH

router = APIRouter(prefix=PAGE_PATH, include_in_schema=False)
_NO_DOCUMENT = "there is no such document, or it has been removed"


@router.get("/documents/{corpus}/{identity}")
async def open_document(request: Request, corpus: str, identity: str) -> Response:
    """Send a source's document to a user who may search it."""
    user, session = _user(request), _session(request)
    try:
        found = await session.find_document(user, "" if corpus == APP else corpus, identity)
    except HopgraphError:  # not a corpus of this user
        found = None
    if found is None:
        raise HTTPException(404, _NO_DOCUMENT)
    return await asyncio.to_thread(send_document, *found)


@router.get("/conversations/{thread}")
async def export_conversation(request: Request, thread: str) -> Response:
    """Send one of the user's conversations as a Markdown file."""
    user, session = _user(request), _session(request)
    titles = {each["id"]: each["title"] for each in await session.service().threads.list_for(user)}
    if thread not in titles:
        raise HTTPException(404, "there is no such conversation, or it has been deleted")
    texts = texts_for(request.headers.get("accept-language", ""))
    view, title = await session.open(user, thread), titles[thread] or texts("untitled")
    name = quote(f"{title[:60]}.md", safe="")
    return Response(
        conversation_markdown(view.turns, title, texts).encode("utf-8", "replace"),
        headers={"Content-Disposition": f"attachment; filename*=UTF-8''{name}", "Cache-Control": "private, no-cache"},
        media_type="text/markdown; charset=utf-8",
    )


def _session(request: Request) -> ChatSession:
    return request.app.state.chat_session


def _user(request: Request) -> str:
    if user := getattr(request.state, "user", None):
        return user
    raise HTTPException(401, "log in to the page first")
