"""Mix gold and noise passages, have a teacher ground an answer in them, and filter what it writes."""

from dataclasses import replace
from random import Random

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import ask, calls_of
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages, whole_excerpt, with_title
from hopgraph.nodes.core.reply_text import short_answer
from hopgraph.nodes.distillation.record import UNANSWERED, drop, drop_flawed, make_example
from hopgraph.nodes.ground import GroundReply, citing_passage, ground_ask, sentences_cited
from hopgraph.state import Knowledge, Update
from hopgraph.state.distillation import DistillationState, GroundingDataContext
from hopgraph.tools.text.comparison import contains


async def mix_with_noise(state: DistillationState, runtime: Runtime[GroundingDataContext]) -> Update:
    """Mix the gold passages with others, retrieved or of the question, up to `batch_size`, in a seeded order (*ours*).

    `knowledge` is what is shown, and then, for an example to which the reply is Empty, noise without a gold answer.
    Writes `passages` and `knowledge`.
    """
    source, size = state["source"], runtime.context.batch_size
    every = passages_by_id([*state["passages"], *source["contexts"]])
    noise = [each for key, each in every.items() if key not in source["gold"]]
    mixed = [every[key] for key in source["gold"] if key in every][:size]
    mixed += noise[: size - len(mixed)] if mixed else []
    Random(f"{runtime.context.seed}:{source['id']}").shuffle(mixed)  # noqa: S311 - nothing secret
    empty = [each for each in noise if not any(contains(with_title(each), said) for said in source["answers"])]
    shown = [[whole_excerpt(each, each["score"]) for each in some] for some in (mixed, empty[:size])]
    knowledge = [Knowledge(query=state["question"], excerpts=each) for each in shown]
    return {"passages": source["contexts"], "knowledge": knowledge}


async def ground_with_gold(state: DistillationState, runtime: Runtime[GroundingDataContext]) -> Update:
    """Write to `distilled` the teacher's citation and revision of the answer; it alone sees what is gold (4.1)."""
    source, excerpts = state["source"], state["knowledge"][0]["excerpts"]
    if not excerpts:
        return {"distilled": [drop(source["id"], "no gold passage")]}
    wanted = ground_ask(state, runtime.context, prompt_passages(excerpts, passages_by_id(state["passages"])))
    gold = [f"passage {at}" for at, each in enumerate(excerpts, start=1) if each["passage_id"] in source["gold"]]
    told = replace(wanted, step="ground_given_gold", variables={**wanted.variables, "gold": gold})
    answered = await ask(runtime, state, told)
    reason = UNANSWERED[answered.outcome]
    made = drop(source["id"], reason) if reason else make_example(source["id"], wanted.variables, answered.record)
    return {"distilled": [made], "calls": calls_of([answered])}


async def filter_grounding(state: DistillationState, runtime: Runtime[GroundingDataContext]) -> Update:
    """Drop replies that cite nothing, and those that the gold evidence does not bear out (IGD, Appendix III).

    How is *ours*: the answer holds a gold one, and a gold passage carries each sentence of the citation. With
    `negatives` an example to which the reply is Empty follows one that is kept.
    """
    settings = runtime.context
    made = drop_flawed(state, lambda each: _flaw_of(GroundReply.model_validate(each["reply"]), state, settings))
    empty = prompt_passages(state["knowledge"][1]["excerpts"], passages_by_id(state["passages"]))
    if settings.negatives and empty and not all(each["reason"] for each in made):
        variables, name = ground_ask(state, settings, empty).variables, f"{state['source']['id']}:negative"
        made.append(make_example(name, variables, GroundReply(ref="Empty")))
    return {"distilled": made}


def _flaw_of(reply: GroundReply, state: DistillationState, settings: GroundingDataContext) -> str:
    """Say why a reply is dropped; empty for a good one."""
    if reply.is_empty:
        return "empty citation"
    if not any(contains(short_answer(reply.revise), each) for each in state["source"]["answers"]):
        return "misaligned answer"
    gold = [each for each in state["passages"] if each["id"] in state["source"]["gold"]]
    least = max(settings.min_citation_overlap, 1e-9)
    carried = all(citing_passage(each, gold)[1] >= least for each in sentences_cited(reply.ref))
    return "" if carried else "misaligned citation"
