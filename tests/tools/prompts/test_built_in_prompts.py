"""What the built-in prompts tell a model: how to judge, what an answer may be, and a reply for every branch."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hopgraph.tools.prompts import Value, read_prompt, render
from hopgraph.tools.prompts.prompt_files import prompts_root

PROMPTS = sorted(prompts_root().rglob("*.md"))
ENOUGH = ("decide", "judge_together", "review", "review_directly")
"""The steps that judge whether what they see is enough."""


def role(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def instructions(name: str, **given: Value) -> str:
    prompt = read_prompt(name)
    variables: dict[str, Value] = {each: ["x"] for each in prompt.variables - prompt.optional}
    return render(name, {**variables, **given})[0].text


def examples(name: str, **given: Value) -> list[dict[str, Any]]:
    _, _, shown = instructions(name, **given).partition("Reply with one JSON object and nothing else:\n")
    return [json.loads(each) for each in shown.split("\nor ")]


@pytest.mark.parametrize("path", PROMPTS, ids=role)
def test_an_answer_may_be_yes_or_no(path: Path) -> None:
    text = instructions(role(path))
    assert ("a date or a number" in text) <= ('"yes" or "no"' in text)
    assert "or the like" not in text


@pytest.mark.parametrize("step", ENOUGH)
def test_what_judges_knows_when_one_side_of_a_comparison_decides(step: str) -> None:
    text = instructions(f"common/{step}")
    assert "no record means none" in text
    assert "never a date" in text
    assert "takes for granted" in text


@pytest.mark.parametrize(
    ("name", "branch"),
    [
        ("common/decide", lambda each: each["missing_information"] and not each["used_information"]),
        ("common/extract", lambda each: not each["useful_information"]),
        ("common/ground", lambda each: each == {"ref": "Empty", "revise": ""}),
        ("common/deduce", lambda each: each["final_answer"] and not each["sub_question"]),
        ("common/follow_up", lambda each: each["final_answer"] and not each["sub_question"]),
        ("common/follow_up_jointly", lambda each: each["final_answer"] and not each["sub_question"]),
        ("common/act", lambda each: each["action"].startswith("finish[") and each["used_passages"]),
        ("common/review", lambda each: each["relevant"] and not each["enough"] and each["query"]),
        ("common/review_directly", lambda each: each["relevant"] and not each["enough"] and each["query"]),
        ("common/judge_together", lambda each: not each["enough"] and each["relevant"]),
        ("common/reason", lambda each: not each["used_passages"]),
        ("common/decompose", lambda each: not each["sub_questions"]),
        ("common/write_chain", lambda each: not each["chain"]),
    ],
)
def test_the_examples_show_every_branch(name: str, branch: Any) -> None:
    found = [bool(branch(each)) for each in examples(name)]
    assert any(found)
    assert not all(found) or name == "common/reason"


def test_all_that_is_missing_is_named_and_asked_for() -> None:
    assert "every missing thing" in instructions("common/decide")
    assert "every missing fact" in instructions("common/generate_queries")


@pytest.mark.parametrize("step", ["deduce", "follow_up", "follow_up_jointly", "act", "generate_queries", "write_chain"])
def test_a_dead_end_is_left_for_another_route(step: str) -> None:
    assert "another route" in instructions(f"common/{step}")


def test_a_variable_that_only_chooses_wording_is_not_shown() -> None:
    given: dict[str, Value] = {"question": "Who?", "max_sub_questions": 3}
    system, human = render("ra_isf/decompose", {**given, "part_order": "in_order"})
    assert "#1" in system.text
    assert re.findall(r"^<(\w+)>", human.text, re.MULTILINE) == ["question"]
    assert "#1" not in render("ra_isf/decompose", given)[0].text
