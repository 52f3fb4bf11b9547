"""Run a graph with a scripted model and record which edges of its drawing were taken."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.retrievers import BaseRetriever

from hopgraph.state import StepEvent
from hopgraph.state.events import event_order
from support.servers.scripted_model import ScriptedChatModel

Edge = tuple[str, str]


class FixedRetriever(BaseRetriever):
    """Returns passages (id → title, text) by the first pattern found in the query; "" always matches."""

    found: dict[str, dict[str, tuple[str, str]]]

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int = 50
    ) -> list[Document]:
        for pattern, passages in self.found.items():
            if re.search(pattern, query):
                every = [
                    Document(id=key, page_content=text, metadata={"title": title, "score": 1.0 / rank})
                    for rank, (key, (title, text)) in enumerate(passages.items(), start=1)
                ]
                return every[:k]
        return []


class Script:
    """Replies by step (the role without its method); raises if a step runs out of replies.

    A step's replies are a list, taken in the order of asking, or a function of the last message's text.
    """

    def __init__(self, replies: Mapping[str, Sequence[str] | Callable[[str], str]]) -> None:
        self.replies = {step: each if callable(each) else list(each) for step, each in replies.items()}
        self.steps: list[str] = []
        """The steps in the order in which they were asked."""
        self.prompts: list[str] = []
        """The last message of each."""

    def __call__(self, role: str, messages: list[BaseMessage]) -> str:
        step, prompt = role.split("/", 1)[1], messages[-1].text
        self.steps.append(step)
        self.prompts.append(prompt)
        replies = self.replies[step]
        return replies(prompt) if callable(replies) else replies.pop(0)

    def model(self, latency: float | Callable[[str], float] = 0.0) -> ScriptedChatModel:
        return ScriptedChatModel(replies=self, latency=latency)


@dataclass
class Walk:
    """One run of a graph."""

    result: dict[str, Any]
    events: list[StepEvent]
    """In their order, without times."""
    edges: set[Edge]
    """The edges of the drawing that were taken; nodes of subgraphs as `subgraph:node`."""
    state: dict[str, Any] = field(default_factory=dict[str, Any])
    """The state at the end, output keys and all others."""


def walk(graph: Any, given: Mapping[str, Any], context: Any) -> Walk:
    """Run a graph and record everything."""
    ran: dict[tuple[str, ...], dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    events: list[StepEvent] = []
    state: dict[str, Any] = {}
    modes = ["debug", "custom", "values"]
    for namespace, mode, chunk in graph.stream(given, context=context, stream_mode=modes, subgraphs=True):
        if mode == "custom":
            chunk["data"].pop("seconds", None)
            events.append(chunk)
        elif mode == "debug" and chunk["type"] == "task":
            ran[namespace][chunk["step"]].add(chunk["payload"]["name"])
        elif mode == "values" and not namespace:
            state = chunk
    drawn = drawn_edges(graph)
    taken: set[Edge] = set()
    for namespace, steps in ran.items():
        prefix = "".join(f"{part.split(':')[0]}:" for part in namespace)
        taken |= _taken(drawn, prefix, steps)
    outputs = _outputs(graph)
    result = {key: value for key, value in state.items() if key in outputs}
    return Walk(result, sorted(events, key=event_order), taken, state)


def _taken(drawn: frozenset[Edge], prefix: str, steps: Mapping[int, set[str]]) -> set[Edge]:
    """Return the drawn edges between nodes of consecutive steps.

    An edge into or out of a subgraph is drawn at the subgraph's own nodes, and is taken when the subgraph ran.
    """
    between: dict[Edge, set[Edge]] = defaultdict(set)
    for edge in drawn:
        source, target = (_at_level(end, prefix) for end in edge)
        if source and target and (source != target or edge[0] == edge[1]):
            between[source, target].add(edge)
    numbers = sorted(steps)
    taken: set[Edge] = set()
    for before, after in zip([None, *numbers], [*numbers, None], strict=True):
        sources = {"__start__"} if before is None else steps[before]
        targets = {"__end__"} if after is None else steps[after]
        for pair in ((source, target) for source in sources for target in targets):
            taken |= between[pair]
    return taken


def _at_level(end: str, prefix: str) -> str:
    """Return the node of a graph that contains an edge's end; empty if it is outside the graph."""
    return end[len(prefix) :].split(":")[0] if end.startswith(prefix) else ""


@cache
def _outputs(graph: Any) -> frozenset[str]:
    return frozenset(graph.get_output_jsonschema()["properties"])


@cache
def drawn_edges(graph: Any) -> frozenset[Edge]:
    """Return the edges of a graph's drawing, including subgraphs but without those of human review."""
    edges = {(edge.source, edge.target) for edge in graph.get_graph(xray=True).edges}
    return frozenset(edge for edge in edges if not any(end.split(":")[-1].startswith("review_") for end in edge))
