"""Judge which passages are relevant to a question, and whether they are enough together."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.runtime import Runtime
from pydantic import Field, JsonValue

from hopgraph.nodes.core.ask import Ask, AskResult, ask, ask_all, calls_of
from hopgraph.nodes.core.excerpts import candidate_excerpts, passages_by_id, prompt_passages
from hopgraph.nodes.core.reply_text import LongText, ReplyModel, ShownNumbers
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.question_tree.branch import question_of, reserved_by_branch, spent_in
from hopgraph.nodes.self_knowledge import JudgedTrue
from hopgraph.state import Excerpt, Knowledge, Passage
from hopgraph.state.events import RelevanceJudged
from hopgraph.state.ra_isf import RaIsfContext, SolveState
from hopgraph.tools.prompts import Value

_NAMED = re.compile(r"relevant (?:paragraph|passage)[^\[\n]{0,40}((?:\[\d{1,3}\][\s,and]{0,6})+)", re.IGNORECASE)


class JointRelevance(ReplyModel):
    """A reply of the role `judge_together`: whether the passages are enough, and the numbers of those needed."""

    thought: LongText = ""
    enough: JudgedTrue
    relevant: ShownNumbers = Field(default_factory=list[int])

    @classmethod
    def read_paper_form(cls, text: str) -> dict[str, JsonValue] | None:
        """Read "No." and "Relevant paragraphs: [1], [3]", as in Tables 11 to 13."""
        if re.match(r"\W*no\b", text, re.IGNORECASE):
            return {"enough": False}
        named = _NAMED.search(text)
        return {"enough": True, "relevant": named[1]} if named else None


class PassageRelevance(ReplyModel):
    """A reply of the role `judge_relevance`, for one passage."""

    relevant: JudgedTrue

    @classmethod
    def read_paper_form(cls, text: str) -> dict[str, JsonValue]:
        """Read the bare word that the paper's module writes: relevance, or irrelevance."""
        return {"relevant": text}


_Judged = tuple[list[Excerpt], Sequence[AskResult[Any]]]
"""The passages to answer from, and the calls."""


async def judge_relevance(state: SolveState, runtime: Runtime[RaIsfContext]) -> Mapping[str, Any]:
    """Ask which passages are relevant to the branch's question (RA-ISF, section 3.1).

    With `listwise` one call (Tables 11-13) says whether the passages are enough together, and which of them are
    needed, those included that state only one step of the way: where they are not enough the question is broken
    down, however relevant some are. With `each` (Algorithm 1) one call per passage, side by side, says whether it
    is relevant, and one that is sends all relevant ones to the reader: to ask of a single passage whether it is
    enough would reject every bridge between two.

    Passages are shown down to `passage_tokens`. Writes `knowledge`, one entry with the passages to answer from in
    retrieval order, no excerpts where there are none; enough and none named: all. No passages: no call. A reply
    that cannot be used counts as none, and so does a passage for which the budget did not reach (`cut_off`);
    numbers that were not shown are ignored.
    """
    settings, node = runtime.context, question_of(state)
    passages = passages_by_id(state["passages"])
    excerpts = candidate_excerpts(state["candidates"], passages, settings.passage_tokens)
    judge = _judge_each if settings.judge == "each" else _judge_together
    kept, answers = await judge(excerpts, state, runtime)
    seen, relevant = ([each["passage_id"] for each in some] for some in (excerpts, kept))
    emit(runtime, RelevanceJudged.from_record(node, passage_ids=seen, relevant=relevant))
    return {
        "knowledge": [Knowledge(query=node["question"], excerpts=kept)],
        "cut_off": state["cut_off"] or any(answer.outcome == "budget" for answer in answers),
        "calls": calls_of(answers),
    }


def relevance_ask(question: str, excerpt: Excerpt, passages: Mapping[str, Passage]) -> Ask[PassageRelevance]:
    """Make the question to a model whether one passage is relevant; the fallback is that it is not."""
    return Ask(
        "judge_relevance", _shown(question, [excerpt], passages), PassageRelevance, PassageRelevance(relevant=False)
    )


async def _judge_each(excerpts: Sequence[Excerpt], state: SolveState, runtime: Runtime[RaIsfContext]) -> _Judged:
    question, passages = question_of(state)["question"], passages_by_id(state["passages"])
    asks = [relevance_ask(question, each, passages) for each in excerpts]
    answers = await ask_all(runtime, spent_in(state), asks, reserve_calls=_reserved(state))
    return [excerpt for excerpt, answer in zip(excerpts, answers, strict=True) if answer.record.relevant], answers


async def _judge_together(excerpts: Sequence[Excerpt], state: SolveState, runtime: Runtime[RaIsfContext]) -> _Judged:
    if not excerpts:
        return [], []
    shown = _shown(question_of(state)["question"], excerpts, passages_by_id(state["passages"]))
    wanted = Ask("judge_together", shown, JointRelevance, JointRelevance(enough=False))
    answered = await ask(runtime, spent_in(state), wanted, reserve_calls=_reserved(state))
    if not answered.record.enough:
        return [], [answered]
    named = [excerpt for number, excerpt in enumerate(excerpts, start=1) if number in answered.record.relevant]
    return named or [*excerpts], [answered]


def _shown(question: str, excerpts: Sequence[Excerpt], passages: Mapping[str, Passage]) -> dict[str, Value]:
    return {"passages": prompt_passages(excerpts, passages), "question": question}


def _reserved(state: SolveState) -> int:
    return 1 + reserved_by_branch(question_of(state))  # an answer
