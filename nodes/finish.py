"""Close a run: citations, the ranked passages, the totals; by one more model call a sentence, or a long answer."""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from langgraph.runtime import Runtime
from langgraph.types import Overwrite
from pydantic import AfterValidator

from hopgraph.nodes.core.ask import ModelCall, ask, calls_of
from hopgraph.nodes.core.budget import seconds_left
from hopgraph.nodes.core.evidence_review import REVIEWER_SOURCE
from hopgraph.nodes.core.excerpts import passages_by_id, with_title
from hopgraph.nodes.core.long_answer import LongAnswer, Statement, write_so_far
from hopgraph.nodes.core.marked_text import append_marks, escape_but_marks, marked_answer, settle_marks, split_at_marks
from hopgraph.nodes.core.message_stream import AnswerStream
from hopgraph.nodes.core.pair_scoring import score_pairs
from hopgraph.nodes.core.reply_text import MODEL_SOURCE, ReplyModel, ShortText, abstains, knowledge_passage, schema_hint
from hopgraph.nodes.core.step_events import current_position, emit
from hopgraph.state import Call, Citation, Context, Evidence, MethodState, Passage, Update, Usage
from hopgraph.state.context import FULL_STEP, SENTENCE_STEP
from hopgraph.state.events import Answered, CheckedStatement, Verified
from hopgraph.state.schemas import MAX_TEXT_CHARACTERS
from hopgraph.tools.io.background import LONG_SPLIT, maybe_to_thread
from hopgraph.tools.prompts import Value
from hopgraph.tools.resources import get_entailment_checker
from hopgraph.tools.retrieval.passage_metadata import find_location
from hopgraph.tools.text import content_terms
from hopgraph.tools.text.comparison import find_quote, read_quote

