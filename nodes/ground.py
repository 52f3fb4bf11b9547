"""Ground an immediate answer in batches of passages, and close its hop with the grounded or the generated answer."""

import re
from collections.abc import Mapping, Sequence
from typing import Self, cast

from langgraph.runtime import Runtime
from pydantic import JsonValue, field_validator, model_validator

from hopgraph.nodes.core.ask import CallResult, ModelCall, answer_type_variable, ask_all, calls_of
from hopgraph.nodes.core.evidence_review import review_statements
from hopgraph.nodes.core.excerpts import candidate_excerpts, passages_by_id, prompt_passages, quoted, with_title
from hopgraph.nodes.core.method_graph import HumanReview, reviewed_by
from hopgraph.nodes.core.reply_text import ReplyModel, ShortText, is_dont_know, short_answer
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.hops.hop_history import accept_generated, asks_whole_question, calls_after_hop, close_hop
from hopgraph.state import Context, Evidence, Excerpt, Passage, Update
from hopgraph.state.events import Grounded
from hopgraph.state.genground import GengroundContext, GengroundState, Grounding
from hopgraph.state.hops import Hop, HopsState
from hopgraph.tools.prompts import Value, clean
from hopgraph.tools.text import content_terms, split_sentences

_TAG = re.compile(r"</?(?:ref|revise)\b[^>]{0,20}>", re.IGNORECASE)
_TAGGED = re.compile(r"<(ref|revise)\b[^>]{0,20}>(.*?)(?=</?(?:ref|revise)\b|\Z)", re.IGNORECASE | re.DOTALL)
_EMPTY = frozenset({"", "empty", "none", "null", "n/a"})


