"""Generate training data for a role's student from annotated questions (knowledge distillation).

**GenGround's grounding** maps an answer from memory and passages to a citation and a revised answer. GenGround, section
4.1 and Appendix III (Instructional Grounding Distillation): 50,000 questions of NQ, each with its gold document and
noise; the student's base model answers from memory; a large model, given the gold document, writes the target.
Examples without a citation, incomplete, or inconsistent with the gold evidence are dropped, which leaves 45,710. Not
stated, and *ours*: the noise is retrieved passages, up to the batch size of inference, in a seeded order; how
consistency is decided (`_flaw_of`); JSON instead of tags; examples without a gold passage (`negatives`).

**RA-ISF's three modules**. RA-ISF, section 3.2 and Appendix A; 1,000 prompts per data set (section 4.5).
* self-knowledge (A.1): the answering model is asked few-shot, without passages; a question is known if its answer
  equals the gold answer (Equation 5);
* relevance (A.2): a large model judges each of the top k passages;
* decomposition (A.3): a large model lists the sub-questions; the authors' code also uses the decompositions that come
  with data sets.
*Ours*: equality by exact match, with the data set's aliases, after step-by-step reasoning, as in inference; gold
annotations as the teacher of relevance, with gold passages that were not retrieved added (`judged_passages`), so that
there are relevant ones; sub-questions that refer to earlier answers, and their checks; replies in the roles' format.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, ClassVar, Literal, cast

from langchain_core.messages import convert_to_openai_messages
from langgraph.graph import END, START
from langgraph.runtime import Runtime
from pydantic import BaseModel, JsonValue
from typing_extensions import TypedDict

from hopgraph.nodes.core.ask import ModelCall, ask, ask_all, calls_of, render_step
from hopgraph.nodes.core.compiled_method import CompiledMethod
from hopgraph.nodes.core.excerpts import candidate_excerpts, passages_by_id, prompt_passages, whole_excerpt, with_title
from hopgraph.nodes.core.method_graph import MethodGraph, Node
from hopgraph.nodes.core.reply_text import short_answer
from hopgraph.nodes.finish import total
from hopgraph.nodes.ground import GroundReply, citing_passage, ground_ask, sentences_cited
from hopgraph.nodes.judge_relevance import PassageRelevance, relevance_ask
from hopgraph.nodes.prepare import prepare_for
from hopgraph.nodes.question_tree import (
    SubQuestions,
    decomposition_ask,
    read_sub_questions,
    referred_numbers,
)
from hopgraph.nodes.read_hop import answer_from_memory
from hopgraph.nodes.reading import ask_reader
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.self_knowledge import SelfKnowledge
from hopgraph.state import Candidates, Context, Passage, Update
from hopgraph.state.context import method_setting, setting
from hopgraph.state.genground import GengroundContext
from hopgraph.state.hops import HopsState
from hopgraph.state.ra_isf import RaIsfContext
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.rehearsal.question_plan import derive_plan
from hopgraph.tools.text.comparison import contains, normalize_answer

_UNANSWERED = {"replied": "", "fallback": "unusable reply", "budget": "budget"}
"""Outcome of a call → the reason why there is no example."""


class Example(TypedDict):
    """A prompt of the student's role and its reply; or a dropped example with the reason."""

    id: str
    """Id of the question; after a colon the passage, or `negative`."""
    reason: str
    """Why it was dropped; empty if it is kept."""
    label: str
    """The class; empty unless the role is a classifier."""
    variables: dict[str, JsonValue]
    reply: dict[str, JsonValue]
    """The fields of the role's reply class, in order; empty without a reply."""
    prompt: list[dict[str, str]]
    """Chat messages with `role` and `content`, as in inference; empty if it was dropped."""


class DistillationState(HopsState):
    """The keys of a method's state, the annotated question, and its examples."""

    annotated: EvalQuestion
    distilled: list[Example]
    """Including dropped ones."""


class DistillationContext(Context):
    """Settings for generating the data of any role."""

    role: ClassVar[str] = ""
    """The student's role, e.g. `ra_isf/judge_relevance`."""
    asks_base: ClassVar[bool] = False
    """Whether the student's base model is also called, to answer from memory."""
    teachers: ClassVar[tuple[str, ...]] = ("gold", "model")

    teacher: Literal["gold", "model"] = method_setting("model", "who gives the replies; gold: the data set")


