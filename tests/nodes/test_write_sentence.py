"""The answer as a full sentence with marks, whole and while it is written."""

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk, BaseMessage

from hopgraph.graphs import chat
from hopgraph.graphs.baselines import one_step
from hopgraph.nodes.core.marked_text import escape_but_marks, marked_answer, settle_marks
from hopgraph.nodes.core.message_stream import AnswerStream
from hopgraph.state import QuestionInput
from hopgraph.state.chat import ChatContext
from hopgraph.state.context import SENTENCE_STEP
from hopgraph.tools.models.parse import read_unfinished
from support.honest import honest
from support.servers.faults import dropped, truncated
from support.servers.openai_server import OpenAIServer
from support.servers.scripted_model import ScriptedChatModel

QUESTION: QuestionInput = {"question": "Who painted Guernica?"}
SENTENCE = "*Guernica* was painted by Pablo Picasso [1], who was born in Málaga [7] & studied in Madrid."
SETTLED = "*Guernica* was painted by Pablo Picasso [1], who was born in Málaga & studied in Madrid."
ESCAPED = SETTLED.replace("a*", "a\\*")


def says(sentence: str = SENTENCE) -> ScriptedChatModel:
    """The offline model, but for the sentence."""

    def reply(role: str, messages: list[BaseMessage]) -> str:
        return json.dumps({"answer": sentence}) if role.endswith(SENTENCE_STEP) else honest(role, messages)

    return ScriptedChatModel(replies=reply)


def settings(model: Any, **more: Any) -> one_step.Context:
    return one_step.Context(model=model, answer_type="sentence", links=False, **more)


def over_http(server: OpenAIServer, **more: Any) -> one_step.Context:
    return settings(f"openai:any?base_url={server.base_url}", **more)


def is_streamed(body: Any) -> bool:
    return bool(body.get("stream"))


def pieces(context: Any) -> list[str]:
    streamed = one_step.graph.stream(QUESTION, context=context, stream_mode="messages")
    chunks = [message for message, _ in streamed if isinstance(message, AIMessageChunk)]
    assert len({each.id for each in chunks}) == 1
    return [each.text for each in chunks]


def test_only_the_last_step_is_told_the_style() -> None:
    model = says()
    result = one_step.graph.invoke(QUESTION, context=settings(model, answer_instructions="Answer in Latin."))
    assert result["answer"] == SETTLED
    assert [each["title"] for each in result["citations"]] == ["Guernica (painting)"]
    assert result["usage"]["llm_calls"] == len(model.calls) == 2
    styled = [call.role for call in model.calls if "Latin" in str(call.messages)]
    assert styled == ["one_step/write_sentence"]
    short = one_step.graph.invoke(
        QUESTION, context=one_step.Context(model=model, answer_instructions="Answer in Latin.", links=False)
    )
    assert short["answer"] == "Pablo Picasso"


@pytest.mark.parametrize(
    ("context", "answer"),
    [
        (settings(says(), max_llm_calls=1), "Pablo Picasso [1]"),
        (settings(says("")), "Pablo Picasso [1]"),
        (settings(says("No mark.")), "No mark. [1]"),
    ],
)
def test_what_has_no_marks_gets_them_all(context: one_step.Context, answer: str) -> None:
    assert one_step.graph.invoke(QUESTION, context=context)["answer"] == answer


def test_the_answers_field_alone_is_streamed_as_it_is_written() -> None:
    with OpenAIServer(says()) as server:
        context = over_http(server)
        streamed = pieces(context)
        asked = [(each.role, is_streamed(each.body)) for each in server.requests]
        assert one_step.graph.invoke(QUESTION, context=context)["answer"] == SETTLED
        assert not is_streamed(server.requests[-1].body)  # nobody reads the messages
    assert len(streamed) > 2
    assert "".join(streamed) == ESCAPED
    assert asked == [("one_step/answer", False), ("one_step/write_sentence", True)]


@pytest.mark.parametrize("fault", [truncated(), dropped("end")])
def test_a_streamed_reply_is_retried_and_parsed_like_any_other(fault: Any) -> None:
    with OpenAIServer(says()) as server:
        server.fail_when("one_step/write_sentence", fault, times=1)
        context = over_http(server, request_retries=1)
        assert "".join(pieces(context)) == ESCAPED
        roles = [each.role for each in server.requests]
    assert roles == ["one_step/answer", *["one_step/write_sentence"] * 2]


def test_a_chat_streams_the_answer_and_then_its_sources_as_one_message() -> None:
    given = {"messages": [("user", QUESTION["question"])]}
    found: list[AIMessageChunk] = []
    last: Any = None
    modes: list[Any] = ["messages", "values"]
    with OpenAIServer(says()) as server:
        model = f"openai:any?base_url={server.base_url}"
        context = ChatContext(model=model, answer_type="sentence", use_method="one_step")
        for _, mode, chunk in chat.graph.stream(given, context=context, stream_mode=modes, subgraphs=True):
            if mode == "messages":
                found.append(chunk[0])
            else:
                last = chunk.get("messages", [last])[-1]
    assert len(found) > 3
    assert {each.id for each in found} == {last.id}
    assert "".join(each.text for each in found) == last.text
    assert last.text.startswith(f"{ESCAPED}\n\n[1] Guernica (painting): “")


@pytest.mark.parametrize(
    ("text", "settled", "escaped"),
    [
        ("A [1, 2].", "A [1][2].", "A [1][2]."),
        ("A [2;9] b [0].", "A [2] b.", "A [2] b."),
        ("In [1911] [note]", "In [1911] [note]", "In [1911] [note] [1][2]"),
        ("A\n[b](http://x) [1]", "A [b](http://x) [1]", "A [b\\](http://x) [1]"),
    ],
)
def test_marks_are_settled_and_nothing_else_is_markup(text: str, settled: str, escaped: str) -> None:
    assert settle_marks(text, 2) == settled
    assert marked_answer(settled, 2) == escaped


def test_what_is_pushed_is_never_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    reply = '<think>{"answer": "no"}</think> ```json\n{"answer": "A \\u00e9 &lt;b> [1, 2], c \\"d\\" [9]. "}\n```'
    pushed: list[str] = []
    stream = AnswerStream("answer", lambda text: escape_but_marks(settle_marks(text, 2), 2))
    monkeypatch.setattr(stream, "_push", pushed.append)
    for end in range(len(reply)):
        stream.feed(reply[:end])
    stream.end(marked_answer(settle_marks(read_unfinished(reply, "answer"), 2), 2))
    assert "".join(pushed) == 'A é \\<b> [1][2], c "d".'
    assert len(pushed) > 10