class GroundReply(ReplyModel):
    """A reply of the role `ground`: the citation, and the answer that follows from it."""

    ref: ShortText
    """The citation; Empty if nothing in the passages helps."""
    revise: ShortText = ""

    @model_validator(mode="before")
    @classmethod
    def _null_is_empty(cls, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        fields = cast("Mapping[str, object]", value)
        return {"ref": "Empty"} if fields.get("ref", "") is None else fields

    @classmethod
    def read_paper_form(cls, text: str) -> dict[str, JsonValue] | None:
        """Parse `<ref>…</ref> <revise>…</revise>`, as written by the paper's models; None without a ref."""
        found = {tag.lower(): said for tag, said in _TAGGED.findall(text)}
        return {"ref": found["ref"], "revise": found.get("revise", "")} if "ref" in found else None

    @field_validator("ref", "revise", mode="before")
    @classmethod
    def _untagged(cls, value: object) -> object:
        """Remove the paper's tags, for models that were trained to write them."""
        return _TAG.sub("", value).strip() if isinstance(value, str) else value

    @model_validator(mode="after")
    def _revised(self) -> Self:
        if not self.is_empty and not self.revise:
            raise ValueError("ref is given but revise is not")
        return self

    @property
    def is_empty(self) -> bool:
        """Return whether nothing is cited."""
        return self.ref.casefold().strip(" .\"'") in _EMPTY


async def ground(state: GengroundState, runtime: Runtime[GengroundContext]) -> Update:
    """Ask whether the next batch of passages supports or corrects the generated answer (sections 3.2, 3.3).

    Writes `grounding` and `read`. With `speculative_batches` all batches are asked concurrently and the first that
    cites is used. A citation counts only if a shown passage supports each of its sentences (*ours*): else the batch is
    retried once, and the model is told which were not found. If the second reply cites nothing better, the batch
    counts as Empty, as does one without a usable reply; the revised answer stays in `grounding`, without evidence, in
    case no later batch is cited. If the budget is insufficient, the rest stays unread and `stop_reason` says so.
    """
    settings, passages, hop = runtime.context, passages_by_id(state["passages"]), state["hops"][-1]
    found = candidate_excerpts(state["candidates"], passages)
    size = settings.batch_size if settings.batches else max(1, len(found))
    doubt = state["grounding"]
    again = doubt is not None and doubt["batch"] == state["read"] // size + 1
    starts = range(state["read"], len(found), size)
    at_once = settings.speculative_batches and not again
    batches = [found[start : start + size] for start in (starts if at_once else starts[:1])]
    not_found = doubt["not_found"] if doubt and again else []
    asks = [ground_ask(state, settings, prompt_passages(batch, passages), not_found) for batch in batches]
    answers = await ask_all(runtime, state, asks, reserve_calls=calls_after_hop(hop, state["question"], settings))
    update: Update = {"grounding": doubt, "read": state["read"], "calls": calls_of(answers)}
    for batch, answered in zip(batches, answers, strict=True):
        if answered.outcome == "budget":
            return {**update, "read": len(found), "stop_reason": "budget"}
        read = _read(answered, update["read"] // size + 1, batch, passages, hop, runtime)
        if read and not read["evidence"] and doubt is None:  # to be asked about once more
            return {**update, "grounding": read}
        update["read"] += len(batch)
        if again or (read and read["evidence"]):
            return {**update, "grounding": read if answered.outcome == "replied" else doubt}
    return update


def ground_ask(
    state: HopsState, settings: GengroundContext, batch: Sequence[Mapping[str, str]], not_found: Sequence[str] = ()
) -> ModelCall[GroundReply]:
    """Return the request about the open hop and a batch of passages; the fallback is Empty."""
    hop = state["hops"][-1]
    variables: dict[str, Value] = {"passages": batch, "question": hop["question"], "generated_answer": hop["generated"]}
    if asks_whole_question(hop, state["question"]):
        variables |= answer_type_variable(settings)
    if not_found:
        variables["not_found"] = not_found
    return ModelCall("ground", variables, GroundReply, GroundReply(ref="Empty"))


def _read(
    answered: CallResult[GroundReply],
    number: int,
    batch: Sequence[Excerpt],
    passages: Mapping[str, Passage],
    hop: Hop,
    runtime: Runtime[GengroundContext],
) -> Grounding | None:
    reply = answered.record
    cited, answer = clean(reply.ref).strip(), short_answer(reply.revise)
    empty = reply.is_empty or is_dont_know(answer)
    shown = [passages[excerpt["passage_id"]] for excerpt in batch]
    sentences = sentences_cited(cited)
    found = {each: citing_passage(each, shown) for each in sentences}
    least = max(runtime.context.min_citation_overlap, 1e-9)
    not_found = [each for each, (_, overlap) in found.items() if overlap < least]
    carried = not empty and not not_found
    event = Grounded(
        hop=hop["number"],
        batch=number,
        question=hop["question"],
        passage_ids=[excerpt["passage_id"] for excerpt in batch],
        outcome="cited" if carried else ("empty" if empty else "not carried"),
        cited="" if empty else cited,
        answer="" if empty else answer,
        passage_id=found[sentences[0]][0] if carried else "",
        overlap=round(min(overlap for _, overlap in found.values()), 4),
    )
    emit(runtime, event)
    if empty:
        return None
    evidence = [
        Evidence(id=f"{hop['number']}.{number}.{at}", statement=each, passage_ids=[key], quote="", verified=True)
        for at, (each, (key, _)) in enumerate(found.items(), start=1)
        if carried
    ]
    cites = [quoted(each, passages) for each in evidence]
    return Grounding(batch=number, answer=answer, evidence=cites, not_found=not_found)


def sentences_cited(cited: str) -> list[str]:
    """Split a citation into its sentences, without those that have no content; at least one."""
    sentences = [cited[start:end] for start, end in split_sentences(cited)]
    return [each for each in sentences if content_terms(each)] or [cited]


def citing_passage(cited: str, passages: Sequence[Passage]) -> tuple[str, float]:
    """Return the passage that best matches a cited sentence, the first in a tie; "" if there are no passages.

    Also return the share of the sentence's distinct terms in its title or text, 0 to 1.
    """
    wanted = frozenset(content_terms(cited))
    best, most = "", 0.0
    for passage in passages:
        overlap = len(wanted & frozenset(content_terms(with_title(passage)))) / len(wanted) if wanted else 0.0
        if overlap > most or not best:
            best, most = passage["id"], overlap
    return best, most


async def review_citation(state: GengroundState, runtime: Runtime[Context]) -> Update:
    """Let a person review the citation first; writes the rest of it to `grounding`, their words to `passages`."""
    grounding, hop = state["grounding"], state["hops"][-1]["number"]
    cited = grounding["evidence"] if grounding else []
    update = review_statements(cited, state["passages"], runtime, question=state["question"], hop=hop)
    return {**update, "evidence": [], "grounding": grounding and {**grounding, "evidence": update["evidence"]}}


@reviewed_by(HumanReview("review_citation", "review_evidence", review_citation))
async def revise(state: GengroundState, runtime: Runtime[Context]) -> Update:
    """Write the revised answer to the last of `hops`, supported by the cited passages (GenGround, section 3.2)."""
    grounding, done = state["grounding"], {"grounding": None, "read": 0}
    if grounding is None or not grounding["evidence"]:
        return {**accept_generated(state["hops"], runtime), **done}
    hops = close_hop(state["hops"], grounding["evidence"], grounding["answer"], runtime)
    return {"hops": hops, "evidence": grounding["evidence"], **done}


async def keep_memory_answer(state: GengroundState, runtime: Runtime[Context]) -> Update:
    """Write the generated answer, or one revised without a citation (*ours*), to `hops`, as not grounded (3.3)."""
    revised = state["grounding"]["answer"] if state["grounding"] else ""
    return {**accept_generated(state["hops"], runtime, revised=revised), "grounding": None, "read": 0}