class RelevanceDataContext(DistillationContext, RaIsfContext):
    """Settings for the data of RA-ISF's relevance module."""

    role = "ra_isf/judge_relevance"
    steps = ("judge_relevance",)

    judged_passages: Literal["gold", "all", "none"] = setting(
        "Retrieval", "gold", "which passages of the question are also judged. Default: the top k only, as in the paper"
    )


class KnowledgeDataContext(DistillationContext, RaIsfContext):
    """Settings for the data of RA-ISF's self-knowledge module; few-shot, as in the paper."""

    role = "ra_isf/self_knowledge"
    steps = ("self_knowledge", "answer_step_by_step")
    resources = ()
    asks_base = True
    teachers = ("gold",)

    demonstrations: str | None = setting("Model", "multi_hop", "worked examples in the prompts: a family or a folder")


class DecompositionDataContext(DistillationContext, RaIsfContext):
    """Settings for the data of RA-ISF's decomposition module."""

    role = "ra_isf/decompose"
    steps = ("decompose",)
    resources = ()


class GroundingDataContext(DistillationContext, GengroundContext):
    """Settings for the data of GenGround's grounding; `batch_size` passages are shown, as in inference."""

    role = "genground/ground"
    steps = ("ground", "answer", "ground_given_gold")
    asks_base = True
    teachers = ("model",)

    negatives: bool = method_setting(False, "add examples without a gold passage, to which the reply is Empty")


async def _search(state: DistillationState, runtime: Runtime[Any]) -> Update:
    return await retrieve(cast("Any", state), runtime)


def drop(name: str, reason: str) -> Example:
    """Return a dropped example with its reason."""
    return Example(id=name, reason=reason, label="", variables={}, reply={}, prompt=[])


def _example(
    settings: DistillationContext,
    name: str,
    wanted: ModelCall[Any],
    reply: BaseModel,
    *,
    label: str = "",
    flaw: str = "",
) -> Example:
    """Return an example with the student's prompt and the reply; dropped if it has a flaw."""
    step = settings.role.rpartition("/")[2]
    messages = [] if flaw else render_step(settings, step, wanted.variables)
    return Example(
        id=name,
        reason=flaw,
        label=label,
        variables=cast("Any", wanted.variables),
        reply=reply.model_dump(mode="json"),
        prompt=cast("Any", convert_to_openai_messages(messages)),
    )


async def ground_with_gold(state: DistillationState, runtime: Runtime[GroundingDataContext]) -> Update:
    """Have the base model answer, then the teacher, given the gold passages, cite and revise (GenGround, 4.1).

    With `negatives` each kept example is followed by one with passages without a gold answer and the reply Empty.
    """
    question, settings, name = state["annotated"], runtime.context, state["annotated"].id
    generated, found = await answer_from_memory(state, cast("Any", runtime)), await _search(state, runtime)
    calls = {**generated["calls"], **found["calls"]}
    passages = passages_by_id([*found["passages"], *question.passages])
    shown, noise = _mix_with_noise(question, passages, settings)
    if not shown:
        return {"distilled": [drop(name, "no gold passage")], "calls": calls}

    def asked_about(some: Sequence[Passage]) -> ModelCall[GroundReply]:
        excerpts = [whole_excerpt(each, each["score"]) for each in some]
        given: Any = {**state, **generated}
        return ground_ask(given, settings, prompt_passages(excerpts, passages))

    wanted = asked_about(shown)
    gold = [f"passage {at}" for at, each in enumerate(shown, start=1) if each["id"] in question.gold]
    told = replace(wanted, step="ground_given_gold", variables={**wanted.variables, "gold": gold})
    answered = await ask(runtime, state, told)
    calls |= calls_of([answered])
    if reason := _UNANSWERED[answered.outcome]:
        return {"distilled": [drop(name, reason)], "calls": calls}
    flaw = _flaw_of(answered.record, question, passages, settings)
    made = [_example(settings, name, wanted, answered.record, flaw=flaw)]
    if settings.negatives and noise and not flaw:
        made.append(_example(settings, f"{name}:negative", asked_about(noise), GroundReply(ref="Empty")))
    return {"distilled": made, "calls": calls}


