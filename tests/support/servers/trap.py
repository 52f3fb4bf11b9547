"""An attacker's server that records requests, and other users' keys."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from support.servers.loopback import LoopbackServer

ANN, BEN = "key-of-ann-0123456789", "key-of-ben-9876543210"
SECRETS = {
    "OPENAI_API_KEY": "sk-of-the-operator",
    "HOPGRAPH_RERANKER_API_KEY": "reranker-key-of-the-operator",
    "HOPGRAPH_ENTAILMENT_API_KEY": "entailment-key-of-the-operator",
    "SERPER_API_KEY": "serper-key-of-the-operator",
}
"""The operator's keys, which nobody else may come to see."""


@dataclass
class Trap:
    """An attacker's server that records requests."""

    url: str
    heard: list[str] = field(default_factory=list[str])
    """Each request: its path and headers."""


@contextmanager
def listening() -> Generator[Trap]:
    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            trap.heard.append(f"{scope['path']} {scope['headers']}")
            await JSONResponse({"error": "heard"}, 400)(scope, receive, send)

    with LoopbackServer(answer) as server:
        trap = Trap(server.url)
        yield trap
