"""The questions of a tree: where a branch is, how a question is decomposed, and how it is settled.

A part may refer to the answer of an earlier one: `#1` is that of the first. It waits for those that it names. A
reference to the part itself, to a later one or to none is left as it is, and so is a number that is already in the
whole question ("Which song was #1 in 1964?").
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

from langgraph.runtime import Runtime
from langgraph.types import Overwrite
from pydantic import field_validator

from hopgraph.nodes.core.ask import ModelCall
from hopgraph.nodes.core.reply_text import ReplyModel, normalized_query, schema_hint
from hopgraph.nodes.core.step_events import emit
from hopgraph.state import BudgetState, Draft, Passage, Query, StopReason, Update
from hopgraph.state.events import QuestionSettled
from hopgraph.state.question_tree import ROOT_QUESTION, Branch, HowSolved, QuestionNode
from hopgraph.state.ra_isf import RaIsfState
from hopgraph.state.schemas import MAX_TEXT_CHARACTERS
from hopgraph.tools.prompts import Value, clean


class BranchState(BudgetState):
    """Keys that every step within a branch reads."""

    branch: Branch
    tree: dict[str, QuestionNode]


class ReadingState(BranchState):
    """Keys read by a step that answers the branch's question."""

    passages: list[Passage]


def question_of(state: BranchState) -> QuestionNode:
    """Return the question that the branch is working on."""
    return state["tree"][state["branch"]["id"]]


def question_in_branch(state: BranchState) -> str:
    """Return the text of the question that the branch is working on."""
    return question_of(state)["question"]


def reserved_by_branch(node: QuestionNode) -> int:
    """Return the calls to reserve while working on a question: the root's answer, unless it is the root."""
    return 1 if node["parent"] else 0


def parts_of(tree: Mapping[str, QuestionNode], key: str) -> list[QuestionNode]:
    """List the parts of a question, in order; empty if it was not decomposed."""
    return [node for node in tree.values() if node["parent"] == key]


def path_to(tree: Mapping[str, QuestionNode], key: str) -> list[QuestionNode]:
    """List a question and its ancestors, the root first."""
    path: list[QuestionNode] = []
    while key:
        path.insert(0, tree[key])
        key = tree[key]["parent"]
    return path


def branch_input(state: RaIsfState, branch: Branch) -> dict[str, Any]:
    """Return the input of a parallel task."""
    shared: dict[str, Any] = {"branch": branch, "calls": state["calls"]}
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


_REFERENCE = re.compile(
    r"(?:\b(?:the )?answers? (?:to|of|from) )?(?:\b(?:sub-?)?question )?[\[{<]?#\s?(\d{1,2})(?!\w)[\]}>]?",
    re.IGNORECASE,
)
"""Forms of references, e.g. `#1`, `[#1]`, `the answer to #1`, `question #1`."""


def fill_references(text: str, names: Mapping[int, str]) -> str:
    """Replace references with names; a number without a name stays as it is."""
    return _REFERENCE.sub(lambda found: names.get(int(found[1]), found[0]), text)


def referred_numbers(text: str, *, before: int, whole: str) -> set[int]:
    """List the parts before number `before` that a part refers to; `whole` is the parent question."""
    literal = set(_REFERENCE.findall(whole))
    return {int(number) for number in _REFERENCE.findall(text) if number not in literal and 0 < int(number) < before}


def describe(question: str) -> str:
    """Return the placeholder for an unknown answer: its question in quotation marks."""
    return f"“{question.rstrip(' ?.!')}”"


def parts_waited_for(tree: Mapping[str, QuestionNode], node: QuestionNode) -> dict[int, QuestionNode]:
    """Return the parts that a question's own text refers to, by number; empty if it is standalone."""
    if not node["parent"]:
        return {}
    whole, own = tree[node["parent"]]["question"], number_of(node)
    named = referred_numbers(node["question"], before=own, whole=whole)
    return {number_of(part): part for part in parts_of(tree, node["parent"]) if number_of(part) in named}


def number_of(node: QuestionNode) -> int:
    """Return a part's number among its siblings, from 1."""
    return int(node["id"].rpartition(".")[2])


def with_answers(node: QuestionNode, named: Mapping[int, QuestionNode]) -> QuestionNode:
    """Open a waiting question: each reference is replaced by the answer, or by the question if it is unknown."""
    names = {number: part["answer"] or describe(part["question"]) for number, part in named.items()}
    return {**node, "status": "open", "question": fill_references(node["question"], names)[:MAX_TEXT_CHARACTERS]}


_NUMBERING = re.compile(r"\A\s*(?:\(?\d{1,2}[.):]|[-*•])\s+")


