"""Checks of what a browser sends to the page's functions, before Gradio takes any of it for a file.

Gradio treats any value that looks like one of its files as a file, in every component: a question of the form
`{"path": "/etc/passwd", "meta": …}` would be copied to where every user can fetch it, and a URL would be fetched.
Its own check works only in apps that were launched, not in one that is mounted into another. Nor does it limit how
much was uploaded and not used. An event that comes while a part of the page is rendered could be lost, too.
"""

import asyncio
import json
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hopgraph.state import SettingsError
from hopgraph.tools.apps.server.page.document_store import folder_size
from hopgraph.tools.apps.server.refusal import Refusal, drain_body, path_in_app
from hopgraph.tools.apps.server.server_options import UPLOAD_PATH

_MAX_UPLOADS = 10  # of the maximum size, before they are indexed
FILE_PATH = f"{UPLOAD_PATH.removesuffix('upload')}file="


def session_of(cookies: Mapping[str, str]) -> str:
    """Return what tells log-ins apart; empty where no key is set and there are no log-ins."""
    return " ".join(sorted(value for name, value in cookies.items() if name.startswith("access-token-")))


def check_files(received: Any, folder: Path, own: Container[str]) -> None:
    """Raise a SettingsError where values, as decoded from JSON, have a `path` that is none of one's own uploads."""
    if isinstance(received, Mapping):
        values = cast("Mapping[str, Any]", received)
        path = values.get("path", "")
        if "path" in values and not (isinstance(path, str) and path in own and _is_uploaded(path, folder)):
            raise SettingsError("a file was named that was not uploaded")
        for value in values.values():
            check_files(value, folder, own)
    elif isinstance(received, Sequence) and not isinstance(received, str | bytes):
        for value in cast("Sequence[Any]", received):
            check_files(value, folder, own)


def _is_uploaded(path: str, folder: Path) -> bool:
    try:
        place = Path(path).resolve(strict=True)  # links are followed first
    except (OSError, ValueError, RuntimeError):
        return False
    return place.is_relative_to(folder.resolve()) and place.is_file()


def make_guarded_blocks(gr: Any, uploads: Mapping[str, set[str]]) -> Any:
    """Return a subclass of Gradio's Blocks whose functions accept only `uploads` of the caller's session."""
    from gradio.utils import get_upload_folder

    class GuardedBlocks(gr.Blocks):
        async def process_api(
            self, block_fn: Any, inputs: Any, state: Any = None, request: Any = None, **more: Any
        ) -> Any:
            own = uploads.get(session_of(request.cookies if request else {}), set[str]())
            try:
                check_files(inputs, Path(get_upload_folder()), own)
            except SettingsError as error:
                raise gr.Error(str(error), print_exception=False) from None
            return cast("Any", await super().process_api(block_fn, inputs, state, request, **more))

        def get_state_ids_to_track(self, block_fn: Any, state: Any) -> Any:
            for _ in range(100):  # Gradio iterates over functions to which a render in another thread adds
                with suppress(RuntimeError):
                    return cast("Any", super().get_state_ids_to_track(block_fn, state))
            return cast("Any", super().get_state_ids_to_track(block_fn, state))

    return GuardedBlocks


class UploadQuota:
    """Refuses uploads when there is no room for more, and notes in `uploads` whose each is: others cannot fetch it."""

    def __init__(self, app: ASGIApp, folder: Path, max_upload_bytes: int, uploads: dict[str, set[str]]) -> None:
        self._app, self._folder, self._max_upload = app, folder, max_upload_bytes
        self._arriving, self._uploads = 0, uploads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or refuse."""
        path = path_in_app(scope)
        if scope["type"] != "http" or not path.startswith((UPLOAD_PATH, FILE_PATH)):
            await self._app(scope, receive, send)
            return
        session = session_of(Request(scope).cookies)
        if path.startswith(FILE_PATH):
            file = path.removeprefix(FILE_PATH)
            hidden = file not in self._uploads.get(session, ()) and _is_uploaded(file, self._folder)
            await (Refusal(404, "there is no such file") if hidden else self._app)(scope, receive, send)
            return

        async def remember(message: Message) -> None:
            with suppress(ValueError):  # a refusal in words
                if isinstance(paths := json.loads(message.get("body") or "null"), list):
                    self._uploads.setdefault(session, set()).update(cast("list[str]", paths))
            await send(message)

        stated = Headers(scope=scope).get("content-length", "")
        size = int(stated) if stated.isdecimal() else self._max_upload
        self._arriving += size
        try:
            if await asyncio.to_thread(folder_size, self._folder) + self._arriving <= _MAX_UPLOADS * self._max_upload:
                await self._app(scope, receive, remember)
                return
        finally:
            self._arriving -= size
        await drain_body(receive)
        full = "too much was uploaded and not indexed yet; index it, or try again in an hour"
        await Refusal(507, full, "no_room", {"Connection": "close"})(scope, receive, send)
