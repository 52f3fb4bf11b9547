"""Replace the sentences of a rationale by what was found about them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.answer import read_answer, reader_ask
from hopgraph.nodes.core.ask import as_short, ask_all, calls_of
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages, quoted
from hopgraph.nodes.hops.hop_history import accept_generated, close_hop
from hopgraph.state import Context, Evidence, Passage
from hopgraph.state.hops import Hop
from hopgraph.state.revising import EditingState


@with_passage_review("knowledge")
async def edit_sentences(state: EditingState, runtime: Runtime[Context]) -> Mapping[str, Any]:
    """Answer each verifying question in one sentence, which replaces the one that it checks; all at the same time.

    Closes the hops and writes their `evidence`. A sentence stays, as the model's own knowledge, where nothing was
    found, nothing answers the question or no reply could be used, and where the budget does not reach, as
    `stop_reason` then says. Nothing found: no call.
    """
    settings, passages = as_short(runtime.context), passages_by_id(state["passages"])
    pairs = list(zip(state["hops"], (entry["excerpts"] for entry in state["knowledge"]), strict=True))
    asks = [
        replace(
            reader_ask(hop["question"], settings, passages=prompt_passages(excerpts, passages)),
            step="answer_in_a_sentence",
        )
        for hop, excerpts in pairs
        if excerpts
    ]
    answers = await ask_all(runtime, state, asks)
    replies = iter(answers)
    hops, evidence, own = list[Hop](), list[Evidence](), list[Passage]()
    for hop, excerpts in pairs:
        update: dict[str, Any] = {}
        if excerpts:
            place = f"{hop['number']}.1.1"
            reading = read_answer(next(replies), settings, excerpts, evidence_id=place, question=hop["question"])
            found = [quoted(each, passages) for each in reading.evidence]
            if reading.answer:
                update = {"hops": close_hop([hop], found, reading.answer, runtime), "evidence": found}
        update = update or accept_generated([hop], runtime)
        hops += update["hops"]
        evidence += update.get("evidence", ())
        own += update.get("passages", ())
    cut_off = any(each.outcome == "budget" for each in answers)
    return {
        "hops": hops,
        "evidence": evidence,
        "passages": own,
        "stop_reason": "budget" if cut_off else state["stop_reason"],
        "calls": calls_of(answers),
    }
