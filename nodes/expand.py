"""Write the queries for what open paths still lack."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeVar

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import CallResult, ModelCall, RecordT, ask_all, calls_of
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages
from hopgraph.nodes.core.reply_text import LongText, ReplyModel, ShortText, is_dont_know
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.review_tree import passages_on_path, whole_excerpts
from hopgraph.state import Query, Update
from hopgraph.state.events import Expanded
from hopgraph.state.tree_of_reviews import ReviewContext, ReviewNode, ReviewTreeState
from hopgraph.tools.prompts import clean

ReviewContextT = TypeVar("ReviewContextT", bound=ReviewContext)


class Completion(ReplyModel):
    """A reply of the role `complete`: the missing paragraph, from the model's own knowledge."""

    missing: LongText = ""
    """The missing fact, as the model names it before it supplies it."""
    passage: ShortText


@dataclass(frozen=True)
class OpenPath:
    """A path that needs one more paragraph, for which a query is written."""

    question: str
    node: ReviewNode
    """The path's last node; its `analysis` says what is missing, its `query` is the review's own."""
    passages: list[dict[str, str]]
    """The paragraphs on the path, in the form for a prompt."""
    asked: list[str]


ExpandNode = Callable[[ReviewTreeState, Runtime[ReviewContextT]], Awaitable[Update]]


def make_expand_node(
    write: Callable[[OpenPath, ReviewContextT], ModelCall[RecordT] | None], read: Callable[[RecordT], str]
) -> ExpandNode[ReviewContextT]:
    """Return the node that writes a query for each path of the frontier, concurrently (section 3.4).

    `write` makes the call for a path, None if the review's own query is used; `read` extracts the query from its
    reply, blank if there is none: then the review's own is used, else the question. The node writes `tree`,
    `queries` with `frontier` in the same order, and the next `iteration`, the depth of what will be found. A path that
    the budget does not cover is left unchanged.
    """

    async def expand(state: ReviewTreeState, runtime: Runtime[ReviewContextT]) -> Update:
        nodes = [state["tree"][key] for key in state["frontier"]]
        passages = passages_by_id(state["passages"])
        wanted: dict[str, ModelCall[RecordT] | None] = {}
        for node in nodes:
            excerpts = whole_excerpts(passages_on_path(state["tree"], node), passages)
            path = OpenPath(state["question"], node, prompt_passages(excerpts, passages), state["asked"])
            wanted[node["id"]] = write(path, runtime.context)
        asks = {key: each for key, each in wanted.items() if each is not None}
        answers = await ask_all(runtime, state, list(asks.values()))
        replies = dict(zip(asks, answers, strict=True))
        cut_off = {key for key, answer in replies.items() if answer.outcome == "budget"}
        reached = [node for node in nodes if node["id"] not in cut_off]
        expanded: list[ReviewNode] = []
        for node in reached:
            written = _written(replies.get(node["id"]), read)
            query = written or node["query"] or state["question"]
            expanded.append({**node, "status": "expanded", "query": query})
            author = "call" if written else "review" if node["query"] else "question"
            emit(runtime, Expanded(id=node["id"], depth=node["depth"], query=query, written_by=author))
        update: Update = {
            "tree": {node["id"]: node for node in expanded},
            "queries": [Query(text=node["query"], why=node["analysis"]) for node in expanded],
            "frontier": [node["id"] for node in expanded],
            "calls": calls_of(answers),
        }
        if expanded:
            update["iteration"] = expanded[0]["depth"] + 1
        if len(reached) < len(nodes):
            update["stop_reason"] = "budget"
        return update

    return expand


def _written(answer: CallResult[RecordT] | None, read: Callable[[RecordT], str]) -> str:
    if answer is None or answer.outcome != "replied":
        return ""
    text = " ".join(clean(read(answer.record)).split())
    return "" if is_dont_know(text) else text


def _complete(path: OpenPath, settings: ReviewContext) -> ModelCall[Completion] | None:
    if settings.expansion != "mpc":
        return None
    variables = {"passages": path.passages, "question": path.question}
    return ModelCall("complete", variables, Completion, Completion(passage=""))


expand = make_expand_node(_complete, attrgetter("passage"))
"""Expand according to the setting `expansion`: with missing paragraph completion, or the review's own queries."""
