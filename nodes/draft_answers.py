"""Answer the question by chains of thought over what was kept, once or once for each sample."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.answer import excerpts_of_all_queries, read_answer, reader_ask
from hopgraph.nodes.core.ask import as_short, ask_all, calls_of
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages
from hopgraph.nodes.core.reply_text import knowledge_passage
from hopgraph.state import Draft, Evidence, Passage
from hopgraph.state.blendfilter import BlendFilterContext, BlendFilterState


@with_passage_review("knowledge")
async def draft_answers(state: BlendFilterState, runtime: Runtime[BlendFilterContext]) -> Mapping[str, Any]:
    """Answer step by step from the kept passages (BlendFilter, section 3.4), for all samples at the same time.

    The reader prefers passages and fills gaps; an answer that names no passage rests on one of the model's own, so that
    it is cited as such. A sample whose reply could not be used, or that the budget does not cover, is left out;
    without any, the earlier chain of thought is used. Writes `drafts`, and `passages` for own knowledge.
    """
    settings, passages = runtime.context, passages_by_id(state["passages"])
    excerpts = excerpts_of_all_queries(state["knowledge"])
    wanted = reader_ask(
        state["question"], settings, step="answer_step_by_step", passages=prompt_passages(excerpts, passages) or None
    )
    samples = [sampling_at(top_p, settings.temperature) for top_p in settings.sample_top_p] or [{}]
    answers = await ask_all(
        runtime, state, [replace(wanted, sample=number, sampling=sampling) for number, sampling in enumerate(samples)]
    )
    drafts = [
        read_answer(answered, as_short(settings), excerpts, evidence_id=f"1.1.{number}", question=state["question"])
        for number, answered in enumerate(answers, start=1)
        if answered.outcome == "replied"
    ] or [Draft(**each) for each in state["reasoned"]]
    return {
        "drafts": drafts,
        "passages": _own_words(drafts),
        "cut_off": any(answered.outcome == "budget" for answered in answers),
        "calls": calls_of(answers),
    }


def sampling_at(top_p: float, temperature: float | None) -> dict[str, float]:
    """Say how to sample from the most likely words that make up `top_p` of the probability.

    At 0 that is the likeliest word alone, which is asked for by a temperature of 0, since some servers refuse
    a top_p of 0. Above it the temperature must not be 0; it is the settings' one, else 1.
    """
    if top_p <= 0:
        return {"temperature": 0.0}
    return {"temperature": temperature or 1.0, "top_p": top_p}


def _own_words(drafts: Sequence[Draft]) -> list[Passage]:
    """Let each draft with an answer that names no passage rest on one of the model's own, which is what it says."""
    own: list[Passage] = []
    for number, draft in enumerate(drafts, start=1):
        if draft["answer"] and not draft["evidence"]:
            said = draft["reasoning"] or draft["answer"]
            own.append(knowledge_passage(f"1.{number}", said))
            ids = [own[-1]["id"]]
            draft["evidence"] = [
                Evidence(id=f"1.1.{number}", statement=said, passage_ids=ids, quote="", verified=False)
            ]
    return own
