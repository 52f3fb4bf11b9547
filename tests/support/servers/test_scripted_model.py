import asyncio
import time

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from support.servers.scripted_model import ScriptedChatModel, role_of


def test_list_is_answered_in_order_and_then_fails_the_test() -> None:
    model = ScriptedChatModel(replies=["one", "two"])
    assert [model.invoke("a").text, model.invoke("b").text] == ["one", "two"]
    assert model.remaining == 0
    with pytest.raises(AssertionError, match=r"call 3 .* with 2 replies"):
        model.invoke("c")
    assert [call.messages[-1].text for call in model.calls] == ["a", "b", "c"]


async def test_async_call_runs_out_too() -> None:
    with pytest.raises(AssertionError, match="role 'm/step'"):
        await ScriptedChatModel(replies=[]).ainvoke([SystemMessage("Role: m/step\nDo it."), HumanMessage("x")])


def test_function_sees_role_and_messages() -> None:
    def reply(role: str, messages: list[BaseMessage]) -> str:
        return f"{role}:{messages[-1].text}"

    model = ScriptedChatModel(replies=reply)
    assert model.invoke([SystemMessage("Role: migres/decide\nrules"), HumanMessage("q")]).text == "migres/decide:q"
    assert model.calls[0].role == "migres/decide"
    assert model.remaining == 0


@pytest.mark.parametrize(
    ("messages", "role"),
    [
        ([SystemMessage("Role: a/b\nrest")], "a/b"),
        ([SystemMessage([{"type": "text", "text": "Role: a/b\nrest"}])], "a/b"),
        ([SystemMessage("You are kind.\nRole: a/b")], ""),
        ([HumanMessage("Role: a/b")], ""),
        ([SystemMessage("Role:\nx")], ""),
        ([], ""),
    ],
)
def test_role_comes_from_the_first_line_of_the_system_message(messages: list[BaseMessage], role: str) -> None:
    assert role_of(messages) == role


def test_text_has_usage_and_a_message_is_passed_on() -> None:
    ready = AIMessage("", additional_kwargs={"refusal": "no"})
    model = ScriptedChatModel(replies=["a longer reply of some words", ready])
    usage = model.invoke("question").usage_metadata
    assert usage is not None
    assert usage["output_tokens"] > 5
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert model.invoke("question").additional_kwargs["refusal"] == "no"


async def test_latency_is_waited_side_by_side() -> None:
    model = ScriptedChatModel(replies=["x"] * 8, latency=0.2)

    async def others_at_its_end() -> int:
        await model.ainvoke("q")
        return len(model.calls)

    started = time.monotonic()
    assert await asyncio.gather(*(others_at_its_end() for _ in range(8))) == [8] * 8
    assert time.monotonic() - started >= 0.2
