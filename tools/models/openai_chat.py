"""`ChatOpenAI` with less work around each request; imported with langchain-openai, which takes long."""

import json
import ssl
import sys
from typing import Any, cast
from urllib.request import getproxies

import aiohttp
import openai
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.globals import get_llm_cache
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from pydantic import PrivateAttr

from hopgraph.tools.io.callbacks import may_be_watched

_OTHER_OPTIONS = frozenset({"response_format", "extra_headers", "extra_query", "timeout"})
_DECODED = frozenset({"content-encoding", "content-length", "transfer-encoding"})
"""Headers of a reply that no longer hold of its content."""
_IDLE_SECONDS = 4.0
"""After which a connection is closed; many servers close theirs after 5, and what is then on its way would be lost."""
_http: Any = sys.modules[openai.DefaultAsyncHttpxClient.__mro__[-2].__module__.partition(".")[0]]
"""The HTTP library of the openai package: httpx, or its successor."""


class HttpSession:
    """The connections of one event loop to a model's server, by aiohttp: it takes a third of httpx's processor time."""

    def __init__(self, client: openai.AsyncOpenAI, certificates: ssl.SSLContext) -> None:
        """Take the address, headers and timeouts of a client of the openai package; of a running loop."""
        path, mark, query = client.base_url.raw_path.partition(b"?")
        address = client.base_url.copy_with(raw_path=path.rstrip(b"/") + b"/chat/completions" + mark + query)
        self._url, self._request = str(address), _http.Request("POST", address)
        headers = {**client.default_headers, **client.auth_headers}
        timeout = _http.Timeout(client.timeout)
        self._session = aiohttp.ClientSession(
            headers={name: value for name, value in headers.items() if isinstance(value, str)},
            timeout=aiohttp.ClientTimeout(connect=timeout.connect, sock_read=timeout.read),
            cookie_jar=aiohttp.DummyCookieJar(),
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
        if connector is not None and self._session.loop.is_closed():
            self._session.detach()
            list(connector.close().__await__())

    async def post(self, content: bytes) -> bytes:
        """Send a body and return the reply's.

        Raises:
            openai.APITimeoutError, openai.APIConnectionError, openai.APIStatusError.
        """
        try:
            async with self._session.post(self._url, data=content) as reply:
                received = await reply.read()
        except TimeoutError as error:
            raise openai.APITimeoutError(request=self._request) from error
        except (aiohttp.ClientError, OSError) as error:
            raise openai.APIConnectionError(request=self._request) from error
        if reply.ok:
            return received
        headers = [(name, value) for name, value in reply.headers.items() if name.lower() not in _DECODED]
        response = _http.Response(reply.status, headers=headers, content=received, request=self._request)
        raise openai.APIStatusError(response.text, response=response, body=None)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._session.close()


class LeanChatOpenAI(ChatOpenAI):
    """Sends the same requests and reads the same replies as `ChatOpenAI`, in half the processor time.

    The openai package walks through each request to transform what needs no transformation, and makes typed objects
    of each reply, of which `ChatOpenAI` makes dictionaries again, in a thread. What is streamed, or goes to another
    endpoint, goes the usual way.
    """

    _session: HttpSession | None = PrivateAttr(None)
    """Of the loop that asks."""

    def open_session(self, certificates: ssl.SSLContext) -> HttpSession | None:
        """Send requests over connections of the running loop; None where they need a proxy or a log-in."""
        proxies = getproxies().keys() - {"no"}
        if not proxies and not self.root_async_client.base_url.userinfo:
            self._session = HttpSession(self.root_async_client, certificates)
        return self._session

    async def ainvoke(
        self,
        input: LanguageModelInput,  # noqa: A002
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        """Ask; where no callback handler watches, without what LangChain does for them."""
        if may_be_watched(config) or get_llm_cache() is not None:
            return await super().ainvoke(input, config, stop=stop, **kwargs)
        generation = (await self._agenerate(self._convert_input(input).to_messages(), stop, **kwargs)).generations[0]
        message = cast("AIMessage", generation.message)
        message.response_metadata = {**(generation.generation_info or {}), **message.response_metadata}
        return message

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        payload = cast("dict[str, Any]", self._get_request_payload(messages, stop=stop, **kwargs))
        other = not _OTHER_OPTIONS.isdisjoint(payload) or self._use_responses_api(payload)
        if self._session is None or other:
            return await super()._agenerate(messages, stop, run_manager, **kwargs)
        extra = cast("dict[str, Any] | None", payload.pop("extra_body", None))
        body = json.dumps({**payload, **(extra or {})}, ensure_ascii=False, separators=(",", ":"))
        return self._create_chat_result(json.loads(await self._session.post(body.encode())))