def _mix_with_noise(
    question: EvalQuestion, passages: Mapping[str, Passage], settings: GroundingDataContext
) -> tuple[list[Passage], list[Passage]]:
    """Return the gold passages mixed with others up to `batch_size`, in a seeded order, and noise alone (*ours*).

    The others are retrieved or come with the question. The noise contains no gold answer. The mix is empty without gold
    passages.
    """
    size, answers = settings.batch_size, question.answers or ()
    noise = [each for key, each in passages.items() if key not in question.gold]
    mixed = [passages[key] for key in question.gold if key in passages][:size]
    mixed += noise[: size - len(mixed)] if mixed else []
    Random(f"{settings.seed}:{question.id}").shuffle(mixed)  # noqa: S311 - not for cryptography
    empty = [each for each in noise if not any(contains(with_title(each), said) for said in answers)]
    return mixed, empty[:size]


def _flaw_of(
    reply: GroundReply, question: EvalQuestion, passages: Mapping[str, Passage], settings: GroundingDataContext
) -> str:
    """Return why a reply is dropped: no citation, or not consistent with the gold evidence (IGD, Appendix III).

    *Ours*: it is consistent if the answer contains a gold one, and gold passages contain each sentence of the citation.
    Empty if it is kept.
    """
    if reply.is_empty:
        return "empty citation"
    if not any(contains(short_answer(reply.revise), each) for each in question.answers or ()):
        return "misaligned answer"
    gold = [each for key, each in passages.items() if key in question.gold]
    least = max(settings.min_citation_overlap, 1e-9)
    carried = all(citing_passage(each, gold)[1] >= least for each in sentences_cited(reply.ref))
    return "" if carried else "misaligned citation"


async def label_known(state: DistillationState, runtime: Runtime[KnowledgeDataContext]) -> Update:
    """Label a question as known if the answer from memory equals a gold one, as in EM (RA-ISF, Equation 5)."""
    question, text = state["annotated"], state["question"]
    reading, answered = await ask_reader(runtime, state, text, step="answer_step_by_step")
    reason = _UNANSWERED[answered.outcome] if question.answers else "no gold answer"
    known = _key(reading["answer"]) in map(_key, question.answers or ())
    wanted = ModelCall("self_knowledge", {"question": text}, SelfKnowledge, SelfKnowledge(known=False))
    label, reply = "known" if known else "unknown", SelfKnowledge(known=known)
    made = drop(question.id, reason) if reason else _example(runtime.context, question.id, wanted, reply, label=label)
    return {"distilled": [made], "calls": calls_of([answered])}


def _key(answer: str) -> str:
    return normalize_answer(answer) or answer.lower()


async def label_passages(state: DistillationState, runtime: Runtime[RelevanceDataContext]) -> Update:
    """Label each passage as relevant or not: by the annotation (*ours*), else by the teacher, in parallel.

    With annotations, a question without gold passages is dropped, as every retrieved passage would be irrelevant.
    """
    settings, question = runtime.context, state["annotated"]
    found = await _search(state, runtime)
    if settings.teacher == "gold" and not question.gold:
        return {"distilled": [drop(question.id, "no gold passage")], "calls": found["calls"]}
    passages, candidates = _with_own_passages(question, found, settings.judged_passages)
    excerpts = candidate_excerpts(candidates, passages, settings.passage_tokens)
    asks = [relevance_ask(state["question"], each, passages) for each in excerpts]
    answers = await ask_all(runtime, state, asks if settings.teacher == "model" else [])
    made: list[Example] = []
    for at, (asked, key) in enumerate(zip(asks, (each["passage_id"] for each in excerpts), strict=True)):
        relevant = answers[at].record.relevant if answers else key in question.gold
        label, reply = "relevant" if relevant else "irrelevant", PassageRelevance(relevant=relevant)
        name, reason = f"{question.id}:{key}", _UNANSWERED[answers[at].outcome] if answers else ""
        made.append(drop(name, reason) if reason else _example(settings, name, asked, reply, label=label))
    return {"distilled": made, "calls": {**found["calls"], **calls_of(answers)}}


