"""Checks of what a browser sends to the page's functions, before Gradio takes any of it for a file.

Gradio treats any value that looks like one of its files as a file, in every component: a question of the form
`{"path": "/etc/passwd", "meta": …}` would be copied to where every user can fetch it, and a URL would be fetched.
Its own check works only in apps that were launched, not in one that is mounted into another. Nor does it limit how
much was uploaded and not used.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from hopgraph.state import SettingsError
from hopgraph.tools.apps.server.refusal import Refusal, drain_body
from hopgraph.tools.apps.server.server_options import UPLOAD_PATH
from hopgraph.tools.apps.server.uploaded_files import folder_size


def check_files(received: Any, folder: Path) -> None:
    """Raise a SettingsError where values, as decoded from JSON, have a `path` that is no regular file in the folder."""
    if isinstance(received, Mapping):
        values = cast("Mapping[str, Any]", received)
        if "path" in values and not _is_uploaded(values["path"], folder):
            raise SettingsError("a file was named that was not uploaded")
        for value in values.values():
            check_files(value, folder)
    elif isinstance(received, Sequence) and not isinstance(received, str | bytes):
        for value in cast("Sequence[Any]", received):
            check_files(value, folder)


def _is_uploaded(path: Any, folder: Path) -> bool:
    try:
        place = Path(path).resolve(strict=True)  # links are followed first
    except (OSError, TypeError, ValueError, RuntimeError):
        return False
    return place.is_relative_to(folder.resolve()) and place.is_file()


def make_guarded_blocks(gr: Any) -> Any:
    """Return a subclass of Gradio's Blocks whose functions accept only files of the upload folder."""
    from gradio.utils import get_upload_folder

    class GuardedBlocks(gr.Blocks):
        async def preprocess_data(self, block_fn: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                check_files(inputs, Path(get_upload_folder()))
            except SettingsError as error:
                raise gr.Error(str(error), print_exception=False) from None
            return cast("Any", await super().preprocess_data(block_fn, inputs, *args, **kwargs))

    return GuardedBlocks


class UploadQuota:
    """Refuses an upload when those not yet indexed, and those that are arriving, take all the room."""

    def __init__(self, app: ASGIApp, folder: Path, max_bytes: int, max_upload_bytes: int) -> None:
        self._app, self._folder, self._max_bytes, self._max_upload = app, folder, max_bytes, max_upload_bytes
        self._arriving = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or refuse."""
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] != UPLOAD_PATH:
            await self._app(scope, receive, send)
            return
        stated = Headers(scope=scope).get("content-length", "")
        size = int(stated) if stated.isdecimal() else self._max_upload
        self._arriving += size
        try:
            if await asyncio.to_thread(folder_size, self._folder) + self._arriving <= self._max_bytes:
                await self._app(scope, receive, send)
                return
        finally:
            self._arriving -= size
        await drain_body(receive)
        full = "too much was uploaded and not indexed yet; index it, or try again in an hour"
        await Refusal(507, full, "no_room", {"Connection": "close"})(scope, receive, send)
