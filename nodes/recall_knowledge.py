"""Let the model write what it knows itself."""

from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import ModelCall, ask, ask_all, calls_of, usage_update
from hopgraph.nodes.core.excerpts import whole_excerpt
from hopgraph.nodes.core.reply_text import LongText, ReplyModel, is_dont_know, knowledge_passage
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.extract import question_of_query
from hopgraph.state import Knowledge, Passage, Update
from hopgraph.state.baselines import GenReadContext, PartsState
from hopgraph.state.events import Recalled
from hopgraph.state.migres import MigresContext, MigresState
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


async def recall_knowledge(state: MigresState, runtime: Runtime[MigresContext]) -> Update:
    """Ask for the model's own knowledge on queries without passages (MIGRES section 3.2).

    With `extraction=joint` on the first query alone, as in the authors' code; else on each (*ours*). Reads `knowledge`,
    `question` and `iteration`. Writes what was recalled as an excerpt of `knowledge` and as one of `passages`.
    """
    empty = [index for index, entry in enumerate(state["knowledge"]) if not entry["excerpts"]]
    empty = empty[:1] if runtime.context.extraction == "joint" else empty
    queries = [state["knowledge"][index]["query"] for index in empty]
    nothing = RecallReply(knowledge="")
    variables = [question_of_query(query, state["question"]) for query in queries]
    asks = [ModelCall("recall_knowledge", each, RecallReply, nothing) for each in variables]
    answers = await ask_all(runtime, state, asks)
    knowledge, passages = list(state["knowledge"]), list[Passage]()
    for index, answer in zip(empty, answers, strict=True):
        query = knowledge[index]["query"]
        if text := read_recalled(answer.record.knowledge, query, runtime):
            passage = knowledge_passage(f"{state['iteration']}.{index + 1}", text, hop=state["iteration"])
            passages.append(passage)
            knowledge[index] = Knowledge(query=query, excerpts=[whole_excerpt(passage, 0.0)])
    return {"knowledge": knowledge, "passages": passages, "calls": calls_of(answers)}


class WrittenPassage(ReplyModel):
    """A reply of the role `write_passage`."""

    passage: LongText


def knowledge_ask(question: str) -> ModelCall[WrittenPassage]:
    """Make the question to a model that writes a passage from own knowledge; the fallback is to have none."""
    return ModelCall("write_passage", {"question": question}, WrittenPassage, WrittenPassage(passage=""))


async def write_passage(state: PartsState, runtime: Runtime[GenReadContext]) -> Update:
    """Write a passage from own knowledge for the query, as the only entry of `knowledge` (GenRead)."""
    [question] = (query["text"] for query in state["queries"])
    reserved = 2 if state["hops"] else 1  # one to read it, and for a part of a question one to compose
    answered = await ask(runtime, state, knowledge_ask(question), reserve_calls=reserved)
    text = read_recalled(answered.record.passage, question, runtime)
    number = state["iteration"]
    written = [knowledge_passage(f"{number}.1", text, hop=number)] if text else []
    return {
        "knowledge": [Knowledge(query=question, excerpts=[whole_excerpt(each, 0.0) for each in written])],
        "passages": written,
        **usage_update(state, [answered]),
    }
