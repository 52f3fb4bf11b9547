"""Write the answer in the form that `answer_type` asks for, by one more model call: a sentence, or a long answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from langgraph.runtime import Runtime
from pydantic import AfterValidator

from hopgraph.nodes.core.ask import ModelCall, ask, calls_of
from hopgraph.nodes.core.excerpts import with_title
from hopgraph.nodes.core.long_answer import LongAnswer, Statement, write_so_far
from hopgraph.nodes.core.marked_text import append_marks, escape_but_marks, marked_answer, settle_marks, split_at_marks
from hopgraph.nodes.core.message_stream import AnswerStream
from hopgraph.nodes.core.pair_scoring import score_pairs
from hopgraph.nodes.core.reply_text import ReplyModel, ShortText, abstains, schema_hint
from hopgraph.nodes.core.step_events import emit
from hopgraph.state import Call, Citation, Context, Evidence, MethodState, Passage
from hopgraph.state.context import FULL_STEP, SENTENCE_STEP
from hopgraph.state.events import CheckedStatement, Verified
from hopgraph.state.schemas import MAX_TEXT_CHARACTERS
from hopgraph.tools.prompts import Value
from hopgraph.tools.resources import get_entailment_checker

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
    """Ask for a sentence that says the short answer, with the numbers of the citations that carry it.

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
    """A long answer, and what was spent on it."""

    text: str = ""
    """Inert Markdown, with marks; empty where the passages hold no answer, or no reply could be used."""
    evidence: Sequence[Evidence] = ()
    """Its statements with the passages that they cite, each passage first where its number is."""
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
    """Return the first passages that a prompt has room for, at least one if there is any."""
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
    """Return the places of the statements that the passages they cite do not entail; all are reported, too."""
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
