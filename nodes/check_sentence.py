"""Check a sentence against what it cites, against memory, and against what is looked up for it."""

from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import ask, calls_of
from hopgraph.nodes.core.evidence_review import with_statement_review
from hopgraph.nodes.core.excerpts import passages_by_id, quoted, with_title
from hopgraph.nodes.core.pair_scoring import score_pairs
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.decide import final_answer
from hopgraph.nodes.generate_queries import new_queries
from hopgraph.nodes.next_sentence import memory_of
from hopgraph.nodes.verifying_questions import verifying_ask
from hopgraph.state import Call, Evidence, Query, Update
from hopgraph.state.events import CheckedStatement, QueriesGenerated, Verified
from hopgraph.state.revising import VtgContext, VtgState
from hopgraph.tools.resources import get_entailment_checker


async def check_sentence(state: VtgState, runtime: Runtime[VtgContext]) -> Update:
    """Move the sentence from `drafts` to `evidence` if passages entail it: those cited, else others in memory (VTG)."""
    [draft], passages = state["drafts"], passages_by_id(state["passages"])
    checker, cited = await get_entailment_checker(runtime.context), draft["passage_ids"]
    others = [each["passage_id"] for each in memory_of(state) if each["passage_id"] not in cited]
    scores, calls, supporting = list[float](), dict[str, Call](), list[list[str]]()
    for choices in ([*([key] for key in cited), *([cited] if len(cited) > 1 else [])], [[key] for key in others]):
        premises = ["\n\n".join(with_title(passages[key]) for key in choice) for choice in choices]
        found, took = await score_pairs(runtime, checker, [(each, draft["statement"]) for each in premises])
        scores, calls = [*scores, *found], {**calls, **took}
        supporting += [choice for choice, score in zip(choices, found, strict=True) if score >= checker.threshold]
        if supporting:
            break
    best = max(scores, default=0.0)
    checked = CheckedStatement(id=draft["id"], statement=draft["statement"], score=best, kept=bool(supporting))
    emit(runtime, Verified(statements=[checked], repeated=0))
    if not supporting:
        return {"calls": calls}
    kept = quoted(Evidence({**draft, "passage_ids": supporting[0], "verified": True}), passages)
    return {"drafts": [], "evidence": [kept], "calls": calls}


async def ask_about_sentence(state: VtgState, runtime: Runtime[VtgContext]) -> Update:
    """Write `queries` for a sentence without support, as the model asks; without a usable one it is its own query."""
    sentence, most = state["drafts"][0]["statement"], runtime.context.max_queries
    answered = await ask(runtime, state, verifying_ask(sentence, state["question"], most=most))
    if answered.outcome == "budget":
        return {"drafts": [], "stop_reason": "budget", "calls": calls_of([answered])}
    queries = new_queries(answered.record, known=[], why=sentence)[:most] or [Query(text=sentence, why=sentence)]
    emit(runtime, QueriesGenerated(queries=[query["text"] for query in queries], missing=sentence))
    return {"queries": queries, "iteration": state["iteration"] + 1, "calls": calls_of([answered])}


@with_statement_review
async def answer_from_sentences(state: VtgState, runtime: Runtime[Any]) -> Update:
    """Write the short answer that the sentences allow, as MIGRES's `final_answer` does from its statements."""
    return await final_answer(state, runtime)