def _with_own_passages(
    question: EvalQuestion, found: Update, which: Literal["gold", "all", "none"]
) -> tuple[dict[str, Passage], list[Candidates]]:
    """Return the retrieved passages and candidates, with the question's gold passages, or all or none, added."""
    candidates: list[Candidates] = found["candidates"]
    there = {key for each in candidates for key in each["passage_ids"]}
    own = {each["id"]: each for each in question.passages if each["id"] not in there and which != "none"}
    added = {key: each for key, each in own.items() if which == "all" or key in question.gold}
    more = Candidates(query=question.question, passage_ids=[*added], scores=[0.0] * len(added))
    return {**passages_by_id(found["passages"]), **added}, [*candidates, more]


async def list_parts(state: DistillationState, runtime: Runtime[DecompositionDataContext]) -> Update:
    """Make an example of the cleaned sub-questions, annotated or the teacher's (RA-ISF, A.3).

    It is dropped without sub-questions, or if one refers to an answer that does not precede it (*ours*).
    """
    settings, text, name = runtime.context, state["question"], state["annotated"].id
    most, in_order = settings.max_sub_questions, settings.part_order == "in_order"
    wanted = decomposition_ask(text, most=most, in_order=in_order)
    answered = None if settings.teacher == "gold" else await ask(runtime, state, wanted)
    listed = answered.record if answered else SubQuestions(sub_questions=_annotated_parts(state["annotated"]))
    reason = _UNANSWERED[answered.outcome] if answered else ""
    if not reason and len(listed.sub_questions) > most:
        reason = "too many sub-questions"
    parts = read_sub_questions(listed, most=most, known=[text])
    named = [referred_numbers(part, before=100, whole=text) for part in parts]
    placed = all(number < at and in_order for at, numbers in enumerate(named, start=1) for number in numbers)
    flaw = "no sub-questions" if not parts else "" if placed else "misplaced reference"
    reply = SubQuestions(sub_questions=parts)
    made = drop(name, reason) if reason else _example(settings, name, wanted, reply, flaw=flaw)
    return {"distilled": [made], "calls": calls_of([answered] if answered else [])}


def _annotated_parts(question: EvalQuestion) -> list[str]:
    """Return a question's steps, or questions for its evidence triples, with `#1` for the first one's answer."""
    plan = derive_plan(question)
    there = {hop.number for hop in plan.asked}
    stand_alone = all(there.issuperset(hop.needs) for hop in plan.asked)
    hops = (plan.asked if stand_alone else plan.hops) if question.hops or question.triples else ()
    places = {hop.number: f"#{place}" for place, hop in enumerate(hops, start=1)}
    return [hop.filled_with(places) for hop in hops]


def _compile(context: type[DistillationContext], make: Node) -> CompiledMethod:
    """Compile the graph that generates a question's examples; it also writes `usage` and `stop_reason`."""

    async def make_examples(state: DistillationState, runtime: Runtime[DistillationContext]) -> Update:
        update = await make(state, runtime)
        reasons = {each["reason"] for each in update["distilled"]}
        stop_reason = "answered" if "" in reasons else "budget" if "budget" in reasons else "unanswerable"
        return {**update, "usage": total(update["calls"].values(), 1), "stop_reason": stop_reason}

    builder = MethodGraph(DistillationState, context)
    builder.add_node("prepare", prepare_for(DistillationState, given=("annotated",))).add_node("make", make_examples)
    return builder.chain(START, "prepare", "make", END).compile(name=f"data for {context.role}")


DISTILLATIONS: dict[str, Any] = {
    "genground/ground": _compile(GroundingDataContext, ground_with_gold),
    "ra_isf/self_knowledge": _compile(KnowledgeDataContext, label_known),
    "ra_isf/judge_relevance": _compile(RelevanceDataContext, label_passages),
    "ra_isf/decompose": _compile(DecompositionDataContext, list_parts),
}
"""Student's role → graph."""
