"""Text written to be slow is read in time that grows with its length; other tests check what is read."""

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import BaseModel

from hopgraph.tools.models.offline import RuleBasedModel
from hopgraph.tools.models.parse import UnusableReplyError, parse_reply
from hopgraph.tools.prompts import format_block, render
from hopgraph.tools.text import split_sentences

pytestmark = pytest.mark.benchmark

STEPS = ("extract", "decide", "final_answer", "generate_queries", "answer", "deduce", "act", "ground", "review")
LETTERS = ["A" * 1_000_000, "(" * 1_000_000, 'a "' * 300_000, "1," * 500_000, ": " * 500_000]
PHRASES = ["the author of A " * 60_000, "a? " * 300_000, "answer is: [" * 90_000, "Ab Of " * 150_000]
NONSENSE = ["and " * 2_500, "thanks " * 1_400, "the a " * 1_600, "his " * 2_500, "?!" * 5_000]
NO_SENTENCE = ["a" * 1_000_000, "word " * 200_000, "." * 1_000_000, "a." * 500_000, "\n" * 1_000_000, "x\n " * 300_000]
REPLIES = ["{" * 100_000, "{" * 1_900, '{"a":[' * 20_000, "```" * 50_000, "<think>" * 50_000, "\\u00" * 100_000]


class Reply(BaseModel):
    answer: str


def seconds(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


@pytest.fixture(scope="module")
def model() -> RuleBasedModel:
    """Return the model after its first call, which loads the dictionaries."""
    loaded = RuleBasedModel()
    loaded.invoke("Who?")
    return loaded


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("text", [*LETTERS, *PHRASES], ids=lambda text: text[:8])
def test_a_prompt_of_the_offline_model(model: RuleBasedModel, step: str, text: str) -> None:
    blocks = {
        "passages": f'<passage id="1" title="Ab">\n{text}\n</passage>',
        "information": f'<item id="1">{text}</item>',
        "question": text,
        "reasoning": text,
    }
    human = "\n\n".join(f"<{name}>\n{block}\n</{name}>" for name, block in blocks.items())
    messages = [SystemMessage(f"Role: some_method/{step}\n\nRead the blocks."), HumanMessage(human)]
    assert seconds(lambda: model.invoke(messages)) < 5


@pytest.mark.parametrize("text", NONSENSE, ids=lambda text: text[:8])
def test_a_chat_message(model: RuleBasedModel, text: str) -> None:
    said = [f"User: {text[:900]}", f"Assistant: {text[:900]}"]
    for prompt in (
        render("chat/condense_question", {"history": said, "message": text}),
        render("chat/route", {"question": text}),
    ):
        assert seconds(partial(model.invoke, prompt)) < 5


@pytest.mark.parametrize("text", NO_SENTENCE, ids=lambda text: text[:4])
def test_a_megabyte_without_a_sentence_end(text: str) -> None:
    assert seconds(lambda: split_sentences(text)) < 5


def test_unusable_replies() -> None:
    def parse_all() -> None:
        for said in REPLIES:
            with suppress(UnusableReplyError):
                parse_reply(said, Reply)

    assert seconds(parse_all) < 2


def test_a_passage_full_of_delimiters() -> None:
    assert seconds(lambda: format_block("passages", [{"title": "T", "text": "< <\t</" * 200_000}])) < 2


def test_the_picture_of_a_run() -> None:
    pytest.importorskip("gradio", reason="needs the chat extra")
    from hopgraph.tools.apps.server.page.conversation_html import picture

    event: Any = {"event": "query", "node": "n", "step": 1, "path": "", "number": 1}
    event["data"] = {"query": "x" * 10_000_000, "why": ""}
    assert seconds(lambda: picture("word " * 2_000_000, [event], {})) < 60
