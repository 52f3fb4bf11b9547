"""Let the model write what it knows, for queries that kept no passage."""

from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import Ask, ask_all, calls_of
from hopgraph.nodes.core.excerpts import whole_excerpt
from hopgraph.nodes.core.reply_text import LongText, ReplyModel, is_dont_know, knowledge_passage
from hopgraph.nodes.core.step_events import emit
from hopgraph.state import Context, Knowledge, MethodState, Passage, Update
from hopgraph.state.events import Recalled
from hopgraph.tools.prompts import clean


def read_recalled(said: str, query: str, runtime: Runtime[Any]) -> str:
    """Return a reply's own knowledge, cleaned; empty for "I don't know". Reports it as a `recalled` event."""
    text = clean(said).strip()
    known = not is_dont_know(text)
    emit(runtime, Recalled(query=query, known=known, text=text if known else ""))
    return text if known else ""


class RecallReply(ReplyModel):
    """A reply of the role `recall_knowledge`."""

    knowledge: LongText


async def recall_knowledge(state: MethodState, runtime: Runtime[Context]) -> Update:
    """Ask for the model's own knowledge on each query without passages (MIGRES section 3.2; *ours*: per query).

    Reads `knowledge` and `iteration`. Writes what was recalled as an excerpt of `knowledge` and as one of `passages`.
    """
    empty = [index for index, entry in enumerate(state["knowledge"]) if not entry["excerpts"]]
    queries = [state["knowledge"][index]["query"] for index in empty]
    nothing = RecallReply(knowledge="")
    asks = [Ask("recall_knowledge", {"question": query}, RecallReply, nothing) for query in queries]
    answers = await ask_all(runtime, state, asks)
    knowledge, passages = list(state["knowledge"]), list[Passage]()
    for index, answer in zip(empty, answers, strict=True):
        query = knowledge[index]["query"]
        if text := read_recalled(answer.record.knowledge, query, runtime):
            passage = knowledge_passage(f"{state['iteration']}.{index + 1}", text, hop=state["iteration"])
            passages.append(passage)
            knowledge[index] = Knowledge(query=query, excerpts=[whole_excerpt(passage, 0.0)])
    return {"knowledge": knowledge, "passages": passages, "calls": calls_of(answers)}
