"""Checks on what a browser sends to the page's functions, before Gradio treats any of it as a file.

Gradio treats any value that looks like one of its files as a file, in every component: a question of the form
`{"path": "/etc/passwd", "meta": …}` would be copied to where every user can fetch it, and a URL would be fetched.
Its own check works only in launched apps, not in mounted ones. It neither limits unused uploads nor handles a full
disk, and it can lose an event that arrives while part of the page is rendered.

So a browser refers to an upload by its name within the uploads folder, which works only for the user who uploaded it
and does not reveal the folder. Only those of Gradio's routes that the page needs are open: others serve or fetch files.
"""

import asyncio
import json
import logging
import re
import traceback
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import FileResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hopgraph.state import SettingsError
from hopgraph.tools.apps.server.page.document_store import BLOCK
from hopgraph.tools.apps.server.refusal import CLOSING, Refusal, RequestBody, path_in_app
from hopgraph.tools.apps.server.server_options import OWNER, UPLOAD_PATH
from hopgraph.tools.apps.server.turn import replace_surrogates
from hopgraph.tools.text.sanitize import truncate_line

UPLOAD_SECONDS = 3600.0
"""Seconds until an upload that was not indexed, or the remains of an aborted one, are removed."""
_SHARE = 10  # maximum-size uploads that a user may have waiting to be indexed
_FULL = Refusal(
    507, "you have uploaded too much that is not indexed yet; index it, or try again in an hour", "no_room", CLOSING
)
_NO_DISK = Refusal(507, "the disk of this server is full or failing; tell its operator", "no_room", CLOSING)
_MAX_SAID = 300  # characters
_log = logging.getLogger(__name__)
_API_PATH = UPLOAD_PATH.removesuffix("upload")
FILE_PATH = f"{_API_PATH}file="
_NEEDED = re.compile(
    r"(?:queue/(?:join|data|status)|heartbeat/[^/]+|upload|upload_progress|startup-events|cancel|reset/?|info/?)\Z"
)
"""Gradio's routes that the page uses."""


def find_uploads(received: Any, folder: Path, own: Container[str]) -> Any:
    """Return decoded JSON with absolute paths; a SettingsError for a `path` that is not one of the user's `own`.

    Lone surrogates become `?`, as they could not be sent back.
    """
    if isinstance(received, str):
        return replace_surrogates(received)
    if isinstance(received, Mapping):
        values = {key: find_uploads(each, folder, own) for key, each in cast("Mapping[str, Any]", received).items()}
        if "path" in values:
            values["path"] = str(find_upload(values["path"], folder, own))
        return values
    if isinstance(received, Sequence) and not isinstance(received, bytes):
        return [find_uploads(each, folder, own) for each in cast("Sequence[Any]", received)]
    return received


def find_upload(name: Any, folder: Path, own: Container[str]) -> Path:
    """Return the path of one of a user's `own` uploads; a SettingsError for any other name."""
    place = folder / name if isinstance(name, str) and name in own else folder
    with suppress(OSError, ValueError, RuntimeError):
        resolved = place.resolve(strict=True)  # after following links
        if resolved.is_relative_to(folder.resolve()) and resolved.is_file():
            return place
    raise SettingsError("one of the files was not uploaded; upload it again")


def make_guarded_blocks(gr: Any, uploads: Mapping[str, set[str]]) -> Any:
    """Return a subclass of Gradio's Blocks whose functions accept only the `uploads` of the caller."""
    from gradio.utils import get_upload_folder

    class GuardedBlocks(gr.Blocks):
        async def process_api(
            self, block_fn: Any, inputs: Any, state: Any = None, request: Any = None, **more: Any
        ) -> Any:
            own = uploads.get((request and request.username) or OWNER, set[str]())
            try:
                inputs = find_uploads(inputs, Path(get_upload_folder()), own)
                return cast("Any", await super().process_api(block_fn, inputs, state, request, **more))
            except Exception as error:  # noqa: BLE001 - Gradio would log a traceback with the data sent
                said = str(error) if isinstance(error, SettingsError) else _log_failure("a page event", error)
                raise gr.Error(truncate_line(said, _MAX_SAID), print_exception=False) from None

        def get_state_ids_to_track(self, block_fn: Any, state: Any) -> Any:
            for _ in range(100):  # Gradio iterates over functions while a render in another thread adds some
                with suppress(RuntimeError):
                    return cast("Any", super().get_state_ids_to_track(block_fn, state))
            return cast("Any", super().get_state_ids_to_track(block_fn, state))

    return GuardedBlocks