_BEGINS = r"(?:\A|[.!?:;,]\s+|\b(?:please|bitte|and|then|(?:can|could|would) you|me|us)\s+)"
"""The beginning of a request, where most have their verb."""
_FULL = re.compile(
    rf"""
    {_BEGINS}(?:compare|contrast|define|describe|discuss|draft|elaborate|enumerate|explain|list|name\ all|outline
      |sketch|tell\ me\ (?:more\ )?about|write|nenne|liste|schreib\w*|décri\w+|cite\w*|enumera)\b
    | \b(?:summar(?:y|i[sz]\w*)|overview|explanation|comparison|bullet(?:\ ?points?)?|steps\ (?:to|for|of)
      |step[- ]by[- ]step|pros\ and\ cons|advantages\ and|differences?\ between|(?:in|as)\ a\ (?:table|list)
      |in\ detail)\b
    | \b(?:zusammenfass\w*|fass\w*\b.*\bzusammen|erkl[äa]r\w*|erl[äa]uter\w*|beschreib\w*|vergleich\w*|unterschiede?
      |überblick|übersicht|als\ (?:liste|tabelle)|stichpunkt\w*|schritt(?:e|\ für\ schritt)|vor-\ und\ nachteile
      |warum|wieso|weshalb)\b
    | \b(?:résum\w+|expliqu\w+|compare[rz]?|comparaison|différences?|aperçu|sous\ forme\ de|étapes?|pourquoi|comment)\b
    | \b(?:resum\w+|explic\w+|explique|describa\w*|descríb\w+|compar[ae]\w*|diferencias?|en\ una\ (?:lista|tabla)|pasos
      |por\ qué|cómo)\b
    | \A(?:\W*\w+,?\s+)?why\b
    | {_BEGINS}how\ (?:am|are|can|could|did|do|does|is|may|must|should|to|was|were|will|would)\b
    | \bwie\ (?:be|er|funktioniert|geht|kann|kommt|macht?e?|muss|soll|stell|wird|werden)\w*\b
    | \Awhat\ (?:are|were)\ (?:the|our|my|all)\ (?:\w+\ )?(?:benefits|conditions|options|policies|procedures|reasons
      |requirements|rules|steps)\b
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)


def asks_for_text(question: str) -> bool:
    """Return whether a question asks for an explanation, a summary, a comparison, a list or steps, rather than a fact.

    Decided by English, German, French and Spanish words: the same question gets the same result at every endpoint and
    with every model, at no cost, and predictably. If it is wrong, `answer_type` overrides it.
    """
    return _FULL.search(question) is not None


_MOST_SOURCES, _MOST_CHARACTERS = 20, 16_000
"""Passages that a long answer is written from, and characters of them: about 4,000 tokens, which most models take."""


class SentenceReply(ReplyModel):
    """A reply of the role `write_sentence`."""

    answer: ShortText


class FullReply(ReplyModel):
    """A reply of the role `write_full_answer`."""

    answer: Annotated[str, AfterValidator(lambda text: text[:MAX_TEXT_CHARACTERS]), schema_hint(maxLength=6000)]


async def write_sentence(
    state: MethodState, runtime: Runtime[Context], citations: Sequence[Citation]
) -> tuple[str, Mapping[str, Call]]:
    """Ask for a sentence that states the short answer, with the numbers of the citations that support it.

    The sentence goes to LangGraph's `messages` stream while it is written. Without a usable reply it is the short
    answer with a mark for each citation. The call is given, too.
    """
    settings, short, count = runtime.context, state["answer"], len(citations)
    variables: dict[str, Value] = {"question": state["question"], "short_answer": short}
    if citations:
        variables["passages"] = [{"title": each["title"], "text": each["quote"]} for each in citations]
    if settings.answer_instructions:
        variables["style"] = settings.answer_instructions
    stream = AnswerStream.if_wanted("answer", lambda text: escape_but_marks(settle_marks(text, count), count))
    wanted = ModelCall(
        SENTENCE_STEP, variables, SentenceReply, SentenceReply(answer=""), on_reply=stream.feed if stream else None
    )
    answered = await ask(runtime, state, wanted)
    sentence = settle_marks(answered.record.answer, count) or short
    if len(split_at_marks(sentence, count)) == 1:
        sentence = append_marks(sentence, count)
    if stream:
        stream.end(marked_answer(sentence, count))
    return sentence, calls_of([answered])


@dataclass(frozen=True)
class WrittenAnswer:
    """A long answer and its cost."""

    text: str = ""
    """Inert Markdown with marks; empty if the passages contain no answer, or no reply could be used."""
    evidence: Sequence[Evidence] = ()
    """Its statements with the passages that they cite, each passage once."""
    calls: Mapping[str, Call] = field(default_factory=dict[str, Call])


async def write_full_answer(
    state: MethodState, runtime: Runtime[Context], passages: Sequence[Passage]
) -> WrittenAnswer:
    """Ask for an answer as long as the question needs, from these passages alone, the first ones if there are many.

    It goes to LangGraph's `messages` stream line by line, unless its statements are to be checked first.
    """
    settings, sources = runtime.context, choose_sources(passages)
    variables: dict[str, Value] = {
        "passages": [{"title": each["title"], "text": each["text"]} for each in sources],
        "question": state["question"],
        **({"short_answer": state["answer"]} if state["answer"] else {}),
        **({"style": settings.answer_instructions} if settings.answer_instructions else {}),
    }
    stream = AnswerStream.if_wanted("answer", lambda text: write_so_far(text, len(sources)), by_line=True)
    feeds = stream.feed if stream and not settings.check_statements else None
    answered = await ask(
        runtime, state, ModelCall(FULL_STEP, variables, FullReply, FullReply(answer=""), on_reply=feeds)
    )
    reply, calls = answered.record.answer, calls_of([answered])
    answer = LongAnswer(len(sources))
    text = answer.write(reply)
    if not text or abstains(" ".join(text.split())) or not answer.cited:
        return WrittenAnswer(calls=calls)
    if settings.check_statements:
        rejected, checks = await _check(runtime, answer.statements, sources)
        text, calls = LongAnswer(len(sources), rejected).write(reply), {**calls, **checks}
    if stream:
        stream.end(text)
    return WrittenAnswer(text, _evidence(answer.statements, sources), calls)


def choose_sources(passages: Sequence[Passage]) -> list[Passage]:
    """Return the first passages that fit into a prompt, at least one if there is any."""
    chosen, size = list[Passage](), 0
    for each in passages[:_MOST_SOURCES]:
        size += len(each["text"])
        if chosen and size > _MOST_CHARACTERS:
            break
        chosen.append(each)
    return chosen


async def _check(
    runtime: Runtime[Context], statements: Sequence[Statement], sources: Sequence[Passage]
) -> tuple[set[int], Mapping[str, Call]]:
    """Return the indexes of the statements that their cited passages do not entail; all are reported as well."""
    checker = await get_entailment_checker(runtime.context)
    cited = [(place, each) for place, each in enumerate(statements) if each.sources]
    pairs = [("\n\n".join(with_title(sources[n - 1]) for n in each.sources), each.text) for _, each in cited]
    scores, calls = await score_pairs(runtime, checker, pairs)
    by_place = {place: score for (place, _), score in zip(cited, scores, strict=True)}
    rejected = {place for place, score in by_place.items() if score < checker.threshold}
    checked = [
        CheckedStatement(
            id=f"answer.{place + 1}",
            statement=each.text,
            score=by_place.get(place, 0.0),
            kept=place in by_place and place not in rejected,
        )
        for place, each in enumerate(statements)
    ]
    emit(runtime, Verified(statements=checked, repeated=0))
    return rejected, calls


def _evidence(statements: Sequence[Statement], sources: Sequence[Passage]) -> list[Evidence]:
    return [
        Evidence(
            id=f"answer.{place}",
            statement=each.text,
            passage_ids=[sources[number - 1]["id"] for number in each.sources],
            quote="",
            verified=False,
        )
        for place, each in enumerate(statements, start=1)
    ]


_KINDS: dict[str, Literal["model", "reviewer"]] = {MODEL_SOURCE: "model", REVIEWER_SOURCE: "reviewer"}
"""The kinds of citation that quote no corpus passage, by the source of the quoted text."""


async def finish(state: MethodState, runtime: Runtime[Context]) -> Update:
    """Cite the passages that support the answer, rank all passages, and total the usage.

    With `abstain` off, an answer without evidence is the model's own, and is cited as such. `citations` are in the
    order of the evidence; `passages` are the cited ones, then the others as `merge_passages` orders them, without
    recalled knowledge and a reviewer's words. Writes `explanation`, `citations`, `passages`, `usage`, `stop_reason` and
    `markdown`, and also `answer` if it is a sentence or a full answer; the citations of a full one are those
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
        stop_reason = "budget"  # a search stopped by the deadline has found nothing
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
    """Return the corpus passages: the cited ones in citation order, then the others."""
    rank = {citation["passage_id"]: number for number, citation in enumerate(citations)}
    retrieved = (passage for passage in passages if passage["source"] not in _KINDS)
    return sorted(retrieved, key=lambda passage: rank.get(passage["id"], len(rank)))


def cited_evidence(state: MethodState, *, own_knowledge: bool = False) -> list[Evidence]:
    """Return the evidence that supports the answer: what the model named, in `used`.

    If it named none: the statements that share a content word with the answer or the explanation, else (a bare yes
    or no) all. If the model may answer from `own_knowledge`: those that share one with the answer itself.
    """
    named = frozenset(state["used"])
    if chosen := [each for each in state["evidence"] if each["id"] in named]:
        return chosen
    said = frozenset(content_terms(state["answer"] if own_knowledge else f"{state['answer']} {state['explanation']}"))
    sharing = [each for each in state["evidence"] if said & frozenset(content_terms(each["statement"]))]
    return sharing or ([] if own_knowledge else list(state["evidence"]))


def cite(evidence: Sequence[Evidence], passages: Mapping[str, Passage]) -> list[Citation]:
    """Cite each passage of the evidence once, with its source and the sentence that best supports its statement."""
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
                **find_location(passage.get("metadata", {})),
            )
    return list(citations.values())


def total(calls: Iterable[Call], iterations: int) -> Usage:
    """Return the totals of calls; all zero for none."""
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
