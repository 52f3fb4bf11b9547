"""What the rehearsal model replies to the steps that choose what to ask next, and which step replies how."""

import re
from collections.abc import Callable

from hopgraph.tools.apps.evaluation.rehearsal import reader_replies as reader
from hopgraph.tools.apps.evaluation.rehearsal.hop_matching import UNANSWERABLE
from hopgraph.tools.apps.evaluation.rehearsal.prompt_case import PromptCase
from hopgraph.tools.apps.evaluation.rehearsal.question_plan import contains_words
from hopgraph.tools.apps.evaluation.rehearsal.reader_replies import CONCLUSION, Reply
from hopgraph.tools.models.offline.role_replies import STEPS as OFFLINE_STEPS

_SEARCHED = re.compile(r"search\[([^\]\n]{1,500})\]")
_BRACKETS = re.compile(r"[\[\]]")
_NEEDED = "What is needed next is "


def generate_queries(case: PromptCase) -> Reply:
    """Ask for everything that can be asked now, in words that were not used before."""
    asked = [text for _, text in case.prompt.items("asked")]
    return {"queries": [*case.open_questions(case.known("information"), asked)[: case.prompt.at_most]]}


def follow_up(case: PromptCase) -> Reply:
    """Ask the next question, or give the final answer."""
    known = case.known("history")
    if case.is_enough(known):
        return {"sub_question": "", "answer": "", "final_answer": case.conclude(known)}
    asked = case.next_question(known, [text for _, text in case.prompt.items("history")])
    return {"sub_question": asked, "answer": "", "final_answer": "" if asked else UNANSWERABLE}


def deduce(case: PromptCase) -> Reply:
    """Ask the next question with a guess, or give the final answer."""
    reply = follow_up(case)
    asked = str(reply["sub_question"])
    return {**reply, "answer": _guess(case, asked) if asked else ""}


def _guess(case: PromptCase, asked: str) -> str:
    """Answer a sub-question from memory; empty where it is not known."""
    if case.errs("guess"):
        return case.made_up("guess")
    plan, hop = case.book.find(asked)
    return case.remembered().get(hop.number, "") if hop and plan is case.target.plan else ""


def act(case: PromptCase) -> Reply:
    """Search for the next thing, or finish."""
    known = case.known()
    thought = reader.reason(case, known)
    if case.is_enough(known):
        action = f"finish[{case.conclude(known)}]"
        return {"thought": thought, "action": action, "used_passages": reader.numbers_with(known, case.by_passage)}
    query = _BRACKETS.sub("", case.next_question(known, _SEARCHED.findall(case.block("history"))))
    action = f"search[{query}]" if query else f"finish[{UNANSWERABLE}]"
    return {"thought": thought, "action": action, "used_passages": []}


def next_thought(case: PromptCase) -> Reply:
    """State the next fact that no thought has yet, else what has to be found; then the answer."""
    known = {**case.remembered(), **case.known("thoughts")}
    thoughts = [text for _, text in case.prompt.items("thoughts")]
    new = [each for each in case.statements(known) if not any(contains_words(text, each) for text in thoughts)]
    if new:
        return {"thought": reader.fact_or_error(case, new[0].partition(": ")[0], new[0])}
    if case.is_enough(known):
        return {"thought": f"{CONCLUSION}{case.conclude(known)}."}
    query = case.next_question(known, [text.removeprefix(_NEEDED).rstrip(".") for text in thoughts])
    return {"thought": f"{_NEEDED}{query.rstrip(' ?')}." if query else f"{CONCLUSION}{UNANSWERABLE}."}


def decompose(case: PromptCase) -> Reply:
    """Break the question down into its hops, each in a self-contained question; empty for a single hop."""
    plan, part = case.target
    hops = plan.asked[: case.prompt.at_most] if part is None and len(plan.asked) > 1 else ()
    return {"sub_questions": [case.or_wrong(plan.self_contained(hop), number) for number, hop in enumerate(hops)]}


def route(case: PromptCase) -> Reply:
    """Distinguish a bridge from a comparison by the hops; by rules where the question is not known."""
    if not case.hops:
        return OFFLINE_STEPS["route"](case.prompt)
    hops = case.target.plan.asked if case.target.hop is None else case.hops
    bridge = any(hop.needs for hop in hops)
    return {"kind": "single_hop" if len(hops) < 2 else "bridge" if bridge else "comparison", "reply": ""}


_BY_RULES = ("contextualise", "name_topic", "select_passages", "shorten")
"""Steps that take no knowledge of the question: the offline model's replies."""
_Step = Callable[[PromptCase], Reply]
_REPLIES: tuple[_Step, ...] = (
    *(act, decompose, deduce, follow_up, generate_queries, next_thought, route),
    *(reader.answer, reader.complete, reader.compress, reader.decide, reader.extract, reader.final_answer, reader.fuse),
    *(reader.ground, reader.judge_alignment, reader.judge_entailment, reader.judge_relevance, reader.judge_usefulness),
    *(reader.review, reader.score_relevance, reader.self_knowledge, reader.weigh_passages),
)
"""Each is named after its step."""
_STEPS: dict[str, _Step] = {
    **{each.__name__: each for each in _REPLIES},
    "recall_knowledge": lambda case: {"knowledge": reader.recall(case)},
    "review_directly": reader.review,
    "snippet": reader.compress,
    "summarise": reader.compress,
    "write_passage": lambda case: {"passage": reader.recall(case)},
}


def reply(case: PromptCase) -> Reply:
    """Reply to a prompt: by its step, else by answering whatever question it has."""
    step = case.prompt.step
    return OFFLINE_STEPS[step](case.prompt) if step in _BY_RULES else _STEPS.get(step, reader.answer)(case)
