"""MIGRES's preliminary experiments (section 2): can a model extract useful information, and see what is missing?

Both run the method's roles on a question's annotated decomposition: `extract` and the entailment check (Table 1),
`decide` (Table 2).

Differences from the paper:
* sub-questions and their answers come from the data set's annotations; in the paper a model writes them;
* each question is asked with all of the information and with a part of it; the paper draws one of the two;
* an answer is right if it contains a gold answer (Acc); the paper does not say how it compares;
* recall is over the annotated passages shown: others contain an answer such as "two" or "American" by chance.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from random import Random
from typing import Any, ClassVar, Literal, cast

from langgraph.graph import END, START
from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import ModelCall, ask, ask_all, calls_of
from hopgraph.nodes.core.compiled_method import CompiledMethod
from hopgraph.nodes.core.excerpts import whole_excerpt
from hopgraph.nodes.core.method_graph import MethodGraph, Node
from hopgraph.nodes.core.reply_text import ReplyModel, ShownNumbers
from hopgraph.nodes.core.search import SearchRequest, search_all
from hopgraph.nodes.decide import decide
from hopgraph.nodes.extract import extract
from hopgraph.nodes.finish import total
from hopgraph.nodes.nli_verify import nli_verify
from hopgraph.nodes.prepare import prepare_for
from hopgraph.state import Call, Evidence, Knowledge, MethodState, Passage
from hopgraph.state.context import method_setting
from hopgraph.state.migres import MigresContext
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.metrics import COVER_EM
from hopgraph.tools.apps.evaluation.rehearsal.question_plan import PlanHop, derive_plan, without_mark
from hopgraph.tools.resources import get_retriever

PASSAGES_SHOWN = 5
"""Passages drawn for each question (section 2.1)."""


class ExtractionContext(MigresContext):
    """Settings of the experiment on information extraction (Table 1), with one call per question."""

    method: ClassVar[str] = "information_extraction"
    steps: ClassVar[tuple[str, ...]] = ("extract", "judge_usefulness")
    presets: ClassVar[dict[str, dict[str, Any]]] = {}

    extraction: Literal["joint", "per_query"] = method_setting("per_query", "a call for each question, side by side")


class MissingContext(MigresContext):
    """Settings of the experiment on missing information (Table 2)."""

    method: ClassVar[str] = "missing_information"
    steps: ClassVar[tuple[str, ...]] = ("decide", "judge_alignment")
    presets: ClassVar[dict[str, dict[str, Any]]] = {}


class Usefulness(ReplyModel):
    """A reply of the role `judge_usefulness`."""

    useful: bool


class Alignment(ReplyModel):
    """A reply of the role `judge_alignment`."""

    aligned: ShownNumbers


def annotated_sub_questions(question: EvalQuestion) -> list[PlanHop]:
    """Return the annotated sub-questions, or those made from the triples, with the right names; empty if unanswered."""
    if not question.triples and not any(hop.answer for hop in question.hops):
        return []
    plan = derive_plan(question)
    return [replace(hop, template=plan.question_of(hop)) for hop in plan.asked if hop.answer]


def draw_passages(question: EvalQuestion, found: Sequence[Passage]) -> list[Passage]:
    """Draw at most five of the retrieved passages and the question's own, deterministically.

    *Ours*: one of them is a gold passage if possible; five random ones would mostly contain nothing to extract.
    """
    draw = Random(question.id)  # noqa: S311 - nothing secret
    pool = sorted({each["id"]: each for each in [*question.passages, *found]}.values(), key=lambda each: each["id"])
    draw.shuffle(pool)
    sure = next((each for each in pool if each["id"] in question.gold), None)
    shown = sorted(pool, key=lambda each: each is not sure)[:PASSAGES_SHOWN]
    draw.shuffle(shown)
    return shown


def draw_known_part(key: str, parts: Sequence[PlanHop]) -> list[PlanHop]:
    """Draw a proper subset of the sub-questions, in order, to be given with their answers."""
    draw = Random(key)  # noqa: S311 - nothing secret
    chosen = draw.sample(range(len(parts)), draw.randrange(len(parts)))
    return [parts[number] for number in sorted(chosen)]


class ExperimentState(MethodState):
    """The state of a method with the annotated question and its measurements."""

    annotated: EvalQuestion
    measured: dict[str, int]
    """Counts, whose sums over questions give the rates."""


def _end(calls: Mapping[str, Call], measured: Mapping[str, int], answer: str = "") -> dict[str, Any]:
    ended = {"answer": answer, "stop_reason": "answered" if answer else "unanswerable"}
    return {"calls": calls, "measured": measured, **ended, "usage": total(calls.values(), 1)}


async def measure_extraction(state: ExperimentState, runtime: Runtime[MigresContext]) -> Mapping[str, Any]:
    """Extract useful information for the question and each sub-question from five passages (Table 1).

    Writes `measured`: the numbers of `statements`, of `right` ones (a cited passage contains an answer), of `gold`
    passages shown and of those `found` (cited); with `entailed_` the same for statements that their passages entail;
    `useful`: the number of entailed statements that the model finds useful.
    """
    question = state["annotated"]
    retriever = await get_retriever(runtime.context.retriever, links=runtime.context.links)
    request = SearchRequest(question.question, runtime.context.top_k, frozenset(), 1, "")
    passages = draw_passages(question, (await search_all([retriever], request)).passages)
    parts = annotated_sub_questions(question)
    answers = tuple(chain.from_iterable(each.answers for each in parts))
    passages_of_parts = tuple(chain.from_iterable(each.passages for each in parts))
    asked = [PlanHop(0, question.question, answers, passages_of_parts), *parts]
    excerpts = [whole_excerpt(each, each["score"]) for each in passages]
    knowledge = [Knowledge(query=each.template, excerpts=excerpts) for each in asked]
    given: Any = {**state, "passages": passages}
    extracted = await extract(given | {"knowledge": knowledge}, runtime)
    calls, measured = {**extracted["calls"]}, Counter[str]()
    for number, part in enumerate(asked, 1):
        own = [each for each in extracted["drafts"] if each["id"].startswith(f"1.{number}.")]
        verified = await nli_verify(given | {"drafts": own}, runtime)
        kept = verified["evidence"]
        variables = [{"statement": each["statement"], "question": part.template} for each in kept]
        judged = await ask_all(
            runtime,
            state,
            [ModelCall("judge_usefulness", each, Usefulness, Usefulness(useful=False)) for each in variables],
        )
        calls |= {**verified.get("calls", {}), **calls_of(judged)}
        holding = {each["id"] for each in passages if COVER_EM(f"{each['title']} {each['text']}", part.answers)}
        gold = {each["id"] for each in passages} & {each.id for each in part.passages}
        entailed = {f"entailed_{name}": count for name, count in _count(kept, holding, gold).items()}
        useful = sum(each.record.useful for each in judged)
        measured.update({**_count(own, holding, gold), **entailed, "gold": len(gold), "useful": useful})
    return {**_end(calls, measured), "passages": passages}


def _count(statements: Sequence[Evidence], holding: set[str], gold: set[str]) -> dict[str, int]:
    cited = {key for each in statements for key in each["passage_ids"]}
    return {
        "statements": len(statements),
        "right": sum(not holding.isdisjoint(each["passage_ids"]) for each in statements),
        "found": len(gold & cited),
    }


async def measure_missing_information(state: ExperimentState, runtime: Runtime[MigresContext]) -> Mapping[str, Any]:
    """Ask the question with all answers to its sub-questions, and with a part of them (Table 2).

    Writes `measured`: `all` and `partial` (1 each), `all_right`, `unanswerable` (with partial information), and
    `aligned` (also, the stated missing information matches a sub-question that was left out).
    """
    question = state["annotated"]
    parts = annotated_sub_questions(question)
    known = draw_known_part(question.id, parts)
    with_all, with_part = [await _decide_on(state, runtime, given) for given in (parts, known)]
    calls = {**with_all["calls"], **with_part["calls"]}
    unanswerable, aligned = not with_part["answer"], False
    if unanswerable:
        left = [each.template for each in parts if each not in known]
        variables = {"missing": with_part["missing"], "candidates": left}
        reply = await ask(runtime, state, ModelCall("judge_alignment", variables, Alignment, Alignment(aligned=[])))
        calls |= calls_of([reply])
        aligned = any(1 <= number <= len(left) for number in reply.record.aligned)
    measured = {
        "all": 1,
        "all_right": int(COVER_EM(with_all["answer"], question.answers or ())),
        "partial": 1,
        "unanswerable": int(unanswerable),
        "aligned": int(aligned),
    }
    return _end(calls, measured, with_all["answer"])


async def _decide_on(
    state: ExperimentState, runtime: Runtime[MigresContext], known: Sequence[PlanHop]
) -> Mapping[str, Any]:
    information: list[Evidence] = []
    for number, each in enumerate(known, 1):
        statement = f"{without_mark(each.template)}: {each.answer}."
        information.append(Evidence(id=f"1.1.{number}", statement=statement, passage_ids=[], quote="", verified=False))
    return await decide(cast("Any", {**state, "evidence": information}), runtime)


def _compile(context: type[MigresContext], measure: Node) -> CompiledMethod:
    builder = MethodGraph(ExperimentState, context)
    builder.add_node("prepare", prepare_for(ExperimentState, given=("annotated",))).add_node("measure", measure)
    return builder.chain(START, "prepare", "measure", END).compile(name=context.method)


EXPERIMENTS = {
    ExtractionContext.method: _compile(ExtractionContext, measure_extraction),
    MissingContext.method: _compile(MissingContext, measure_missing_information),
}
"""Name → experiment, which runs like a method; its last step is a judge."""
