"""Where a task stands that works on one question of a question tree."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from langgraph.runtime import Runtime

from hopgraph.nodes.answer import AnswerReply, read_answer, reader_ask
from hopgraph.nodes.core.ask import AskResult, as_short, ask
from hopgraph.nodes.core.budget import pause_calls, reserved_call
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages
from hopgraph.state import Draft, Excerpt, Passage, Query, Spent
from hopgraph.state.question_tree import Branch, DecomposingState, QuestionNode

_NUMBERS = r"\[?\d{1,2}\]?(?:(?:,? and |, ?)\[?\d{1,2}\]?)*"
_PASSAGE_NUMBERS = re.compile(
    rf"\bpassages? (?:no\. ?|number )?{_NUMBERS}"
    rf"|(?<!\s)\s*(?P<brackets>\((?:see )?passages? {_NUMBERS}\)|\[\d{{1,2}}(?:, ?\d{{1,2}})*\])",
    re.IGNORECASE,
)
"""How a reasoning names passages by their numbers."""


class BranchState(Spent):
    """What every step within a branch reads."""

    branch: Branch
    tree: dict[str, QuestionNode]


class ReadingState(BranchState):
    """What a step reads that answers the branch's question."""

    passages: list[Passage]


def question_of(state: BranchState) -> QuestionNode:
    """Get the question that the branch works on."""
    return state["tree"][state["branch"]["id"]]


def question_in_branch(state: BranchState) -> str:
    """Get the text of the question that the branch works on."""
    return question_of(state)["question"]


def only_branch(key: str, step: Literal["solve", "compose"]) -> Branch:
    """Make the branch of a method that works on one question at a time: nothing is reserved for others."""
    return Branch(id=key, step=step, reserved=reserved_call())


def spent_in(state: BranchState) -> Spent:
    """Count, besides what the branch spent itself, what is reserved for others."""
    return Spent(calls={**state["calls"], "reserved": state["branch"]["reserved"]}, started_at=state["started_at"])


def reserved_by_branch(node: QuestionNode) -> int:
    """Count the calls that the work on a question leaves over: the root's answer, unless that is what it is."""
    return 1 if node["parent"] else 0


async def read_in_branch(
    state: ReadingState,
    runtime: Runtime[Any],
    excerpts: Sequence[Excerpt] | None,
    *,
    step: str = "answer",
    sub_answers: Sequence[str] | None = None,
) -> tuple[Draft, AskResult[AnswerReply]]:
    """Answer the branch's question in one call, with what `reader_ask` is given; evidence gets the question's id.

    Only the question that was asked is of the asked-for type; parts of a yes-or-no question ask for names and dates.
    The reasoning names passages by their titles, since their numbers mean others in the prompts that show it later.
    """
    node = question_of(state)
    settings = as_short(runtime.context) if node["parent"] else runtime.context
    passages = None if excerpts is None else prompt_passages(excerpts, passages_by_id(state["passages"]))
    wanted = reader_ask(node["question"], settings, step=step, passages=passages, sub_answers=sub_answers)
    answered = await ask(runtime, spent_in(state), wanted, reserve_calls=reserved_by_branch(node) or None)
    reading = read_answer(answered, settings, excerpts or (), evidence_id=node["id"], question=node["question"])
    titles = [each["title"] for each in passages or ()]
    return {**reading, "reasoning": with_titles(reading["reasoning"], titles)}, answered


def with_titles(text: str, titles: Sequence[str]) -> str:
    """Put the titles of passages in the places of their numbers, as in `passages 1 and 3` or `[2]`.

    The number of no passage is left out, and so is that of one without a title.
    """

    def named(found: re.Match[str]) -> str:
        numbers = [int(each) for each in re.findall(r"\d+", found[0])]
        names = [f"“{titles[at - 1]}”" for at in numbers if 0 < at <= len(titles) and titles[at - 1]]
        said = " and ".join(dict.fromkeys(names))
        if found["brackets"]:
            return f" ({said})" if said else ""
        return said or "a passage"

    return _PASSAGE_NUMBERS.sub(named, text).strip()


def parts_of(tree: Mapping[str, QuestionNode], key: str) -> list[QuestionNode]:
    """List the questions that a question was broken down into, in their order; empty for one that was not."""
    return [node for node in tree.values() if node["parent"] == key]


def path_to(tree: Mapping[str, QuestionNode], key: str) -> list[QuestionNode]:
    """List a question and those that it is a part of, the root first."""
    path: list[QuestionNode] = []
    while key:
        path.insert(0, tree[key])
        key = tree[key]["parent"]
    return path


def branch_input(state: DecomposingState, branch: Branch) -> dict[str, Any]:
    """Make what a parallel task gets; calls are counted from nothing, as those so far are in its reserve."""
    shared: dict[str, Any] = {"branch": branch, "calls": pause_calls(state["calls"])}
    shared |= {"started_at": state["started_at"], "settings": state["settings"]}
    if branch["step"] == "compose":
        return {**shared, "tree": state["tree"], "evidence": state["evidence"], "passages": state["passages"]}
    path = path_to(state["tree"], branch["id"])
    return {
        **shared,
        "question": state["question"],
        "tree": {node["id"]: node for node in path},
        "queries": [Query(text=path[-1]["question"], why=path[-2]["question"] if len(path) > 1 else "")],
        "asked": [],
        "excluded": [],
        "iteration": len(path),
        "known": False,
        "cut_off": False,
    }
