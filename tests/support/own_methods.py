"""Code of custom methods."""

import sys
from pathlib import Path

import pytest

from hopgraph.graphs import METHODS

NATIVE = '''"""Short way: retrieve, then answer."""

from hopgraph.graphs.baselines import chain
from hopgraph.nodes.reading import make_answer_node
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.selection import take_top
from hopgraph.state import Context as Base
from hopgraph.state.context import setting


class Context(Base):
    """Settings."""

    method = "short_way"
    steps = ("answer",)

    max_outage: int = setting("Method", 3, "how long it waits", ge=1)


graph = chain(Context, retrieve=retrieve, take_top=take_top, answer=make_answer_node())().compile(name="Short")
'''
"""A method of the project's own nodes."""

PLAIN = '''"""Plain: a graph that knows nothing of hopgraph."""

from dataclasses import dataclass

from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from typing_extensions import TypedDict


@dataclass
class Tone:
    tone: str = "mild"
    times: int = 2


class S(TypedDict, total=False):
    question: str
    answer: str
    passages: list
    citations: list


def go(state: S, runtime: Runtime[Tone]):
    write = get_stream_writer()
    write({"event": "thinking", "how": [1, object()]})
    write("plain words")
    return {"answer": f"{runtime.context.tone} answer to {state['question']} x{runtime.context.times}"}


def look(state: S):
    said = AIMessage("yes", usage_metadata={"input_tokens": 7, "output_tokens": 3, "total_tokens": 10})
    GenericFakeChatModel(messages=iter([said])).invoke("?")
    document = Document("A text.", id="d1", metadata={"title": "T"})
    cited = {"passage_id": "d1", "title": "T", "quote": "A text.", "start": 0, "end": 7, "kind": "passage"}
    return {"answer": "yes", "passages": [document], "citations": [cited]}


def made(node, state=S, context=None):
    builder = StateGraph(state, context_schema=context)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.add_edge("node", END)
    return builder.compile()


graph = made(go, context=Tone)
other = made(go, context=Tone)
rich = made(look)
bad = made(lambda state: {"answer": "x", "passages": [1]})
messages = made(lambda state: {}, MessagesState)
'''
"""Graphs of others: with a context, with a model and passages, and some that cannot be used."""


ASKING = (
    PLAIN
    + """
import asyncio

from langgraph.types import interrupt


def confirm(state: S):
    look(state)
    return {"answer": interrupt({"which": "one or two?"})}


def insist(state: S):
    for _ in range(5):
        look(state)
    return {"answer": "five calls"}


async def linger(state: S):
    await asyncio.sleep(60)
    return {"answer": "late"}


graph = made(confirm)
calls = made(insist)
slow = made(linger)
"""
)
"""A graph that asks a person, one with five model calls, and one that takes a minute."""


def write_package(folder: Path, **methods: str) -> None:
    """Write an installed package that provides methods by entry points."""
    info = folder / "external-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: of-others\nVersion: 1.0\n", "utf-8")
    offered = "".join(f"{name} = pkg_{name}:graph\n" for name in methods)
    (info / "entry_points.txt").write_text(f"[hopgraph.methods]\n{offered}", "utf-8")
    for name, code in methods.items():
        (folder / f"pkg_{name}.py").write_text(code, "utf-8")


def forget_added_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove methods added by a test at its end."""
    for name in ("_places", "_loaded"):
        monkeypatch.setattr(METHODS, name, dict(METHODS.__dict__[name]))
    monkeypatch.setattr(sys, "path", [*sys.path])


VARIANT = '''"""Own fork: the reader of BlendFilter, with a note on what it did."""

from langgraph.runtime import Runtime

from hopgraph.graphs import blendfilter
from hopgraph.nodes.draft_answers import draft_answers
from hopgraph.state.blendfilter import BlendFilterState


async def noted(state: BlendFilterState, runtime: Runtime[blendfilter.Context]):
    return await draft_answers(state, runtime)


graph = blendfilter.build(nodes={"answer": noted}).compile(name="Noted")
other = blendfilter.build(nodes={"answer": noted}).compile(name="Other")
'''
"""A variant of a method of ours, without a Context of its own."""
