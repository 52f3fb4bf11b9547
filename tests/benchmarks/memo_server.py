"""A chat server that answers from replies which it computed before, so that it takes next to no time of the machine.

    python memo_server.py DATASET       prints its port, and serves until its standard input ends

What it has not seen it asks the rehearsal model once. `POST /v1/chat/completions` answers after the latency; the bodies
and the times are kept. `POST /begin` with {"latency": seconds} forgets times; `GET /seen` gives the bodies in order of
arrival and (arrival, answer) of each request, in seconds of this process's clock.
"""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from langchain_core.messages import convert_to_messages

from hopgraph.tools.apps.evaluation.rehearsal.oracle import RehearsalOptions
from hopgraph.tools.apps.evaluation.rehearsal.rehearsal_model import RehearsalModel, read_book


class Memo:
    """Replies by request body, and when each request came and was answered."""

    def __init__(self, model: RehearsalModel) -> None:
        self.model = model
        self.latency = 0.0
        self.replies: dict[bytes, bytes] = {}
        self.bodies: list[bytes] = []
        self.times: list[tuple[float, float]] = []

    def reply(self, body: bytes) -> bytes:
        if body not in self.replies:
            self.replies[body] = response(self.completion(json.loads(body)))
        return self.replies[body]

    def completion(self, asked: dict[str, Any]) -> Any:
        text = self.model.reply_to(convert_to_messages(asked["messages"]))
        message = {"role": "assistant", "content": text}
        return {
            "id": "chatcmpl-memo",
            "object": "chat.completion",
            "created": 0,
            "model": asked["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        }

    def begin(self, latency: float) -> None:
        self.latency = latency
        self.bodies, self.times = [], []

    def seen(self) -> bytes:
        return response({"bodies": [json.loads(body) for body in self.bodies], "times": self.times})


def response(content: Any) -> bytes:
    body = json.dumps(content).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Connection(asyncio.Protocol):
    """One keep-alive connection, on which one request follows the other's answer."""

    def __init__(self, memo: Memo) -> None:
        self.memo = memo
        self.received = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        head, found, rest = self.received.partition(b"\r\n\r\n")
        if not found:
            return
        lines = head.lower().split(b"\r\n")
        length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
        if len(rest) >= length:
            self.received = rest[length:]
            self.answer(head.split(b" ", 2)[1].decode(), rest[:length])

    def answer(self, path: str, body: bytes) -> None:
        memo, arrived = self.memo, time.perf_counter()
        if path == "/begin":
            memo.begin(json.loads(body)["latency"])
            self.transport.write(response({}))
        elif path == "/seen":
            self.transport.write(memo.seen())
        else:
            memo.bodies.append(body)
            reply = memo.reply(body)
            asyncio.get_running_loop().call_later(memo.latency, self.send, reply, arrived)

    def send(self, reply: bytes, arrived: float) -> None:
        self.memo.times.append((arrived, time.perf_counter()))
        self.transport.write(reply)


async def serve(dataset: Path) -> None:
    """Serve until standard input ends."""
    memo = Memo(RehearsalModel(book=read_book(dataset), options=RehearsalOptions.model_validate({})))
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(memo), "127.0.0.1", 0, backlog=256)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
