"""Replies are read tolerantly, and nothing is made up."""

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel

from hopgraph.tools.models import UnusableReplyError, parse_reply
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


def test_reply_text_is_never_evaluated() -> None:
    with pytest.raises(UnusableReplyError):
        parse_reply("__import__('os').abort()", Reply)


def _escapes_decoded(said: str) -> str:
    def decoded(match: re.Match[str]) -> str:
        return str(json.loads(f'"{match[0]}"'))

    return re.sub(r'\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])', decoded, said)


@given(st.text(max_size=200))
@example('{"answer": {"text": "x')
@example('{"answer": {"text": "a\\"b"}}')
@example("{'answer': {'text': 'it''s'}}")
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
