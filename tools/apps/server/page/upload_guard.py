"""Checks of what a browser sends to the page's functions, before Gradio takes any of it for a file.

Gradio treats any value that looks like one of its files as a file, in every component: a question of the form
`{"path": "/etc/passwd", "meta": …}` would be copied to where every user can fetch it, and a URL would be fetched.
Its own check works only in apps that were launched, not in one that is mounted into another. Nor does it limit how
much was uploaded and not used. An event that comes while a part of the page is rendered could be lost, too.

So a browser knows an upload by a name within the folder of uploads, which only its own session can use, and never
where the folder is. Of Gradio's interface only what the page needs is open: other routes serve or fetch files, too.
"""

import asyncio
import json
import re
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hopgraph.state import SettingsError
from hopgraph.tools.apps.server.page.document_store import folder_size
from hopgraph.tools.apps.server.refusal import Refusal, drain_body, path_in_app
from hopgraph.tools.apps.server.server_options import UPLOAD_PATH

_MAX_UPLOADS = 10  # of the maximum size, before they are indexed
_API_PATH = UPLOAD_PATH.removesuffix("upload")
FILE_PATH = f"{_API_PATH}file="
_NEEDED = re.compile(
    r"(?:queue/(?:join|data|status)|heartbeat/[^/]+|upload|upload_progress|startup-events|cancel|reset/?|info/?)\Z"
)
"""What the page asks of Gradio's interface."""


def session_of(cookies: Mapping[str, str]) -> str:
    """Return what tells log-ins apart; empty where no key is set and there are no log-ins."""
    return " ".join(sorted(value for name, value in cookies.items() if name.startswith("access-token-")))


def find_uploads(received: Any, folder: Path, own: Container[str]) -> Any:
    """Return values, as decoded from JSON, with whole paths; a SettingsError for a `path` that is not `own`."""
    if isinstance(received, Mapping):
        values = {key: find_uploads(each, folder, own) for key, each in cast("Mapping[str, Any]", received).items()}
        if "path" in values:
            values["path"] = str(_upload(values["path"], folder, own))
        return values
    if isinstance(received, Sequence) and not isinstance(received, str | bytes):
        return [find_uploads(each, folder, own) for each in cast("Sequence[Any]", received)]
    return received


def _upload(name: Any, folder: Path, own: Container[str]) -> Path:
    place = folder / name if isinstance(name, str) and name in own else folder
    with suppress(OSError, ValueError, RuntimeError):
        resolved = place.resolve(strict=True)  # links are followed first
        if resolved.is_relative_to(folder.resolve()) and resolved.is_file():
            return place
    raise SettingsError("a file was named that was not uploaded")


def make_guarded_blocks(gr: Any, uploads: Mapping[str, set[str]]) -> Any:
    """Return a subclass of Gradio's Blocks whose functions accept only `uploads` of the caller's session."""
    from gradio.utils import get_upload_folder

    class GuardedBlocks(gr.Blocks):
        async def process_api(
            self, block_fn: Any, inputs: Any, state: Any = None, request: Any = None, **more: Any
        ) -> Any:
            own = uploads.get(session_of(request.cookies if request else {}), set[str]())
            try:
                inputs = find_uploads(inputs, Path(get_upload_folder()), own)
            except SettingsError as error:
                raise gr.Error(str(error), print_exception=False) from None
            return cast("Any", await super().process_api(block_fn, inputs, state, request, **more))

        def get_state_ids_to_track(self, block_fn: Any, state: Any) -> Any:
            for _ in range(100):  # Gradio iterates over functions to which a render in another thread adds
                with suppress(RuntimeError):
                    return cast("Any", super().get_state_ids_to_track(block_fn, state))
            return cast("Any", super().get_state_ids_to_track(block_fn, state))

    return GuardedBlocks


class UploadGuard:
    """Names uploads, shows each to its session alone, and refuses more where there is no room."""

    def __init__(self, app: ASGIApp, folder: Path, max_upload_bytes: int, uploads: dict[str, set[str]]) -> None:
        self._app, self._folder, self._max_upload = app, folder, max_upload_bytes
        self._arriving, self._uploads = 0, uploads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or refuse."""
        path = path_in_app(scope)
        if scope["type"] != "http" or not path.startswith(_API_PATH):
            await self._app(scope, receive, send)
            return
        session = session_of(Request(scope).cookies)
        if path.startswith(FILE_PATH):
            try:
                found = _upload(path.removeprefix(FILE_PATH), self._folder, self._uploads.get(session, ()))
            except SettingsError:
                await Refusal(404, "there is no such file")(scope, receive, send)
            else:
                await FileResponse(found, filename=found.name)(scope, receive, send)
        elif path == UPLOAD_PATH:
            await self._upload_if_room(session, scope, receive, send)
        else:
            needed = _NEEDED.match(path.removeprefix(_API_PATH))
            await (self._app if needed else Refusal(404, "there is no such page"))(scope, receive, send)

    async def _upload_if_room(self, session: str, scope: Scope, receive: Receive, send: Send) -> None:
        begun: list[Message] = []

        async def name(message: Message) -> None:
            if message["type"] == "http.response.start":
                begun.append(message)
                return
            body = message.get("body", b"")
            with suppress(ValueError):  # a refusal in words
                if isinstance(paths := json.loads(body or "null"), list):
                    names = [Path(each).relative_to(self._folder).as_posix() for each in cast("list[str]", paths)]
                    self._uploads.setdefault(session, set()).update(names)
                    body = json.dumps(names).encode()
            for each in begun:
                MutableHeaders(scope=each)["content-length"] = str(len(body))
                await send(each)
            begun.clear()
            await send({**message, "body": body})

        stated = Headers(scope=scope).get("content-length", "")
        size = int(stated) if stated.isdecimal() else self._max_upload
        self._arriving += size
        try:
            if await asyncio.to_thread(folder_size, self._folder) + self._arriving <= _MAX_UPLOADS * self._max_upload:
                await self._app(scope, receive, name)
                return
        finally:
            self._arriving -= size
        await drain_body(receive)
        full = "too much was uploaded and not indexed yet; index it, or try again in an hour"
        await Refusal(507, full, "no_room", {"Connection": "close"})(scope, receive, send)
