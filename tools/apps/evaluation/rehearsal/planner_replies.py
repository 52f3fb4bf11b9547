"""What the rehearsal model replies to the steps that choose what to ask next, and which step replies how."""

import re
from collections.abc import Callable

from pydantic import JsonValue

from hopgraph.tools.apps.evaluation.rehearsal import reader_replies
from hopgraph.tools.apps.evaluation.rehearsal.hop_matching import UNANSWERABLE
from hopgraph.tools.apps.evaluation.rehearsal.prompt_case import Case
from hopgraph.tools.apps.evaluation.rehearsal.question_plan import holds
from hopgraph.tools.apps.evaluation.rehearsal.reader_replies import SAID, Reply
from hopgraph.tools.models.offline.prompt_blocks import unescape
from hopgraph.tools.models.offline.role_replies import STEPS as OFFLINE_STEPS

_SEARCHED = re.compile(r"search\[([^\]\n]{1,500})\]")
_BRACKETS = re.compile(r"[\[\]]")


def generate_queries(case: Case) -> Reply:
    """Ask for everything that can be asked now, in words that were not used before."""
    asked = [text for _, text in case.prompt.items("asked")]
    queries = case.open_questions(case.known("information"), asked)
    return {"queries": [*queries[: case.prompt.at_most]]}


def _next_question(case: Case, *, guesses: bool) -> Reply:
    known = case.known("history")
    if case.is_enough(known):
        return {"sub_question": "", "answer": "", "final_answer": case.conclude(known)}
    asked = next(iter(case.open_questions(known, [text for _, text in case.prompt.items("history")])), "")
    guess = _guess(case, asked) if guesses else ""
    return {"sub_question": asked, "answer": guess, "final_answer": "" if asked else UNANSWERABLE}


def _guess(case: Case, asked: str) -> str:
    """Answer a sub-question from memory; empty where it is not known."""
    if asked and case.errs("guess"):
        return case.made_up("guess")
    remembered = case.remembered()
    wanted = case.book.find(asked)
    same = wanted and wanted.hop and case.target and wanted.plan is case.target.plan
    return remembered.get(wanted.hop.number, "") if same and wanted and wanted.hop else ""


def deduce(case: Case) -> Reply:
    """Ask the next question with a guess, or give the final answer."""
    return _next_question(case, guesses=True)


def follow_up(case: Case) -> Reply:
    """Ask the next question, or give the final answer."""
    return _next_question(case, guesses=False)


def act(case: Case) -> Reply:
    """Search for the next thing, or finish."""
    known = case.known()
    asked = _SEARCHED.findall(unescape(case.prompt.blocks.get("history", "")))
    thought = reader_replies.reasoned(case, known)
    if case.is_enough(known):
        said = case.conclude(known)
        return {"thought": thought, "action": f"finish[{said}]", "used_passages": reader_replies.shown_for(case, known)}
    query = _BRACKETS.sub("", next(iter(case.open_questions(known, asked)), ""))
    return {
        "thought": thought,
        "action": f"search[{query}]" if query else f"finish[{UNANSWERABLE}]",
        "used_passages": [],
    }


def next_thought(case: Case) -> Reply:
    """State the next fact that no thought holds yet, else what has to be found; then the answer."""
    known = {**case.remembered(), **case.known("thoughts")}
    thoughts = [text for _, text in case.prompt.items("thoughts")]
    new = [each for each in case.statements(known) if not any(holds(text, each) for text in thoughts)]
    if new:
        return {"thought": reader_replies.wrong_fact(case, new[0].partition(": ")[0]) if case.errs("fact") else new[0]}
    if case.is_enough(known):
        return {"thought": f"{SAID}{case.conclude(known)}."}
    asked = [text.removeprefix(_NEEDED).rstrip(".") for text in thoughts]
    query = next(iter(case.open_questions(known, asked)), "")
    return {"thought": f"{_NEEDED}{query.rstrip(' ?')}." if query else f"{SAID}{UNANSWERABLE}."}


_NEEDED = "What is needed next is "


def decompose(case: Case) -> Reply:
    """Break the question down into its hops, each in words that stand alone; empty for a single hop."""
    target = case.target
    if target is None or target.hop is not None or len(target.plan.asked) < 2:
        return {"sub_questions": []}
    parts = [target.plan.standing_alone(hop) for hop in target.plan.asked]
    asked = [
        case.book.another_question(target, case.chance, f"query:{number}") if case.errs("query", number) else part
        for number, part in enumerate(parts[: case.prompt.at_most])
    ]
    return {"sub_questions": list[JsonValue](asked)}


def route(case: Case) -> Reply:
    """Tell a bridge from a comparison by the hops; by rules where the question is not known."""
    if case.target is None:
        return OFFLINE_STEPS["route"](case.prompt)
    hops = case.target.plan.asked if case.target.hop is None else case.hops
    bridge = any(hop.needs for hop in hops)
    return {"kind": "single_hop" if len(hops) < 2 else "bridge" if bridge else "comparison", "reply": ""}


def _by_rules(step: str) -> Callable[[Case], Reply]:
    """Reply as the offline model does, to a step that takes no knowledge of the question."""
    return lambda case: OFFLINE_STEPS[step](case.prompt)


STEPS: dict[str, Callable[[Case], Reply]] = {
    "act": act,
    "answer": reader_replies.answer,
    "answer_step_by_step": reader_replies.answer,
    "complete": reader_replies.complete,
    "contextualise": _by_rules("contextualise"),
    "decide": reader_replies.decide,
    "decompose": decompose,
    "deduce": deduce,
    "extract": reader_replies.extract,
    "final_answer": reader_replies.final_answer,
    "follow_up": follow_up,
    "fuse": reader_replies.fuse,
    "generate_queries": generate_queries,
    "ground": reader_replies.ground,
    "judge_alignment": reader_replies.judge_alignment,
    "judge_entailment": reader_replies.judge_entailment,
    "judge_relevance": reader_replies.judge_relevance,
    "judge_usefulness": reader_replies.judge_usefulness,
    "name_topic": _by_rules("name_topic"),
    "next_thought": next_thought,
    "recall_knowledge": reader_replies.recall_knowledge,
    "review": reader_replies.review,
    "review_directly": reader_replies.review,
    "route": route,
    "score_relevance": reader_replies.score_relevance,
    "select_passages": _by_rules("select_passages"),
    "self_knowledge": reader_replies.self_knowledge,
    "shorten": _by_rules("shorten"),
    "snippet": reader_replies.compress,
    "summarise": reader_replies.compress,
    "weigh_passages": reader_replies.weigh_passages,
    "write_passage": reader_replies.write_passage,
}
"""The reply to each step by its name."""


def reply(case: Case) -> Reply:
    """Reply to a prompt: by its step, else by answering whatever question it holds."""
    return STEPS.get(case.prompt.step, reader_replies.answer)(case)
