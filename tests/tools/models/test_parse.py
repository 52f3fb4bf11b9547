"""Replies are read tolerantly, and nothing is made up."""

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel

from hopgraph.tools.models import UnusableReplyError, parse_reply
from hopgraph.tools.models.parse import is_only_reasoning
from hopgraph.tools.prompts import unescape


class Answer(BaseModel):
    text: str


class Reply(BaseModel):
    answer: Answer
    notes: list[str] = []


GOOD = '{"answer": {"text": "Lima"}}'


@pytest.mark.parametrize(
    "said",
    [
        GOOD,
        f"<think>perhaps {{}} or Rome</think>\n{GOOD}",
        f'<think>maybe {{"answer": {{"text": "Rome"}}}}</think>{GOOD}',
        f"```json\n{GOOD}\n```",
        f"Sure! Here it is:\n```\n{GOOD}\n```\nAnything else?",
        '{"answer": {"text": "Lima",},}',
        "{'answer': {'text': 'Lima'}}",
        '{answer: {text: "Lima"}}',
        '{"answer": {"text": "Lima"}',
        f'{{"unrelated": 1}} {GOOD}',
        '{"answer": {"text": "Lima"}, "answer_language": "en"}',
        '{"answer": {"text": "L\\u0069ma"}}',
        f'{{"type": "function", "function": {{"name": "Reply", "arguments": {json.dumps(GOOD)}}}}}',
        f'{{"tool_calls": [{{"function": {{"arguments": {GOOD}}}}}]}}',
        f'{{"action": "Reply", "action_input": {GOOD}}}',
        f'{{"result": {GOOD}}}',
        f'{{"answer": {GOOD}}}',
        f'{{"reply": {GOOD}}}',
        f'{{"Arguments": {GOOD.replace("answer", "Answer")}}}',
        '{"properties": {"answer": {"type": "object", "value": {"text": "Lima"}}}}',
        '<tool_call><function=Reply><parameter=answer>{"text": "Lima"}</parameter></function></tool_call>',
        '<tool_call>Reply\n<arg_key>answer</arg_key>\n<arg_value>{"text": "Lima"}</arg_value></tool_call>',
        '<answer>{"text": "Lima"}</answer>',
        '<answer type="object">{"text": "Lima"}</answer>',
        '<invoke name="Reply"><parameter name="answer" string="false">{"text": "Lima"}</parameter></invoke>',
        '<\uff5cDSML\uff5cparameter name="answer" string="false">{"text": "Lima"}</\uff5cDSML\uff5cparameter>',
        '<|tool_call>call:Reply{answer:{text:<|"|>Lima<|"|>}}<tool_call|>',
        r"""{"answer": {"text": "Lima"}, "notes": ["it\'s the capital"]}""",
    ],
)
def test_usual_wrappings_are_understood(said: str) -> None:
    assert parse_reply(said, Reply).answer.text == "Lima"


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("", "empty"),
        ("<think>I will think for ever", "empty"),
        ("Lima", "no JSON object"),
        ('["Lima"]', "no JSON object"),
        ('{"answer": 3}', "answer"),
        ("{" * 5000, "no JSON object"),
        ('{"a":' * 5000, "."),
    ],
)
def test_a_reply_without_the_record_is_named_as_such(said: str, problem: str) -> None:
    with pytest.raises(UnusableReplyError, match=problem):
        parse_reply(said, Reply)


@pytest.mark.parametrize("name", ["usedPassages", "Used Passages", "used-passages", "USED_PASSAGES"])
def test_other_spellings_of_a_field_are_read(name: str) -> None:
    class Cited(BaseModel):
        used_passages: list[int]

    assert parse_reply(json.dumps({name: [1]}), Cited).used_passages == [1]


DRAFT = '{"answer": {"text": "Rome"}}'
REASONED = [
    "<think>{}</think>",
    "<think >{}</think >",
    '<reasoning effort="high">{}</reasoning>',
    "<thought>{}</thought>",
    "<seed:think>{}</seed:think>",
    "<|thinking|>{}<|/thinking|>",
    "<|begin_of_thought|>{}<|end_of_thought|>",
    "<|START_THINKING|>{}<|END_THINKING|>",
    "[THINK]{}[/THINK]",
    "◁think▷{}◁/think▷",
    "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>",
    "<|channel|>analysis<|message|>{}<|end|><|start|>assistant",
    "<|channel>thought\n{}<channel|>",
    "<|inner_prefix|>{}<|inner_suffix|>",
    "analysis{}assistantfinal",
    "{}</think>",
]


