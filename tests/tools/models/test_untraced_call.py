"""A chat model that no handler watches replies as LangChain's own `ainvoke` lets it."""

from collections.abc import Iterator
from functools import wraps
from typing import Any

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import AsyncCallbackHandler, get_usage_metadata_callback
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.rate_limiters import InMemoryRateLimiter
from langchain_core.runnables import RunnableBinding
from typing_extensions import override

from hopgraph.tools.models.untraced_call import call_chat_model
from support.servers.scripted_model import ScriptedChatModel

USAGE: Any = {"input_tokens": 4, "output_tokens": 1, "total_tokens": 5}
MESSAGES: list[Any] = [HumanMessage("Who painted Guernica?")]


class Noted(BaseChatModel):
    """Replies with the options that it is called with; its reply ends as a provider says."""

    @property
    def _llm_type(self) -> str:
        return "noted"

    @override
    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        message = AIMessage(repr(sorted(kwargs.items())), response_metadata={"model": "noted"})
        ended = ChatGeneration(message=message, generation_info={"finish_reason": "length"})
        return ChatResult(generations=[ended], llm_output={"system_fingerprint": "f"})


class Watcher(AsyncCallbackHandler):
    def __init__(self) -> None:
        self.asked = 0

    @override
    async def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        self.asked += 1


async def test_it_is_the_reply_of_ainvoke() -> None:
    model = Noted().bind(response_format="json").bind(top_p=0.5)
    called, invoked = (
        await call_chat_model(model, MESSAGES, {}, stream=False),
        await model.ainvoke(MESSAGES, stream=False),
    )
    assert called.text == invoked.text == "[('response_format', 'json'), ('stream', False), ('top_p', 0.5)]"
    assert called.response_metadata == invoked.response_metadata
    assert called.response_metadata == {"system_fingerprint": "f", "finish_reason": "length", "model": "noted"}


async def test_handlers_of_the_call_of_the_model_and_of_its_binding_see_it() -> None:
    watcher = Watcher()
    await call_chat_model(Noted(), MESSAGES, {"callbacks": [watcher]})
    await call_chat_model(Noted(callbacks=[watcher]).bind(top_p=1), MESSAGES, {})
    await call_chat_model(Noted().with_config(callbacks=[watcher]), MESSAGES, {})
    assert watcher.asked == 3


async def test_a_cache_and_a_rate_limiter_hold() -> None:
    class Counted(InMemoryRateLimiter):
        taken = 0

        @override
        async def aacquire(self, *, blocking: bool = True) -> bool:
            Counted.taken += 1
            return True

    model = ScriptedChatModel(replies=["Picasso"], cache=InMemoryCache(), rate_limiter=Counted())
    texts = [(await call_chat_model(model, MESSAGES, {})).text for _ in range(2)]
    assert (texts, Counted.taken) == (["Picasso", "Picasso"], 1)


async def test_a_cache_that_is_false_while_it_is_empty_holds() -> None:
    class Sized(InMemoryCache):
        def __len__(self) -> int:
            return 0

    model = ScriptedChatModel(replies=["Picasso"], cache=Sized())
    assert [(await call_chat_model(model, MESSAGES, {})).text for _ in range(2)] == ["Picasso", "Picasso"]


async def test_a_class_with_an_ainvoke_of_its_own_keeps_it() -> None:
    class Own(Noted):
        @override
        async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> AIMessage:
            return AIMessage(f"its own: {kwargs}")

    assert (await call_chat_model(Own().bind(top_p=1), MESSAGES, {})).text == "its own: {'top_p': 1}"


async def test_a_failure_is_the_models() -> None:
    with pytest.raises(AssertionError, match=r"call 1 \(role ''\)"):
        await call_chat_model(ScriptedChatModel(replies=[]), MESSAGES, {})


async def test_a_model_has_a_run_manager_and_messages_of_its_own() -> None:
    class Wrapper(Noted):
        @override
        async def _agenerate(
            self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
        ) -> ChatResult:
            messages.clear()
            await run_manager.on_llm_new_token("P")
            assert run_manager.handlers == []
            return await super()._agenerate(messages, stop, run_manager, **kwargs)

    given = list(MESSAGES)
    assert (await call_chat_model(Wrapper(), given, {})).text == "[]"
    assert given == MESSAGES


async def test_counting_inside_of_a_node_sees_the_call() -> None:
    model = ScriptedChatModel(
        replies=[AIMessage("Picasso", usage_metadata=USAGE, response_metadata={"model_name": "m"})]
    )
    with get_usage_metadata_callback() as counted:
        await call_chat_model(model, MESSAGES, {})
    assert counted.usage_metadata["m"]["total_tokens"] == 5


@pytest.mark.parametrize("name", ["ainvoke", "agenerate_prompt", "agenerate"])
async def test_an_agent_that_wraps_langchains_models_sees_the_call(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own, seen = getattr(BaseChatModel, name), list[str]()

    @wraps(own)
    async def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(name)
        return await own(self, *args, **kwargs)

    monkeypatch.setattr(BaseChatModel, name, watched)
    await call_chat_model(Noted(), MESSAGES, {})
    assert seen == [name]


async def test_a_binding_with_an_ainvoke_of_its_own_keeps_it() -> None:
    class Masked(RunnableBinding[Any, AIMessage]):
        @override
        async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> AIMessage:
            return AIMessage("masked")

    assert (await call_chat_model(Masked(bound=Noted()), MESSAGES, {})).text == "masked"


async def test_of_several_replies_the_first_is_taken() -> None:
    class Several(Noted):
        @override
        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
            return ChatResult(generations=[ChatGeneration(message=AIMessage(text)) for text in ("one", "two")])

    assert (await call_chat_model(Several(), MESSAGES, {})).text == "one"


async def test_a_bound_stream_is_streamed() -> None:
    class Streaming(Noted):
        @override
        def _stream(
            self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
        ) -> Iterator[ChatGenerationChunk]:
            yield ChatGenerationChunk(message=AIMessageChunk(content="in a stream"))

    assert (await call_chat_model(Streaming().bind(stream=True), MESSAGES, {})).text == "in a stream"


async def test_a_model_that_takes_no_run_manager_is_called_without_one() -> None:
    class Passes(Noted):
        @override
        async def _agenerate(self, messages: Any, stop: Any, **kwargs: Any) -> ChatResult:  # pyright: ignore[reportIncompatibleMethodOverride]
            return self._generate(messages, stop, **kwargs)

    assert (await call_chat_model(Passes(), MESSAGES, {}, top_p=1)).text == "[('top_p', 1)]"
    assert (await Passes().ainvoke(MESSAGES, top_p=1)).text == "[('top_p', 1)]"
