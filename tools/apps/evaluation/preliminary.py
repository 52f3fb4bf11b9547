"""MIGRES's preliminary experiments (section 2): can a model extract what is useful, and see what is missing?

Both put a question's annotated decomposition to the roles of the method: `extract` and the entailment check of Table 1,
`decide` of Table 2. A question goes through a run like any other: its replies are cached, its measures are kept, and
one that fails stops nothing.

Where this differs from the paper:
* the sub-questions and their answers are those of the data set's annotations, which the paper has a model write;
* each question is asked with all of the information and with a part of it; the paper draws one of the two;
* an answer is right when it holds a gold answer (Acc); the paper does not say how it compares;
* recall is over the annotated passages that are shown: others hold an answer such as "two" or "American" by chance.
"""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from langgraph.runtime import Runtime
from pydantic import field_validator

from hopgraph.nodes.core.ask import Ask, ask_all, calls_of
from hopgraph.nodes.core.excerpts import whole_excerpt
from hopgraph.nodes.core.reply_models import ReplyModel
from hopgraph.nodes.core.reply_text import read_numbers
from hopgraph.nodes.core.search import SearchRequest, search_all
from hopgraph.nodes.decide import decide
from hopgraph.nodes.extract import extract
from hopgraph.nodes.finish import total
from hopgraph.nodes.nli_verify import nli_verify
from hopgraph.state import Call, Evidence, Knowledge, Passage
from hopgraph.state.migres import MigresContext
from hopgraph.tools.apps.evaluation.batch.question_job import EventListener, QuestionJob
from hopgraph.tools.apps.evaluation.metrics import COVER_EM
from hopgraph.tools.apps.evaluation.preliminary_cases import (
    KnownSubQuestion,
    annotated_sub_questions,
    draw_known_part,
    draw_passages,
)
from hopgraph.tools.resources import get_retriever

Measures = dict[str, int]
"""Counts of one question; added up over questions they give the rates."""


class ExtractionContext(MigresContext):
    """The settings of the experiment on information extraction (Table 1)."""

    method: ClassVar[str] = "information_extraction"
    steps: ClassVar[tuple[str, ...]] = ("extract", "judge_usefulness")
    presets: ClassVar[dict[str, dict[str, Any]]] = {}


class MissingContext(MigresContext):
    """The settings of the experiment on missing information (Table 2)."""

    method: ClassVar[str] = "missing_information"
    steps: ClassVar[tuple[str, ...]] = ("decide", "judge_alignment")
    presets: ClassVar[dict[str, dict[str, Any]]] = {}


class Usefulness(ReplyModel):
    """A reply of the role `judge_usefulness`."""

    useful: bool


class Alignment(ReplyModel):
    """A reply of the role `judge_alignment`."""

    aligned: list[int]

    _numbers = field_validator("aligned", mode="before")(read_numbers)


@dataclass
class _CaseRun:
    """One question under way: its settings, its event listener, and what it has spent."""

    job: QuestionJob
    runtime: Runtime[MigresContext]
    began: float = field(default_factory=time.time)
    spent: list[Call] = field(default_factory=list[Call])

    @property
    def state(self) -> dict[str, Any]:
        """What every node reads of the state; no calls are on record, so no budget is ever reached."""
        return {"calls": {}, "started_at": self.began, "iteration": 1}

    async def node(self, node: Callable[..., Awaitable[Mapping[str, Any]]], **state: Any) -> Mapping[str, Any]:
        """Run a node of the method on a state, and record what it spent."""
        update = await node({**self.state, **state}, self.runtime)
        self.spent += update.get("calls", {}).values()
        return update

    async def ask(self, request: Sequence[Ask[Any]]) -> list[Any]:
        """Ask concurrently; return the records of the replies, in order."""
        answers = await ask_all(self.runtime, {"calls": {}, "started_at": self.began}, request)
        self.spent += calls_of(answers).values()
        return [each.record for each in answers]

    def final_state(self, measured: Measures, passages: Sequence[Passage] = (), answer: str = "") -> Mapping[str, Any]:
        """Make the state in which a run of this question ends."""
        return {
            "question": self.job.question.question,
            "answer": answer,
            "explanation": "",
            "citations": [],
            "passages": list(passages),
            "stop_reason": "answered" if answer else "unanswerable",
            "usage": total(self.spent, 1),
            "measured": measured,
        }


def _case(job: QuestionJob, watch: EventListener) -> _CaseRun:
    return _CaseRun(job, Runtime(context=cast("MigresContext", job.settings), stream_writer=watch))


