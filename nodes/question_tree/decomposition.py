"""Break a question down into parts, of which one may refer to the answer of an earlier one: `#1` is that of the first.

A part waits for those that it names. The number of the part itself, of a later or of no part is left as it is, and so
is a number that the whole question has already ("Which song was #1 in 1964?").
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, cast

from pydantic import field_validator

from hopgraph.nodes.core.ask import ModelCall
from hopgraph.nodes.core.reply_text import ReplyModel, normalized_query, schema_hint
from hopgraph.nodes.question_tree.branch import parts_of
from hopgraph.state.question_tree import QuestionNode
from hopgraph.state.schemas import MAX_TEXT_CHARACTERS
from hopgraph.tools.prompts import Value, clean

_REFERENCE = re.compile(
    r"(?:\b(?:the )?answers? (?:to|of|from) )?(?:\b(?:sub-?)?question )?[\[{<]?#\s?(\d{1,2})(?!\w)[\]}>]?",
    re.IGNORECASE,
)
"""Forms of references, e.g. `#1`, `[#1]`, `the answer to #1`, `question #1`."""


def fill_references(text: str, names: Mapping[int, str]) -> str:
    """Put what is named in the places of the references; one to a number without a name stays as it is."""
    return _REFERENCE.sub(lambda found: names.get(int(found[1]), found[0]), text)


def referred_numbers(text: str, *, before: int, whole: str) -> set[int]:
    """List the parts before number `before` that a part refers to; `whole` is the question that it is a part of."""
    literal = set(_REFERENCE.findall(whole))
    return {int(number) for number in _REFERENCE.findall(text) if number not in literal and 0 < int(number) < before}


def describe(question: str) -> str:
    """Return what stands for an answer that is not known: its question in quotation marks."""
    return f"“{question.rstrip(' ?.!')}”"


def parts_waited_for(tree: Mapping[str, QuestionNode], node: QuestionNode) -> dict[int, QuestionNode]:
    """Return the parts that a question's own text refers to, by their numbers; empty for one that stands alone."""
    if not node["parent"]:
        return {}
    whole, own = tree[node["parent"]]["question"], number_of(node)
    named = referred_numbers(node["question"], before=own, whole=whole)
    return {number_of(part): part for part in parts_of(tree, node["parent"]) if number_of(part) in named}


def number_of(node: QuestionNode) -> int:
    """Return a part's number among the parts of its question, from 1."""
    return int(node["id"].rpartition(".")[2])


def with_answers(node: QuestionNode, named: Mapping[int, QuestionNode]) -> QuestionNode:
    """Open a question that waited: each reference gives way to the answer, or to the question where it is unknown."""
    names = {number: part["answer"] or describe(part["question"]) for number, part in named.items()}
    return {**node, "status": "open", "question": fill_references(node["question"], names)[:MAX_TEXT_CHARACTERS]}


_NUMBERING = re.compile(r"\A\s*(?:\(?\d{1,2}[.):]|[-*•])\s+")


class SubQuestions(ReplyModel):
    """A reply of the role `decompose`."""

    sub_questions: Annotated[list[Annotated[str, schema_hint(maxLength=300)]], schema_hint(maxItems=20)]

    @field_validator("sub_questions", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        """Take a numbered text for a list, and an object with a question for the question."""
        if isinstance(value, str):
            return value.splitlines()
        if isinstance(value, list):
            return [_question_of(entry) for entry in cast("list[object]", value)]
        return value


def _question_of(entry: object) -> object:
    return cast("dict[str, object]", entry).get("question") if isinstance(entry, dict) else entry


def decomposition_ask(question: str, *, most: int, in_order: bool = False) -> ModelCall[SubQuestions]:
    """Make the request for at most `most` sub-questions, which may refer to earlier answers (`#1`) if `in_order`."""
    variables: dict[str, Value] = {"question": question, "max_sub_questions": most}
    if in_order:
        variables["part_order"] = "in_order"
    return ModelCall("decompose", variables, SubQuestions, SubQuestions(sub_questions=[]))


def read_sub_questions(reply: SubQuestions, *, most: int, known: Sequence[str] = ()) -> list[str]:
    """Read the sub-questions off a reply, at most `most`, in the model's order, each once, without numbering.

    Those that repeat a `known` question (those that it is a part of, and last the question itself) but for case and
    punctuation are dropped, and so are texts that a retriever could not search for. References to earlier ones
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
