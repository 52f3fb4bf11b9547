"""Cut chains of thought down to short answers, and take the one that most of them come to."""

from collections import Counter
from collections.abc import Sequence

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import Ask, AskResult, ask_all, calls_of, is_cut_off, yes_no_variable
from hopgraph.nodes.core.reply_text import UNANSWERABLE, ReplyModel, ShortText, normalized_query, short_answer
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.reading import reading_update
from hopgraph.state import Context, Draft, Update
from hopgraph.state.blendfilter import BlendFilterState
from hopgraph.state.events import Shortened
from hopgraph.tools.prompts import Value
from hopgraph.tools.text.comparison import normalize_answer


class ShortAnswer(ReplyModel):
    """A reply of the role `shorten`."""

    answer: ShortText


async def shorten(state: BlendFilterState, runtime: Runtime[Context]) -> Update:
    """Give each chain of thought a short answer, yes or no where it is asked for (BlendFilter, appendix F).

    With `abstain` a chain without an answer takes no call; without a reply the chain's own is kept. The answer is the
    one that most samples agree on, the first on a tie (*ours*; the paper scores the best of three). Writes `sampled`,
    `answer`, `explanation`, `evidence`, `used` and `stop_reason`.
    """
    settings, drafts = runtime.context, state["drafts"]
    said = [
        number
        for number, draft in enumerate(drafts)
        if draft["answer"] or (draft["reasoning"] and not settings.abstain)
    ]
    answers = await ask_all(
        runtime, state, [_short_ask(state["question"], drafts[number], settings, sample=number) for number in said]
    )
    replies = dict(zip(said, answers, strict=True))
    sampled = [_short(draft, replies.get(number), settings) for number, draft in enumerate(drafts)]
    cut_off = state["cut_off"] or is_cut_off(answers)
    chosen = majority_answer(sampled)
    nothing = Draft(reasoning="", answer="", evidence=[])
    reading: Draft = nothing if chosen is None else {**drafts[chosen], "answer": sampled[chosen]}
    emit(runtime, Shortened(sampled=list(sampled)))
    return {
        **reading_update(reading, runtime, limit="budget" if cut_off else None),
        "sampled": [each for each in sampled if each],
        "calls": calls_of(answers),
    }


def _short_ask(question: str, draft: Draft, settings: Context, *, sample: int) -> Ask[ShortAnswer]:
    said = " ".join(part for part in (draft["reasoning"], f"The answer is: {draft['answer']}") if part)
    reasoning = said if draft["answer"] else draft["reasoning"]
    variables: dict[str, Value] = {"reasoning": reasoning, "question": question, **yes_no_variable(settings)}
    return Ask("shorten", variables, ShortAnswer, ShortAnswer(answer=draft["answer"] or UNANSWERABLE), sample)


def _short(draft: Draft, answered: AskResult[ShortAnswer] | None, settings: Context) -> str:
    yes_no = settings.answer_type == "yes_no"
    shorter = short_answer(answered.record.answer, yes_no=yes_no) if answered else ""
    return shorter or short_answer(draft["answer"], yes_no=yes_no)


def majority_answer(answers: Sequence[str]) -> int | None:
    """Find the first place of the answer that occurs most, as `count_votes` counts; None where all are empty."""
    votes = count_votes(answers)
    return votes.index(max(votes)) if any(votes) else None


def count_votes(answers: Sequence[str]) -> list[int]:
    """Count for each answer how many are equal to it but for case, punctuation and articles; 0 for an empty one."""
    said = [normalize_answer(answer) or normalized_query(answer) or answer for answer in answers]
    votes = Counter(each for each, answer in zip(said, answers, strict=True) if answer)
    return [votes[each] for each in said]
