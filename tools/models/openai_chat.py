"""`ChatOpenAI` with less work around each request; imported with langchain-openai, which takes long."""

import asyncio
import json
import ssl
import sys
from typing import Any, cast
from urllib.request import getproxies, proxy_bypass

import aiohttp
import openai
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from langchain_openai import ChatOpenAI
from pydantic import PrivateAttr

from hopgraph.tools.io.http_retries import UnreadableReplyError

_OTHER_OPTIONS = frozenset({"response_format", "extra_headers", "extra_query", "timeout"})
_OF_THE_ENCODED_BODY = frozenset({b"content-encoding", b"content-length", b"transfer-encoding"})
_IDLE_SECONDS = 4.0
"""Seconds after which an idle connection is closed; many servers close theirs after 5, losing what is sent then."""
_MAX_HEADER_BYTES, _MAX_HEADERS = 65_536, 1_000
_http: Any = sys.modules[openai.DefaultAsyncHttpxClient.__mro__[-2].__module__.partition(".")[0]]
"""The HTTP library of the openai package: httpx, or its successor."""


class HttpSession:
    """The connections of one event loop to a model's server. It uses aiohttp, as httpx takes several times as long."""

    def __init__(self, client: openai.AsyncOpenAI, certificates: ssl.SSLContext, proxy: str | None) -> None:
        """Take address, headers and timeouts from an openai client. Call it on the loop that will send."""
        path, mark, query = client.base_url.raw_path.partition(b"?")
        address = client.base_url.copy_with(raw_path=path.rstrip(b"/") + b"/chat/completions" + mark + query)
        self._url, self._request = str(address), _http.Request("POST", address)
        headers = {**client.auth_headers, **client.default_headers}
        timeout = _http.Timeout(client.timeout)
        self._loop = asyncio.get_running_loop()
        self._session = aiohttp.ClientSession(
            headers={name.title(): value for name, value in headers.items() if isinstance(value, str)},
            timeout=aiohttp.ClientTimeout(connect=timeout.connect, sock_read=timeout.read),
            cookie_jar=aiohttp.DummyCookieJar(),
            max_line_size=_MAX_HEADER_BYTES,
            max_field_size=_MAX_HEADER_BYTES,
            max_headers=_MAX_HEADERS,
            proxy=proxy,
            connector=aiohttp.TCPConnector(
                ssl=certificates,
                resolver=aiohttp.ThreadedResolver(),  # as every other connection resolves names
                limit=0,  # `max_parallel_calls` is one
                keepalive_timeout=_IDLE_SECONDS,
            ),
        )

    def __del__(self) -> None:
        # A loop that was closed without `shutdown_asyncgens` left the session open, which aiohttp would log.
        connector = self._session.connector
        if connector is not None and self._loop.is_closed():
            self._session.detach()
            list(connector.close().__await__())

    async def post(self, content: bytes) -> bytes | None:
        """Send a body and return the reply's; None where the server redirects to another address.

        Raises the openai package's errors; UnreadableReplyError for what is not HTTP.
        """
        try:
            async with self._session.post(self._url, data=content, allow_redirects=False) as reply:
                received = await reply.read()
        except TimeoutError as error:
            raise openai.APITimeoutError(request=self._request) from error
        except aiohttp.ClientResponseError as error:
            error.args, cast("Any", error).request_info = (), None  # the request's headers, and with them the key
            raise UnreadableReplyError(error.message) from error
        except (aiohttp.ClientError, OSError) as error:
            raise openai.APIConnectionError(request=self._request) from error
        if reply.ok:
            return None if reply.status >= 300 else received
        headers = [each for each in reply.raw_headers if each[0].lower() not in _OF_THE_ENCODED_BODY]
        response = _http.Response(reply.status, headers=headers, content=received, request=self._request)
        raise openai.APIStatusError(response.text, response=response, body=None)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._session.close()


class LeanChatOpenAI(ChatOpenAI):
    """Sends the same requests and reads the same replies as `ChatOpenAI`, in much less processor time.

    The openai package walks through each request to transform what needs no transformation, and makes typed objects
    of each reply, of which `ChatOpenAI` makes dictionaries again, in a thread. What is streamed, redirected, or goes to
    another endpoint or through a SOCKS proxy, goes the usual way.
    """

    _session: HttpSession | None = PrivateAttr(None)
    """Of the loop that asks."""

    def open_session(self, certificates: ssl.SSLContext) -> HttpSession | None:
        """Send requests over connections of the running loop; None where an unusual proxy or a log-in is needed."""
        address, proxies = self.root_async_client.base_url, getproxies()
        proxy = proxies.get(address.scheme) or proxies.get("all") or None
        if proxy and proxy_bypass(address.host):
            proxy = None
        if not address.userinfo and (proxy is None or proxy.startswith(("http://", "https://"))):
            self._session = HttpSession(self.root_async_client, certificates, proxy)
        return self._session

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        payload = cast("dict[str, Any]", self._get_request_payload(messages, stop=stop, **kwargs))
        received = None
        if self._session and _OTHER_OPTIONS.isdisjoint(payload) and not self._use_responses_api(payload):
            extra = cast("dict[str, Any] | None", payload.pop("extra_body", None))
            body = json.dumps({**payload, **(extra or {})}, ensure_ascii=False, separators=(",", ":"))
            received = await self._session.post(body.encode())
        if received is None:
            return await super()._agenerate(messages, stop, run_manager, **kwargs)
        return self._create_chat_result(json.loads(received))
