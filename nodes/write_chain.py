"""Write a chain of queries with their answers."""

from typing import Annotated

from langgraph.runtime import Runtime
from pydantic import BeforeValidator

from hopgraph.nodes.core.ask import ModelCall, ask, calls_of
from hopgraph.nodes.core.reply_text import (
    ReplyModel,
    ShortText,
    normalized_query,
    read_list,
    schema_hint,
    short_answer,
)
from hopgraph.nodes.hops.hop_history import answered_lines
from hopgraph.nodes.parts import report_parts
from hopgraph.nodes.reading import kept_passages
from hopgraph.state import Update
from hopgraph.state.baselines import SearchainContext, SearchainState
from hopgraph.tools.prompts import Value, clean
from hopgraph.tools.text.comparison import lexical_similarity

_SAME = 0.9  # how similar the words of two queries are that ask the same


class ChainLink(ReplyModel):
    """A query with its answer; empty if it is unsolved."""

    query: ShortText
    answer: ShortText = ""


class QueryChain(ReplyModel):
    """A reply of the role `write_chain`."""

    chain: Annotated[list[ChainLink], BeforeValidator(read_list), schema_hint(maxItems=10)]


async def write_chain(state: SearchainState, runtime: Runtime[SearchainContext]) -> Update:
    """Ask for a chain of queries that leads to the answer, given the checked nodes (SearChain).

    The feedback shows the passages of the last node, too. The model may keep its answer: one to a node that it gives
    again, with another answer, takes the place of that node's, as not grounded. A query that is still unsolved may
    come again. Writes `sub_questions`, those checked and after them what is new of the chain, `claims`, their answers,
    and `hops`. Nothing is new after the last round, or at the limit of nodes. Without a usable chain the question
    itself is the first node.
    """
    settings, question, hops = runtime.context, state["question"], [*state["hops"]]
    known, chain = [hop["question"] for hop in hops], dict[str, str]()
    if state["rounds"] >= settings.max_rounds or len(hops) >= settings.max_hops:
        return {"sub_questions": known, "stop_reason": "max_iterations"}
    variables: dict[str, Value] = {"question": question, "history": answered_lines(hops, settings)}
    if hops and (shown := kept_passages(state)[1]):
        variables["passages"] = shown
    answered = await ask(runtime, state, ModelCall("write_chain", variables, QueryChain, QueryChain(chain=[])))
    update = {"rounds": state["rounds"] + 1, "calls": calls_of([answered])}
    if answered.outcome == "budget":
        return {**update, "sub_questions": known or [question], "stop_reason": "budget"}
    kept = dict[int, str]()
    for link in answered.record.chain[: 2 * settings.max_hops]:
        query, claim = " ".join(clean(link.query).split()), short_answer(link.answer)
        claim = "" if normalized_query(claim) in {"unsolved", "unknown"} else claim
        same = next((at for at, each in enumerate(known) if _asks_the_same(query, each)), None)
        if same is not None and claim and normalized_query(claim) != normalized_query(hops[same]["answer"]):
            kept[same] = claim
        seen = any(_asks_the_same(query, each) for each in chain)
        seen = seen or (same is not None and (bool(claim) or hops[same]["grounded"]))
        if normalized_query(query) and not seen and len(known) + len(chain) < settings.max_hops:
            chain[query] = claim
    if chain := chain or ({} if hops else {question: ""}):
        report_parts(question, list(chain), runtime, prefix=str(update["rounds"]))
    for at, claim in kept.items():
        hops[at] = {**hops[at], "answer": claim, "grounded": False, "quote": ""}
    claims = [*[""] * len(known), *chain.values()]
    return {**update, "hops": hops, "sub_questions": [*known, *chain], "claims": claims}


def _asks_the_same(query: str, other: str) -> bool:
    return query == other or lexical_similarity(query, other) >= _SAME
