"""The id of the request that is being answered, which joins a reply to the lines of the log."""

import re
import uuid
from contextvars import ContextVar

from starlette.datastructures import Headers
from starlette.types import Scope

REQUEST_ID_HEADER = "X-Request-ID"
_ID = re.compile(r"[\w.:-]{1,64}", re.ASCII)
_current: ContextVar[str] = ContextVar("hopgraph_request_id", default="")


def begin_request(scope: Scope) -> str:
    """Take the id that a request brings, as from a proxy, or make one; what it asks is logged under it."""
    given = Headers(scope=scope).get(REQUEST_ID_HEADER, "")
    identity = given if _ID.fullmatch(given) else _new_id()
    _current.set(identity)
    return identity


def current_request_id() -> str:
    """Return the id of the current request; a new one outside of any, as for the page's events."""
    return _current.get() or _new_id()


def _new_id() -> str:
    return uuid.uuid4().hex[:16]