class SubQuestions(ReplyModel):
    """A reply of the role `decompose`."""

    sub_questions: Annotated[list[Annotated[str, schema_hint(maxLength=300)]], schema_hint(maxItems=20)]

    @field_validator("sub_questions", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        """Convert numbered text to a list, and an object with a question to the question."""
        if isinstance(value, str):
            return value.splitlines()
        if isinstance(value, list):
            return [_question_of(entry) for entry in cast("list[object]", value)]
        return value


def _question_of(entry: object) -> object:
    return cast("dict[str, object]", entry).get("question") if isinstance(entry, dict) else entry


def decomposition_ask(question: str, *, most: int, in_order: bool = False) -> ModelCall[SubQuestions]:
    """Return the request for at most `most` sub-questions, which may refer to earlier answers (`#1`) if `in_order`."""
    variables: dict[str, Value] = {"question": question, "max_sub_questions": most}
    if in_order:
        variables["part_order"] = "in_order"
    return ModelCall("decompose", variables, SubQuestions, SubQuestions(sub_questions=[]))


def read_sub_questions(reply: SubQuestions, *, most: int, known: Sequence[str] = ()) -> list[str]:
    """Return a reply's sub-questions, at most `most`, in the model's order, without repeats and numbering.

    Those that repeat a `known` question (its ancestors, and last the question itself), ignoring case and
    punctuation, are dropped, and so are texts that a retriever could not search for. References to earlier ones
    (`#1`) are renumbered to match the list; one to a dropped question becomes its text.
    """
    seen = dict.fromkeys(map(normalized_query, known), 0)
    found: list[str] = []
    places: dict[int, str] = {}  # what a reference to the model's number becomes
    whole = known[-1] if known else ""
    for number, said in enumerate(filter(str.strip, reply.sub_questions), start=1):
        text = " ".join(_NUMBERING.sub("", f"{clean(said)} ", count=1).split())
        named = referred_numbers(text, before=number, whole=whole)
        text = fill_references(text, {each: places[each] for each in named})
        key = normalized_query(text)
        if key and key not in seen and len(text) <= MAX_TEXT_CHARACTERS:
            found.append(text)
            seen[key] = len(found)
        places[number] = f"#{seen[key]}" if seen.get(key) else describe(text)
    return found[:most]


def evidence_under(tree: Mapping[str, QuestionNode], key: str) -> list[str]:
    """List the ids of the evidence for an answered question: its own, else that of its answered parts."""
    node = tree[key]
    if node["status"] != "answered":
        return []
    if node["passage_ids"]:
        return [key]
    return [found for part in parts_of(tree, key) for found in evidence_under(tree, part["id"])]


def settle(
    runtime: Runtime[Any],
    node: QuestionNode,
    how: HowSolved,
    *,
    reading: Draft | None = None,
    event: type[QuestionSettled] = QuestionSettled,
) -> Update:
    """Return the update that settles a question, and report it; as `Composed` if its parts' answers made it."""
    answer = reading["answer"] if reading else ""
    evidence = reading["evidence"] if reading else []
    settled: QuestionNode = {
        **node,
        "status": "answered" if answer else "unknown",
        "answer": answer,
        "how": how,
        "explanation": reading["reasoning"] if reading else "",
        "passage_ids": [key for each in evidence for key in each["passage_ids"]],
    }
    emit(runtime, event(**settled))
    return {"tree": {node["id"]: settled}, "evidence": evidence}


def format_sub_answers(parts: Sequence[QuestionNode], whole: str = "") -> list[str]:
    """Return questions with their answers and the reasoning behind them, `unknown` for those without.

    Questions not asked because they refer to an unknown answer are left out; `whole` is their parent question.
    """
    asked = [part for part in parts if part["answer"] or not _refers(part, whole)]
    return [
        f"{part['question']} {part['answer'] or 'unknown'}"
        + (f" (because: {' '.join(part['explanation'].split())})" if part["answer"] and part["explanation"] else "")
        for part in asked
    ]


def _refers(part: QuestionNode, whole: str) -> bool:
    return bool(part["parent"]) and bool(referred_numbers(part["question"], before=number_of(part), whole=whole))


def settle_root(tree: Mapping[str, QuestionNode], used: list[str], *, limit: StopReason | None = None) -> Update:
    """Return the update of a run whose question is settled; the explanation defaults to the answered parts.

    `used` are the ids of the evidence for the answer; an earlier stop reason (`limit`) is kept.
    """
    root, limit = tree[ROOT_QUESTION], limit or reached_limit(tree)
    answered = [part for part in parts_of(tree, ROOT_QUESTION) if part["answer"]]
    return {
        "answer": root["answer"],
        "explanation": root["explanation"] or "; ".join(format_sub_answers(answered)),
        **rest_on_evidence(used if root["answer"] else []),
        "stop_reason": limit or ("answered" if root["answer"] else "unanswerable"),
    }


def rest_on_evidence(used: list[str]) -> Update:
    """Return the update that names the evidence of the final answer; if there is none, all evidence is cleared."""
    return {"used": used} if used else {"used": used, "evidence": Overwrite([])}


def reached_limit(tree: Mapping[str, QuestionNode]) -> StopReason | None:
    """Return the limit that cut a question off: the budget, or the depth if there is no answer; None for none."""
    ways = {node["how"] for node in tree.values()}
    if ways & {"budget", "questions"}:
        return "budget"
    return "max_depth" if "depth" in ways and not tree[ROOT_QUESTION]["answer"] else None
