"""Check a node of a chain of queries against the top passage."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import Ask, ask, calls_of
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.excerpts import candidate_excerpts, passages_by_id, prompt_passages, quoted
from hopgraph.nodes.core.reply_text import UNANSWERABLE, ReplyModel, is_dont_know, short_answer
from hopgraph.nodes.decide import DecidedAnswer
from hopgraph.nodes.hops.hop_history import accept_generated, close_hop
from hopgraph.state import Evidence
from hopgraph.state.hops import Hop
from hopgraph.state.revising import SearchainContext, SearchainState
from hopgraph.tools.text.comparison import contains, normalize_answer


class LinkReading(ReplyModel):
    """A reply of the role `read_link`: the answer, with the confidence that the reader states."""

    answer: DecidedAnswer


@with_passage_review("candidates", lambda state: state["hops"][-1]["question"])
async def check_link(state: SearchainState, runtime: Runtime[SearchainContext]) -> Mapping[str, Any]:
    """Answer the node from its best passage, and close its hop with what stands then (SearChain).

    That is the model's answer where the reader gives the same, is less sure than `min_confidence`, or gives none; else
    the reader's, which rests on the passage. Neither has one: the hop is unknown. No passage: no call.
    """
    number, passages = len(state["hops"]), passages_by_id(state["passages"])
    claim = short_answer(state["claims"][number - 1])
    claim = "" if is_dont_know(claim) or normalize_answer(claim) == "unsolved" else claim
    hop = Hop({**state["hops"][-1], "generated": claim})
    hops = [*state["hops"][:-1], hop]
    excerpts = candidate_excerpts(state["candidates"], passages)[:1]
    variables = {"passages": prompt_passages(excerpts, passages), "question": hop["question"]}
    nothing = LinkReading(answer=DecidedAnswer(text=UNANSWERABLE))
    answers = [await ask(runtime, state, Ask("read_link", variables, LinkReading, nothing))] if excerpts else []
    cut_off = any(each.outcome == "budget" for each in answers)
    update = {"stop_reason": "budget" if cut_off else state["stop_reason"], "calls": calls_of(answers)}
    said = "".join(short_answer(each.record.answer.text) for each in answers)
    sure = any((each.record.answer.confidence or 0) >= runtime.context.min_confidence for each in answers)
    agrees = bool(said) and (contains(said, claim) or contains(claim, said))
    if not said or (claim and not agrees and not sure):
        return {**accept_generated(hops, runtime), **update}
    answer = claim if agrees else said
    statement, ids = f"{hop['question']} {answer}", [excerpts[0]["passage_id"]]
    found = Evidence(id=f"{number}.1.1", statement=statement, passage_ids=ids, quote="", verified=False)
    evidence = [quoted(found, passages)]
    return {"hops": close_hop(hops, evidence, answer, runtime), "evidence": evidence, **update}