async def run_extraction(job: QuestionJob, watch: EventListener) -> Mapping[str, Any]:
    """Extract from five passages what is useful for the question and for each of its sub-questions (Table 1).

    Returns:
        The end state, with `measured`: `statements` and those that are `right` (a passage that they cite holds an
        answer), `gold` passages shown and those `found` (cited); `entailed`, `entailed_right` and
        `entailed_found`: the same of the statements that their passages entail; `useful`: how many of these the model
        finds useful.
    """
    case = _case(job, watch)
    passages = await _draw_shown(job)
    parts = annotated_sub_questions(job.question)
    asked = [_merge_parts(job.question.question, parts), *parts]
    excerpts = [whole_excerpt(each, each["score"]) for each in passages]
    knowledge = [Knowledge(query=each.question, excerpts=excerpts) for each in asked]
    drafts = (await case.node(extract, knowledge=knowledge, passages=passages))["drafts"]
    found: list[Measures] = []
    for number, part in enumerate(asked, 1):
        own = [each for each in drafts if each["id"].startswith(f"1.{number}.")]
        kept = (await case.node(nli_verify, drafts=own, evidence=[], passages=passages))["evidence"]
        holding = {each["id"] for each in passages if COVER_EM(f"{each['title']} {each['text']}", part.answers)}
        gold = {each["id"] for each in passages if each["id"] in part.gold}
        judged = await case.ask([_usefulness(each, part) for each in kept])
        after = {f"entailed_{name}": count for name, count in _count(kept, holding, gold).items()}
        useful = sum(each.useful for each in judged)
        found.append({**_count(own, holding, gold), **after, "gold": len(gold), "useful": useful})
    return case.final_state(_sum_measures(found), passages)


def _usefulness(statement: Evidence, part: KnownSubQuestion) -> Ask[Usefulness]:
    variables = {"statement": statement["statement"], "question": part.question}
    return Ask("judge_usefulness", variables, Usefulness, Usefulness(useful=False))


def _merge_parts(question: str, parts: Sequence[KnownSubQuestion]) -> KnownSubQuestion:
    """Write the question itself as one that every part answers."""
    answers = tuple(each for part in parts for each in part.answers)
    return KnownSubQuestion(question, answers, tuple(each for part in parts for each in part.gold))


def _count(statements: Sequence[Evidence], holding: set[str], gold: set[str]) -> Measures:
    cited = {key for each in statements for key in each["passage_ids"]}
    return {
        "statements": len(statements),
        "right": sum(not holding.isdisjoint(each["passage_ids"]) for each in statements),
        "found": len(gold & cited),
    }


async def _draw_shown(job: QuestionJob) -> list[Passage]:
    """Draw five of the passages that a search for the question finds and of those that come with it."""
    retriever = await get_retriever(job.settings.retriever)
    request = SearchRequest(job.question.question, job.settings.passages_per_query, frozenset(), 1, "")
    return draw_passages(job.question, (await search_all([retriever], request)).passages)


async def run_missing_information(job: QuestionJob, watch: EventListener) -> Mapping[str, Any]:
    """Ask the question with all answers to its sub-questions, and with a part of them (Table 2).

    Returns:
        The end state, with `measured`: `all` and `partial` (1 each), `all_right`, `unanswerable` (with a part of the
        information), and of these `aligned`: what the model finds missing fits a sub-question that is left.
    """
    case = _case(job, watch)
    parts = annotated_sub_questions(job.question)
    known = draw_known_part(job.question.id, parts)
    with_all = await _decide_on(case, parts)
    with_part = await _decide_on(case, known)
    unanswerable, aligned = not with_part["answer"], False
    if unanswerable:
        left = [each.question for each in parts if each not in known]
        request = Ask(
            "judge_alignment", {"missing": with_part["missing"], "candidates": left}, Alignment, Alignment(aligned=[])
        )
        (reply,) = await case.ask([request])
        aligned = any(1 <= number <= len(left) for number in reply.aligned)
    measured = {
        "all": 1,
        "all_right": int(COVER_EM(with_all["answer"], job.question.answers or ())),
        "partial": 1,
        "unanswerable": int(unanswerable),
        "aligned": int(aligned),
    }
    return case.final_state(measured, answer=with_all["answer"])


async def _decide_on(case: _CaseRun, known: Sequence[KnownSubQuestion]) -> Mapping[str, Any]:
    information = [
        Evidence(id=f"1.1.{number}", statement=each.statement, passage_ids=[], quote="", verified=False)
        for number, each in enumerate(known, 1)
    ]
    question = case.job.question.question
    return await case.node(decide, question=question, evidence=information, passages=[])


def _sum_measures(counts: Sequence[Measures]) -> Measures:
    return {name: sum(each[name] for each in counts) for name in counts[0]}
