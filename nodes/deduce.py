"""Deduce the next question on the way to an answer, or the final answer."""

from collections.abc import Callable, Sequence
from typing import Literal

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import CallResult, ModelCall, answer_type_variable, ask, calls_of, without_yes_no
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages, quoted
from hopgraph.nodes.core.method_graph import Node
from hopgraph.nodes.core.reply_text import is_dont_know, normalized_query, short_answer
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.hops.hop_history import (
    answered_lines,
    answers_so_far,
    close_hop,
    evidence_of_hops,
    observed_excerpts,
    observed_lines,
    open_hop,
)
from hopgraph.nodes.hops.next_step import Deduction, NextStep
from hopgraph.nodes.reading import AnswerReply, answer_update, read_answer
from hopgraph.state import Context, Excerpt, Query, Update
from hopgraph.state.events import Deduced
from hopgraph.state.hops import Hop, HopsContext, HopsState
from hopgraph.tools.prompts import Value, clean


def make_deduce_node(
    step: str,
    reply: type[NextStep],
    *,
    show_passages: bool = False,
    answers_last: bool = False,
    so_far: Callable[[Sequence[Hop], Context], dict[str, Value]] = answers_so_far,
) -> Node:
    """Return the node that asks for the next question or the final answer (GenGround, section 3.1).

    `show_passages`: show the passages of all hops, with the hops as thoughts, actions and observations; else the hops'
    questions with their answers, or the result of `so_far`. `answers_last`: the reply also answers the last hop's
    question (Self-Ask in one prompt), from the passages of all hops and the others' answers.

    It opens a hop with its question as the only query, or writes a final answer. It does neither if no other hop makes
    sense: the hop limit is reached (`max_iterations`), the budget is used up (`budget`), or the question was asked
    before. After an unusable reply the whole question is asked.
    """

    async def deduce(state: HopsState, runtime: Runtime[HopsContext]) -> Update:
        if state["stop_reason"] == "budget":  # it cut the last hop short
            return {"queries": []}
        shows = show_passages or answers_last
        excerpts = observed_excerpts(state, passages_by_id(state["passages"])) if shows else []
        variables = _variables(state, runtime.context, excerpts if shows else None, so_far, answers_last=answers_last)
        wanted = ModelCall[NextStep](step, variables, reply, reply.asking(state["question"]))
        answered = await ask(runtime, state, wanted)
        calls, wish = calls_of([answered]), answered.record.deduction()
        if answered.outcome == "budget":
            return {"queries": [], "stop_reason": "budget", "calls": calls}
        closed: Update = {}
        if answers_last and state["hops"] and wish.earlier is not None:
            closed = _close_last(state, runtime, _with_record(answered, wish.earlier), excerpts)
            state = {**state, "hops": closed["hops"], "evidence": [*state["evidence"], *closed["evidence"]]}
        if wish.final is not None:
            return {**closed, **_finished(state, runtime, _with_record(answered, wish.final), excerpts)}
        return {**closed, **_next_hop(state, runtime, wish), "calls": calls}

    return deduce


def _variables(
    state: HopsState,
    settings: HopsContext,
    excerpts: list[Excerpt] | None,
    so_far: Callable[[Sequence[Hop], Context], dict[str, Value]],
    *,
    answers_last: bool,
) -> dict[str, Value]:
    variables: dict[str, Value] = {"question": state["question"], **answer_type_variable(settings)}
    hops = state["hops"]
    if answers_last:
        variables["history"] = answered_lines(hops[:-1], settings)
        variables |= {"follow_up": hops[-1]["question"]} if hops else {}
    else:
        variables |= so_far(hops, settings) if excerpts is None else {"history": observed_lines(hops, excerpts)}
    if excerpts is not None:
        variables["passages"] = prompt_passages(excerpts, passages_by_id(state["passages"]))
    return variables


def _with_record(answered: CallResult[NextStep], record: AnswerReply) -> CallResult[AnswerReply]:
    return CallResult(record, answered.outcome, answered.id, answered.call)


def _close_last(
    state: HopsState, runtime: Runtime[HopsContext], answered: CallResult[AnswerReply], excerpts: list[Excerpt]
) -> Update:
    """Close the last hop with the reply's answer; the hop keeps the passages that its search found."""
    hop, passages = state["hops"][-1], passages_by_id(state["passages"])
    settings = without_yes_no(runtime.context)
    reading = read_answer(answered, settings, excerpts, evidence_id=f"{hop['number']}.1.1", question=hop["question"])
    evidence = [quoted(each, passages) for each in reading["evidence"]]
    *before, closed = close_hop(state["hops"], evidence, reading["answer"], runtime)
    return {"hops": [*before, Hop({**closed, "passage_ids": hop["passage_ids"]})], "evidence": evidence}


def _finished(
    state: HopsState, runtime: Runtime[HopsContext], answered: CallResult[AnswerReply], excerpts: list[Excerpt]
) -> Update:
    number = len(state["hops"]) + 1
    reading = read_answer(answered, runtime.context, excerpts, evidence_id=f"{number}.1.1", question=state["question"])
    update = answer_update(evidence_of_hops(reading, state, runtime.context), answered, runtime)
    return {**update, "queries": [], "iteration": len(state["hops"])}


def _next_hop(state: HopsState, runtime: Runtime[HopsContext], wish: Deduction) -> Update:
    hops, question = state["hops"], wish.question
    number, generated = len(hops) + 1, short_answer(wish.generated)
    first = [state["question"]] if state["knowledge"] else []  # it was searched for before any hop
    repeated = normalized_query(question) in {normalized_query(each) for each in first + [h["question"] for h in hops]}
    at_limit = len(hops) >= runtime.context.max_hops
    thought, generated = clean(wish.thought).strip(), "" if is_dont_know(generated) else generated
    hop = open_hop(number, question, generated=generated, thought=thought)
    said = {"question": question, "thought": thought, "generated": generated}
    emit(runtime, Deduced(hop=number, **said, repeated=repeated, limit=at_limit))
    if at_limit or repeated:
        return {"queries": [], "stop_reason": "max_iterations" if at_limit else None, "iteration": len(hops)}
    return {"hops": [*hops, hop], "queries": [Query(text=question, why=hop["thought"])], "iteration": number}


def route_deduced(state: HopsState) -> Literal["next question", "finished", "no further hop"]:
    """Route after a deduction: look up a question, end with the final answer, or give a best-effort answer."""
    if state["queries"]:
        return "next question"
    return "finished" if state["stop_reason"] in ("answered", "unanswerable") else "no further hop"
