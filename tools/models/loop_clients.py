"""Models of langchain-openai with an HTTP client for each event loop that asks.

A client that is shared over the loops of several `asyncio.run` calls fails with "Event loop is closed" sooner or later,
and one that lives on a loop of its own costs two hand-overs between threads for each request.
"""

import asyncio
import os
import ssl
import sys
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

import certifi
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable

from hopgraph.tools.models.structured import is_openai


@dataclass
class LoopModel:
    """A model with one loop's client."""

    model: BaseChatModel
    bound: dict[object, Runnable[list[BaseMessage], AIMessage]] = field(
        default_factory=dict[object, Runnable[list[BaseMessage], AIMessage]]
    )
    """What was made of it for ways of asking."""


def takes_clients(model: BaseChatModel) -> bool:
    """Whether a model's HTTP client can be replaced: it is one of langchain-openai's, and its caller gave none."""
    return (
        is_openai(model)
        and getattr(model, "http_async_client", None) is None
        and isinstance(getattr(model, "root_async_client", None), sys.modules["openai"].AsyncOpenAI)
    )


class LoopClients:
    """Copies of one model, each with a client that is closed with its loop. It holds no reference to the model."""

    def __init__(self) -> None:
        self._open = dict[asyncio.AbstractEventLoop, tuple[LoopModel, AsyncGenerator[LoopModel]]]()

    async def here(self, model: BaseChatModel) -> LoopModel:
        """Return the model's copy for the running loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._open:
            await asyncio.to_thread(_certificates)  # reading them takes long
        if loop not in self._open:
            for closed in [each for each in list(self._open) if each.is_closed()]:
                self._open.pop(closed, None)
            # asyncio.run and uvicorn end the generators that are under way before they close their loop.
            client = self._with_client(model, loop)
            self._open[loop] = await anext(client), client
        return self._open[loop][0]

    async def _with_client(self, model: Any, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[LoopModel]:
        given, kind = model.root_async_client, cast("Any", sys.modules["openai"]).DefaultAsyncHttpxClient
        client = kind(base_url=given.base_url, timeout=given.timeout, verify=_certificates())
        root = given.copy(http_client=client)
        copy = model.model_copy(update={"root_async_client": root, "async_client": root.chat.completions})
        session = copy.open_session(_certificates()) if hasattr(copy, "open_session") else None
        try:
            yield LoopModel(copy)
        finally:
            self._open.pop(loop, None)
            await client.aclose()
            if session is not None:
                await session.aclose()


@cache
def _certificates() -> ssl.SSLContext:
    """Return what every client would read anew: httpx's choice of certificates."""
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    return ssl.create_default_context(cafile=file or (None if folder else certifi.where()), capath=folder)
