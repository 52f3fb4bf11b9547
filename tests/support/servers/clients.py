"""The clients that the tests of this folder use: the real ChatOpenAI, and plain HTTP."""

from typing import Any

import httpx
from langchain_core.language_models import BaseChatModel
from langchain_openai import ChatOpenAI

from support.servers.openai_server import OpenAIServer


def chat_client(server: OpenAIServer, **settings: Any) -> BaseChatModel:
    """Make a ChatOpenAI for the server, without retries unless `settings` asks for them."""
    defaults: dict[str, Any] = {"model": "m", "base_url": server.base_url, "api_key": "any", "max_retries": 0}
    return ChatOpenAI(**{**defaults, **settings})


def chat_request(**body: Any) -> dict[str, Any]:
    """A chat request with one user message, or with what `body` says."""
    return {"model": "m", "messages": [{"role": "user", "content": "Who?"}], **body}


def post_chat(server: OpenAIServer, **body: Any) -> httpx.Response:
    """Send a chat request over plain HTTP."""
    return httpx.post(f"{server.base_url}/chat/completions", json=chat_request(**body))
