"""Let the model write passages that answer questions, from what it knows itself."""

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import Ask, ask, spending_update
from hopgraph.nodes.core.excerpts import whole_excerpt
from hopgraph.nodes.core.reply_text import LongText, ReplyModel, knowledge_passage
from hopgraph.nodes.recall_knowledge import read_recalled
from hopgraph.state import Knowledge, Update
from hopgraph.state.baselines import GenReadContext, PartsState


class WrittenPassage(ReplyModel):
    """A reply of the role `write_passage`."""

    passage: LongText


def knowledge_ask(question: str) -> Ask[WrittenPassage]:
    """Make the question to a model that writes a passage from own knowledge; the fallback is to have none."""
    return Ask("write_passage", {"question": question}, WrittenPassage, WrittenPassage(passage=""))


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
        **spending_update(state, [answered]),
    }
