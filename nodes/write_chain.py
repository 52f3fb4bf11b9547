"""Write a chain of queries with their answers."""

from typing import Annotated

from langgraph.runtime import Runtime
from pydantic import BeforeValidator

from hopgraph.nodes.core.ask import Ask, ask, calls_of
from hopgraph.nodes.core.reply_text import (
    ReplyModel,
    ShortText,
    normalized_query,
    read_list,
    schema_hint,
    short_answer,
)
from hopgraph.nodes.hops.hop_history import answered_lines
from hopgraph.nodes.sub_questions import report_parts
from hopgraph.state import Update
from hopgraph.state.revising import SearchainContext, SearchainState
from hopgraph.tools.prompts import Value, clean
from hopgraph.tools.text.comparison import lexical_similarity

_SAME = 0.9  # how similar the words of two queries are that ask the same


class ChainLink(ReplyModel):
    """A query with its answer; empty where it is unsolved."""

    query: ShortText
    answer: ShortText = ""


class QueryChain(ReplyModel):
    """A reply of the role `write_chain`."""

    chain: Annotated[list[ChainLink], BeforeValidator(read_list), schema_hint(maxItems=10)]


async def write_chain(state: SearchainState, runtime: Runtime[SearchainContext]) -> Update:
    """Ask for a chain of queries that leads to the answer, given the nodes that were checked (SearChain).

    Writes `sub_questions`, those checked and after them what is new of the chain, and `claims`, their answers. Nothing
    is new after the last round, or at the limit of nodes. Without a usable chain the question itself is the first node.
    """
    settings, question, hops = runtime.context, state["question"], state["hops"]
    known, chain = [hop["question"] for hop in hops], dict[str, str]()
    if state["rounds"] >= settings.max_rounds or len(hops) >= settings.max_hops:
        return {"sub_questions": known, "stop_reason": "max_iterations"}
    variables: dict[str, Value] = {"question": question, "history": answered_lines(hops)}
    answered = await ask(runtime, state, Ask("write_chain", variables, QueryChain, QueryChain(chain=[])))
    update = {"rounds": state["rounds"] + 1, "calls": calls_of([answered])}
    if answered.outcome == "budget":
        return {**update, "sub_questions": known or [question], "stop_reason": "budget"}
    for link in answered.record.chain[: 2 * settings.max_hops]:
        query, claim = " ".join(clean(link.query).split()), short_answer(link.answer)
        seen = any(lexical_similarity(query, each) >= _SAME or query == each for each in [*known, *chain])
        if normalized_query(query) and not seen and len(known) + len(chain) < settings.max_hops:
            chain[query] = "" if normalized_query(claim) == "unsolved" else claim
    if chain := chain or ({} if hops else {question: ""}):
        report_parts(question, list(chain), runtime, prefix=str(update["rounds"]))
    return {**update, "sub_questions": [*known, *chain], "claims": [*[""] * len(known), *chain.values()]}
