"""Graphs of a LangGraph server through `langgraph-sdk`: threads with runs, and concurrent checks."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from support.paths import ROOT
from support.servers.openai_server import OpenAIServer

GRAPHS: list[str] = sorted(json.loads((ROOT / "langgraph.json").read_text())["graphs"])
QUESTION = "In which city was the director of the film Pan's Labyrinth born?"
LIMITED = {"max_llm_calls": 200}
"""So that a loop without an end fails a test and does not hang it."""


def asking(name: str, question: str = QUESTION) -> dict[str, Any]:
    """Return a graph's input for a question."""
    return {"messages": [{"type": "human", "content": question}]} if name == "chat" else {"question": question}


def served_at(server: OpenAIServer, name: str = "any") -> str:
    """Return the settings for a model server of a test; requests carry the name."""
    return f"openai:{name}?base_url={server.base_url}"


@dataclass(frozen=True)
class RemoteThread:
    """A thread on the server, and the runs of one graph on it."""

    remote: LangGraphClient
    id: str
    name: str
    """The graph."""
    context: Mapping[str, Any] = field(default_factory=lambda: LIMITED)
    """Sent with each run, since a run does not keep that of the one before."""

    @classmethod
    async def begin(cls, remote: LangGraphClient, name: str, **context: Any) -> Self:
        return cls(remote, (await remote.threads.create())["thread_id"], name, {**LIMITED, **context})

    async def go(self, given: Mapping[str, Any] | None = None, **options: Any) -> Any:
        """Run until it pauses or ends; resume if there is no input."""
        return await self.remote.runs.wait(
            self.id, self.name, input=given, context=self.context, raise_error=True, **options
        )

    async def state(self) -> Any:
        return await self.remote.threads.get_state(self.id)

    async def values(self) -> dict[str, Any]:
        return (await self.state())["values"]

    async def pauses(self) -> list[Any]:
        """List the interrupts that wait for a person: id and value."""
        return list((await self.state())["interrupts"])

    async def resume(self, decisions: Mapping[str, Any]) -> list[Any]:
        """Resume with decisions by interrupt id; return the interrupts that are then pending."""
        await self.remote.runs.wait(
            self.id, self.name, command={"resume": dict(decisions)}, context=self.context, raise_error=True
        )
        return await self.pauses()


Check = Callable[[LangGraphClient, str], Awaitable[None]]
"""Something that must hold for a graph of the server, given its name; raises where it does not."""


class EveryGraph:
    """Runs a check for all graphs concurrently, and reports the result for each.

    Most of a run's time on the server is waiting for its turn, so that one graph after the other takes much longer.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._outcomes: dict[Check, Mapping[str, BaseException | None]] = {}

    def holds(self, check: Check, name: str, among: Sequence[str] = GRAPHS) -> None:
        """Raise what the check raised for this graph."""
        if check not in self._outcomes:
            self._outcomes[check] = asyncio.run(self._carried_out(check, among))
        if (error := self._outcomes[check][name]) is not None:
            raise error

    async def _carried_out(self, check: Check, among: Sequence[str]) -> Mapping[str, BaseException | None]:
        # To wait for a connection as long as for a reply: there are more runs than connections. None is kept: on a busy
        # machine the server may close one just when it is used again.
        once = {"Connection": "close"}
        async with get_client(url=self._url, timeout=(5, 300, 300, 300), headers=once) as remote:
            ended = await asyncio.gather(*(check(remote, name) for name in among), return_exceptions=True)
        return dict(zip(among, ended, strict=True))
