"""Answer the question by chains of thought over what was kept, once or once for each sample."""

from collections.abc import Sequence
from dataclasses import replace

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import as_short, ask_all, calls_of, is_cut_off
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.reply_text import knowledge_passage
from hopgraph.nodes.reading import kept_passages, read_answer, reader_ask
from hopgraph.state import Draft, Evidence, Passage, Update
from hopgraph.state.blendfilter import BlendFilterContext, BlendFilterState


@with_passage_review("knowledge")
async def draft_answers(state: BlendFilterState, runtime: Runtime[BlendFilterContext]) -> Update:
    """Answer step by step from the kept passages (BlendFilter, section 3.4), for all samples at the same time.

    An answer that names no passage rests on one of the model's own. Samples without a usable reply are left out;
    without any, the earlier chain of thought is used. Writes `drafts`, and `passages`.
    """
    settings, (excerpts, shown) = runtime.context, kept_passages(state)
    wanted = reader_ask(state["question"], settings, step="answer_step_by_step", passages=shown or None)
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
        "cut_off": is_cut_off(answers),
        "calls": calls_of(answers),
    }


def sampling_at(top_p: float, temperature: float | None) -> dict[str, float]:
    """Say how to sample from the most likely words that make up `top_p` of the probability.

    At 0 by a temperature of 0, as some servers refuse that top_p; above it at the settings' temperature, else 1, not 0.
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