def _log_failure(what: str, error: Exception) -> str:
    """Log in one line where something failed, without the data sent; return a line for the caller."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    line = f"{what} failed ({type(error).__name__})"
    _log.warning("%s at %s:%s", line, Path(place.filename).name, place.lineno)
    _log.debug("%s", line, exc_info=error)
    return f"{line}; reload the page"


class UploadGuard:
    """Names uploads, serves each only to its user, and refuses more than a user's share or than the disk holds."""

    def __init__(self, app: ASGIApp, folder: Path, max_upload_bytes: int, uploads: dict[str, set[str]]) -> None:
        self._app, self._folder, self._share = app, folder, _SHARE * max_upload_bytes
        self._uploads, self._open = uploads, Counter[str]()
        self._used, self._left = Counter[str](), Counter[str]()  # bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward or refuse a request."""
        path = path_in_app(scope)
        user = scope.get("state", {}).get("user")
        if scope["type"] != "http" or not path.startswith(_API_PATH):
            await self._app(scope, receive, send)
        elif path.startswith(FILE_PATH):
            try:
                found = find_upload(path.removeprefix(FILE_PATH), self._folder, self._uploads.get(user, ()))
            except SettingsError:
                await Refusal(404, "there is no such file")(scope, receive, send)
            else:
                await FileResponse(found, filename=found.name)(scope, receive, send)
        elif path == UPLOAD_PATH and user:
            await self._upload(user, scope, receive, send)
        elif _NEEDED.match(path.removeprefix(_API_PATH)):
            await self._forward(scope, receive, send)
        else:
            await Refusal(404, "there is no such page")(scope, receive, send)

    async def _forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let Gradio answer; refuse what it fails on."""
        status = 0

        async def unless_failed(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            if status != 500:
                await send(message)

        try:
            await self._app(scope, receive, unless_failed)
        except ClientDisconnect:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            said = _log_failure("a page request", error)
            if status in (0, 500):
                await Refusal(400, said)(scope, receive, send)

    async def _upload(self, user: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a user upload up to the share, counting bytes as they arrive."""
        self._open[user] += 1
        reply, came = _UploadReply(self._folder, send), 0

        def count(more: int) -> Refusal | None:
            nonlocal came
            came += more
            self._used[user] += more
            return _FULL if self._used[user] > self._share else None

        try:
            if self._open[user] == 1:  # concurrent uploads count, stored or not
                before = self._used[user]
                self._used[user] += await asyncio.to_thread(self._stored, user) - before
            await RequestBody(count, receive, reply.send).pass_on(self._app, scope)
        except OSError as error:
            _log.warning("an upload cannot be stored: %s", error.strerror or error)
            await _NO_DISK(scope, receive, send)
        else:
            self._uploads.setdefault(user, set()).update(reply.names)
        finally:
            self._open[user] -= 1
            if not reply.names:
                self._left[user] += came
                asyncio.get_running_loop().call_later(UPLOAD_SECONDS, self._left.subtract, {user: came})

    def _stored(self, user: str) -> int:
        """Return the size of a user's uploads and of the remains of failed ones; forget uploads that are gone."""
        sizes = dict[str, int]()
        for name in self._uploads.get(user, ()):
            with suppress(OSError):
                sizes[name] = max((self._folder / name).lstat().st_size, BLOCK)
        self._uploads[user] = set(sizes)
        return sum(sizes.values()) + self._left[user]


class _UploadReply:
    """Gradio's reply to an upload, with names instead of paths; an error is held back until its cause is known."""

    def __init__(self, folder: Path, send: Send) -> None:
        self._folder, self._send, self._start = folder, send, dict[str, Any]()
        self.names = list[str]()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = {**message}
            return
        if self._start["status"] == 500:
            return
        body = message.get("body", b"")
        with suppress(ValueError):  # a refusal in plain text
            if isinstance(paths := json.loads(body or "null"), list):
                self.names = [Path(each).relative_to(self._folder).as_posix() for each in cast("list[str]", paths)]
                body = json.dumps(self.names).encode()
        MutableHeaders(scope=self._start)["content-length"] = str(len(body))
        await self._send(self._start)
        await self._send({**message, "body": body})