@pytest.mark.parametrize("marks", REASONED)
@pytest.mark.parametrize("final", [GOOD, f"```json\n{GOOD}\n```", GOOD.replace("}}", ",},}"), f"{GOOD} {{}}"])
def test_a_draft_in_reasoning_is_set_aside(marks: str, final: str) -> None:
    thoughts = marks.replace("{}", f"Maybe {DRAFT}, but {{then}} again ...")
    assert parse_reply(f"{thoughts}\n{final}", Reply).answer.text == "Lima"


@pytest.mark.parametrize("marks", [each for each in REASONED if not each.startswith(("{}", "analysis"))])
def test_a_draft_is_no_record_where_nothing_follows(marks: str) -> None:
    unfinished = marks.partition("{}")[0] + DRAFT
    assert is_only_reasoning(unfinished)
    with pytest.raises(UnusableReplyError, match="empty"):
        parse_reply(unfinished, Reply)


@pytest.mark.parametrize(
    "said",
    [
        f"First try: {DRAFT}\nWait, that is wrong.\nFinal answer: {GOOD}",
        f"```json\n{DRAFT}\n```\nNo, it is\n```json\n{GOOD}\n```",
        f"```json\n{DRAFT}\n```\nNo, it is {GOOD}",
        f"{DRAFT}\n{GOOD}",
        f"{DRAFT} {GOOD} {{}} {{'usage': 3}}",
        " ".join([DRAFT] * 500 + [r"\frac{a}{b}"] * 500 + [GOOD]),
    ],
)
def test_of_several_records_the_last_one_counts(said: str) -> None:
    assert parse_reply(said, Reply).answer.text == "Lima"


@pytest.mark.parametrize(
    "text",
    ["</think>", "<think>", "[THINK] or [/THINK]", "``` and ```", "<|channel|>analysis", DRAFT, "assistantfinal {"],
)
@pytest.mark.parametrize("around", ["{}", "Here it is: {}", "<think>so</think>{}", "```\n{}\n```"])
def test_marks_in_the_strings_of_a_record_are_a_part_of_them(text: str, around: str) -> None:
    said = json.dumps({"answer": {"text": text}})
    assert parse_reply(around.replace("{}", said), Reply).answer.text == text


def test_an_object_without_any_field_is_only_a_record_where_there_is_no_other() -> None:
    class AllOptional(BaseModel):
        text: str = ""

    assert parse_reply('{"text": "Lima"} {"tokens": 3}', AllOptional).text == "Lima"
    assert parse_reply("{}", AllOptional).text == ""


def test_reply_text_is_never_evaluated() -> None:
    with pytest.raises(UnusableReplyError):
        parse_reply("__import__('os').abort()", Reply)


def _escapes_decoded(said: str) -> str:
    def decoded(match: re.Match[str]) -> str:
        return "'" if match[0] == r"\'" else str(json.loads(f'"{match[0]}"'))

    return re.sub(r"""\\(?:u[0-9a-fA-F]{4}|["'\\/bfnrt])""", decoded, said)


@given(st.text(max_size=200))
@example('{"answer": {"text": "x')
@example('{"answer": {"text": "a\\"b"}}')
@example("{'answer': {'text': 'it''s'}}")
@example("0\\")
def test_arbitrary_text_never_crashes_and_never_yields_what_it_does_not_hold(text: str) -> None:
    for said in (text, f'{{"answer": {{"text": {text}', f"{{'answer': {{'text': '{text}'}}}}"):
        try:
            found = parse_reply(said, Reply).answer.text
        except UnusableReplyError:
            continue
        assert found in unescape(said) or found in unescape(_escapes_decoded(said))


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=100), st.booleans())
@example("&lt;b&gt;", False)
def test_a_well_formed_reply_comes_through_letter_by_letter(text: str, ascii_only: bool) -> None:
    said = json.dumps({"answer": {"text": text}}, ensure_ascii=ascii_only)
    assert parse_reply(said, Reply).answer.text == unescape(text)


def test_hostile_replies_are_unusable() -> None:
    for said in (
        "{" * 100_000,
        "{" * 1_900,
        '{"a":[' * 20_000,
        "```" * 50_000,
        "<think>" * 50_000,
        "\\u00" * 100_000,
    ):
        with pytest.raises(UnusableReplyError):
            parse_reply(said, Reply)
