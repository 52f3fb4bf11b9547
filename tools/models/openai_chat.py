"""`ChatOpenAI` with less work around each request; imported with langchain-openai, which takes long."""

import json
import sys
from typing import Any, cast

import openai
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from langchain_openai import ChatOpenAI
from pydantic import PrivateAttr

from hopgraph.tools.models.loop_clients import HttpClients

_OTHER_OPTIONS = frozenset({"response_format", "extra_headers", "extra_query", "timeout"})
_http: Any = sys.modules[openai.DefaultAsyncHttpxClient.__mro__[-2].__module__.partition(".")[0]]
"""The HTTP library of the openai package: httpx, or its successor."""


class LeanChatOpenAI(ChatOpenAI):
    """Sends the same requests and reads the same replies as `ChatOpenAI`, in half the processor time.

    The openai package walks through each request to transform what needs no transformation, and makes typed objects
    of each reply, of which `ChatOpenAI` makes dictionaries again, in a thread. What is streamed, or goes to another
    endpoint, goes the usual way.
    """

    _clients: HttpClients | None = PrivateAttr(None)
    """Of the loop that asks."""

    def use_clients(self, clients: HttpClients) -> None:
        """Send requests over these connections."""
        self._clients = clients

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        payload = cast("dict[str, Any]", self._get_request_payload(messages, stop=stop, **kwargs))
        other = not _OTHER_OPTIONS.isdisjoint(payload) or self._use_responses_api(payload)
        if self._clients is None or other:
            return await super()._agenerate(messages, stop, run_manager, **kwargs)
        extra = cast("dict[str, Any] | None", payload.pop("extra_body", None))
        return self._create_chat_result(await self._post(self._clients, {**payload, **(extra or {})}))

    async def _post(self, clients: HttpClients, body: dict[str, Any]) -> dict[str, Any]:
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        try:
            response = await clients.post(content)
        except _http.TimeoutException as error:
            raise openai.APITimeoutError(request=error.request) from error
        except _http.RequestError as error:
            raise openai.APIConnectionError(request=error.request) from error
        if response.is_error:
            raise openai.APIStatusError(response.text, response=response, body=None)
        return json.loads(response.content)
