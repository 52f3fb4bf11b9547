"""Judge which passages are relevant to a question, and whether they are sufficient together."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.runtime import Runtime
from pydantic import Field, JsonValue

from hopgraph.nodes.core.ask import CallResult, ModelCall, ask_all, calls_of, ran_out_of_budget
from hopgraph.nodes.core.excerpts import candidate_excerpts, passages_by_id, prompt_passages
from hopgraph.nodes.core.reply_text import LongText, ReplyModel, ShownNumbers
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.question_tree import question_of, reserved_by_branch
from hopgraph.nodes.self_knowledge import JudgedTrue
from hopgraph.state import Excerpt, Knowledge, Passage, Update
from hopgraph.state.events import RelevanceJudged
from hopgraph.state.ra_isf import RaIsfContext, SolveState
from hopgraph.tools.prompts import Value

_NAMED = re.compile(r"relevant (?:paragraph|passage)[^\[\n]{0,40}((?:\[\d{1,3}\][\s,and]{0,6})+)", re.IGNORECASE)


class JointRelevance(ReplyModel):
    """A reply of the role `judge_together`: whether the passages suffice, and the numbers of those needed."""

    thought: LongText = ""
    enough: JudgedTrue
    relevant: ShownNumbers = Field(default_factory=list[int])

    @classmethod
    def read_paper_form(cls, text: str) -> dict[str, JsonValue] | None:
        """Parse "No." and "Relevant paragraphs: [1], [3]", as in Tables 11 to 13."""
        if re.match(r"\W*no\b", text, re.IGNORECASE):
            return {"enough": False}
        named = _NAMED.search(text)
        return {"enough": True, "relevant": named[1]} if named else None


class PassageRelevance(ReplyModel):
    """A reply of the role `judge_relevance`, for one passage."""

    relevant: JudgedTrue

    @classmethod
    def read_paper_form(cls, text: str) -> dict[str, JsonValue]:
        """Parse the bare word that the paper's module writes: relevance, or irrelevance."""
        return {"relevant": text}


async def judge_relevance(state: SolveState, runtime: Runtime[RaIsfContext]) -> Update:
    """Ask which passages are relevant to the branch's question (RA-ISF, section 3.1).

    With `listwise`, one call (Tables 11-13) says whether the passages suffice together, and which are needed, including
    those that state one step of the way; if they are insufficient, the question is decomposed. With `each` (Algorithm
    1), one call per passage says whether it is relevant, and if any is, all relevant ones go to the reader: asking
    of a single passage whether it suffices would reject every bridge between two.

    Writes `knowledge`, one entry with the passages to answer from in retrieval order; if none is named, all.
    An unusable reply counts as none, and so does a passage beyond the budget (`cut_off`).
    """
    settings, node = runtime.context, question_of(state)
    passages = passages_by_id(state["passages"])
    excerpts = candidate_excerpts(state["candidates"], passages, settings.passage_tokens)
    reserved = 1 + reserved_by_branch(node)  # an answer
    if settings.judge == "each":
        asks = [relevance_ask(node["question"], each, passages) for each in excerpts]
        answers: Sequence[CallResult[Any]] = await ask_all(runtime, state, asks, reserve_calls=reserved)
        kept = [excerpt for excerpt, answer in zip(excerpts, answers, strict=True) if answer.record.relevant]
    else:
        shown = _shown(node["question"], excerpts, passages)
        together = ModelCall("judge_together", shown, JointRelevance, JointRelevance(enough=False))
        answers = await ask_all(runtime, state, [together] if excerpts else [], reserve_calls=reserved)
        kept = [each for answer in answers for each in _needed(answer.record, excerpts)]
    seen, relevant = ([each["passage_id"] for each in some] for some in (excerpts, kept))
    emit(runtime, RelevanceJudged.from_record(node, passage_ids=seen, relevant=relevant))
    return {
        "knowledge": [Knowledge(query=node["question"], excerpts=kept)],
        "cut_off": state["cut_off"] or ran_out_of_budget(answers),
        "calls": calls_of(answers),
    }


def relevance_ask(question: str, excerpt: Excerpt, passages: Mapping[str, Passage]) -> ModelCall[PassageRelevance]:
    """Return the request that asks whether one passage is relevant; the fallback is that it is not."""
    return ModelCall(
        "judge_relevance", _shown(question, [excerpt], passages), PassageRelevance, PassageRelevance(relevant=False)
    )


def _needed(reply: JointRelevance, excerpts: Sequence[Excerpt]) -> Sequence[Excerpt]:
    named = [excerpt for number, excerpt in enumerate(excerpts, start=1) if number in reply.relevant]
    return (named or excerpts) if reply.enough else []


def _shown(question: str, excerpts: Sequence[Excerpt], passages: Mapping[str, Passage]) -> dict[str, Value]:
    return {"passages": prompt_passages(excerpts, passages), "question": question}
