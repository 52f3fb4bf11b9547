"""Close a run: citations, the ranked passages, the totals; a last model call for a sentence or a long answer."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from hopgraph.nodes.core.answer_form import asks_for_text
from hopgraph.nodes.core.budget import seconds_left
from hopgraph.nodes.core.evidence_review import REVIEWER_SOURCE
from hopgraph.nodes.core.excerpts import passages_by_id
from hopgraph.nodes.core.marked_text import marked_answer
from hopgraph.nodes.core.message_stream import AnswerStream
from hopgraph.nodes.core.reply_text import MODEL_SOURCE, knowledge_passage
from hopgraph.nodes.core.step_events import current_position, emit
from hopgraph.nodes.write_answer import write_full_answer, write_sentence
from hopgraph.state import Call, Citation, Context, Evidence, MethodState, Passage, Update, Usage
from hopgraph.state.events import Answered
from hopgraph.state.schemas import MAX_TEXT_CHARACTERS
from hopgraph.tools.io.background import LONG_SPLIT, maybe_to_thread
from hopgraph.tools.retrieval.passage_metadata import find_origin
from hopgraph.tools.text import content_terms
from hopgraph.tools.text.comparison import find_quote, read_quote

_KINDS: dict[str, Literal["model", "reviewer"]] = {MODEL_SOURCE: "model", REVIEWER_SOURCE: "reviewer"}
"""The kinds of citation that quote no passage of the corpus, by the source of what they quote."""


async def finish(state: MethodState, runtime: Runtime[Context]) -> Update:
    """Cite the passages that the answer rests on, rank all passages, and total the usage.

    With `abstain` off, an answer without evidence is the model's own, and is cited as such. `citations` are in the
    order of the evidence; `passages` are the cited ones, then the others as `merge_passages` orders them, without
    recalled knowledge and a reviewer's words. Writes `explanation`, `citations`, `passages`, `usage`, `stop_reason` and
    `markdown`, and where the answer is a sentence or a full one also `answer`; the citations of a full one are those
    of its statements. The answer goes to LangGraph's `messages` stream, unless a host graph runs the method.
    """
    passages = passages_by_id(state["passages"])
    used = cited_evidence(state, own_knowledge=not runtime.context.abstain) if state["answer"] else []
    if (
        state["answer"]
        and not used
        and not runtime.context.abstain
        and "retriever" in runtime.context.required_resources
    ):
        said = knowledge_passage("answer", (state["explanation"] or state["answer"])[:MAX_TEXT_CHARACTERS])
        passages = {said["id"]: said}
        used = [Evidence(id="", statement=state["answer"], passage_ids=[said["id"]], quote="", verified=False)]
    long = sum(len(passages[key]["text"]) for each in used for key in each["passage_ids"]) > LONG_SPLIT
    written = await _write_in_form(state, runtime, await maybe_to_thread(long, cite, used, passages))
    calls = written.pop("calls")
    usage = total({**state["calls"], **calls}.values(), state["iteration"])
    stop_reason = state["stop_reason"] or "unanswerable"
    if stop_reason == "unanswerable" and written["answer"]:
        stop_reason = "answered"
    seconds = seconds_left(runtime.context, state)
    if stop_reason == "unanswerable" and seconds is not None and seconds <= 0:
        stop_reason = "budget"  # what the deadline ended has found nothing
    explanation = state["explanation"][:MAX_TEXT_CHARACTERS]  # steps may have joined many
    done: Update = {
        "explanation": explanation,
        "citations": written["citations"],
        "usage": usage,
        "stop_reason": stop_reason,
    }
    emit(runtime, Answered(answer=written["answer"], **done))
    ranked = _rank(state["passages"], written["citations"])
    return {**written, **done, "passages": Overwrite(ranked), **({"calls": calls} if calls else {})}


async def _write_in_form(state: MethodState, runtime: Runtime[Context], citations: list[Citation]) -> Update:
    """Write the answer in the form that is asked for: `answer`, `markdown`, `citations`, and the `calls` that it took.

    Where nothing else can be written it is the short answer, which may be empty.
    """
    answer, form = state["answer"], runtime.context.answer_type
    calls: Mapping[str, Call] = {}
    asks_at_length = form == "full" or (form == "auto" and asks_for_text(state["question"]))
    if asks_at_length and (sources := _rank(state["passages"], citations)):
        full = await write_full_answer(state, runtime, sources)
        if full.text:
            quoted = await asyncio.to_thread(cite, full.evidence, passages_by_id(sources))
            return {"answer": full.text, "markdown": True, "citations": quoted, "calls": full.calls}
        calls = full.calls
    elif answer and form == "sentence":
        answer, calls = await write_sentence(state, runtime, citations)
        return {"answer": answer, "markdown": False, "citations": citations, "calls": calls}
    is_hosted = "|" in current_position().path  # the host graph writes its own messages
    if answer and not is_hosted and (stream := AnswerStream.if_wanted("answer", str)):
        stream.end(marked_answer(answer, len(citations)))
    return {"answer": answer, "markdown": False, "citations": citations, "calls": calls}


def _rank(passages: Iterable[Passage], citations: Sequence[Citation]) -> list[Passage]:
    """Return the passages of the corpus: the cited ones in the order of their citations, then the others."""
    rank = {citation["passage_id"]: number for number, citation in enumerate(citations)}
    retrieved = (passage for passage in passages if passage["source"] not in _KINDS)
    return sorted(retrieved, key=lambda passage: rank.get(passage["id"], len(rank)))


def cited_evidence(state: MethodState, *, own_knowledge: bool = False) -> list[Evidence]:
    """Choose the evidence that the answer rests on: what the model named, in `used`.

    Where it named none: the statements that share a content word with the answer or the explanation, else (a bare yes
    or no) all. Where the model may answer from `own_knowledge`: those that share one with the answer itself.
    """
    named = frozenset(state["used"])
    if chosen := [each for each in state["evidence"] if each["id"] in named]:
        return chosen
    said = frozenset(content_terms(state["answer"] if own_knowledge else f"{state['answer']} {state['explanation']}"))
    sharing = [each for each in state["evidence"] if said & frozenset(content_terms(each["statement"]))]
    return sharing or ([] if own_knowledge else list(state["evidence"]))


def cite(evidence: Sequence[Evidence], passages: Mapping[str, Passage]) -> list[Citation]:
    """Cite each passage of the evidence once, with its origin and the sentence that supports its statement best."""
    citations: dict[str, Citation] = {}
    for each in evidence:
        for key in each["passage_ids"]:
            if key in citations:
                continue
            passage = passages[key]
            start, end = find_quote(each["statement"], passage["text"], passage["title"])
            citations[key] = Citation(
                passage_id=key,
                title=passage["title"],
                quote=read_quote(passage["text"], start, end),
                start=start,
                end=end,
                kind=_KINDS.get(passage["source"], "passage"),
                **find_origin(passage.get("metadata", {})),
            )
    return list(citations.values())


def total(calls: Iterable[Call], iterations: int) -> Usage:
    """Add calls up; all zero for none."""
    every = list(calls)
    asked = [call for call in every if call["kind"] == "model"]
    return Usage(
        llm_calls=sum(call["attempts"] for call in asked),
        cached_calls=sum(call["cached"] for call in asked),
        prompt_tokens=sum(call["prompt_tokens"] for call in asked),
        completion_tokens=sum(call["completion_tokens"] for call in asked),
        retrievals=sum(call["kind"] == "retrieval" for call in every),
        passages=sum(call["passages"] for call in asked),
        knowledge_tokens=sum(call["knowledge_tokens"] for call in asked),
        parse_failures=sum(call["parse_failures"] for call in asked),
        iterations=iterations,
    )
