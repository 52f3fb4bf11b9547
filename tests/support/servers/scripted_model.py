"""A chat model with scripted replies."""

import asyncio
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Annotated, Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field, PrivateAttr
from typing_extensions import override

ReplyFunction = Callable[[str, list[BaseMessage]], str | AIMessage]
"""(role, messages) -> reply; called from several threads at once when the model is."""

_WAVE_SECONDS = 120
_MORE_SECONDS = 0.03
"""In which whatever else is under way beside a wave shows itself."""
_ROLE_LINE = re.compile(r"\s*Role:[ \t]*(\S+)")


@dataclass(frozen=True)
class ScriptedCall:
    """One call that reached the model."""

    role: str
    messages: list[BaseMessage]


def role_of(messages: Sequence[BaseMessage]) -> str:
    """Return the role from the first line `Role: method/step` of the system message, or ""."""
    for message in messages:
        if isinstance(message, SystemMessage) and (match := _ROLE_LINE.match(message.text)):
            return match[1]
    return ""


class ScriptedChatModel(BaseChatModel):
    """Answer from a list, in the order of the calls, or from a function of the role and the messages.

    It fails the test when it is called more often than the list is long. It has no tool calling and no
    structured output of its own, as many models do not; `OpenAIServer` adds both. A reply given as an
    `AIMessage` is passed on as it is; a text gets token counts (`count_tokens_approximately`).
    """

    replies: Sequence[str | AIMessage] | ReplyFunction
    latency: Annotated[float, Field(ge=0)] | Callable[[str], float] = 0.0
    """Seconds that each call takes, or a function of its role; calls wait side by side."""

    writes_logprobs: bool = True
    """It replies with a record where log-probabilities are asked for."""

    _calls: list[ScriptedCall] = PrivateAttr(default_factory=list[ScriptedCall])
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def calls(self) -> list[ScriptedCall]:
        """All calls so far in order of arrival, including failed ones."""
        with self._lock:
            return list(self._calls)

    @property
    def remaining(self) -> int:
        """The number of scripted replies left; 0 for a function."""
        return 0 if callable(self.replies) else max(0, len(self.replies) - len(self.calls))

    def _next_reply(self, messages: list[BaseMessage]) -> ChatResult:
        role = role_of(messages)
        with self._lock:
            number = len(self._calls)
            self._calls.append(ScriptedCall(role, list(messages)))
        if callable(self.replies):
            reply = self.replies(role, messages)
        elif number < len(self.replies):
            reply = self.replies[number]
        else:
            raise AssertionError(
                f"call {number + 1} (role {role!r}) of a scripted model with {len(self.replies)} replies"
            )
        message = reply if isinstance(reply, AIMessage) else _with_usage(reply, messages)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _seconds(self, role: str) -> float:
        return self.latency(role) if callable(self.latency) else self.latency

    async def _wait(self, role: str) -> None:
        """Delay a reply, after the call was recorded."""
        await asyncio.sleep(self._seconds(role))

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        result = self._next_reply(messages)
        time.sleep(self._seconds(role_of(messages)))
        return result

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        result = self._next_reply(messages)
        await self._wait(role_of(messages))
        return result


class WavesChatModel(ScriptedChatModel):
    """Answers the calls of a wave only when all have arrived; the number of waves is the longest chain of calls.

    Nothing is measured, so that a busy machine does not matter. Calls that come one after another where a wave of
    several was expected fail the test, and so do those that come beside a wave.
    """

    waves: Sequence[int]
    """How many calls each wave has."""

    _complete: dict[int, asyncio.Event] = PrivateAttr(default_factory=dict[int, asyncio.Event])
    """By number of calls, the event that the wave which ends there is complete."""

    @override
    async def _wait(self, role: str) -> None:
        arrived = len(self.calls)
        end = next((end for end in accumulate(self.waves) if arrived <= end), None)
        if end is None:
            raise AssertionError(f"call {arrived} (role {role!r}) where waves of {self.waves} were expected")
        complete = self._complete.setdefault(end, asyncio.Event())
        if arrived == end:
            await asyncio.sleep(_MORE_SECONDS)
            more = [call.role for call in self.calls[end:]]
            assert not more, f"beside the wave that ends with call {end} of waves {self.waves} came {more}"
            complete.set()
        try:
            async with asyncio.timeout(_WAVE_SECONDS):
                await complete.wait()
        except TimeoutError:
            said = f"call {arrived} (role {role!r}) waited in vain for call {end} of waves {self.waves}"
            raise AssertionError(said) from None


class JumbledChatModel(ScriptedChatModel):
    """Delays each call by a different time, derived from a seed."""

    seed: int = 0

    @override
    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        await asyncio.sleep(Random(f"{self.seed}{messages[-1].text}").uniform(0, 0.03))
        return await super()._agenerate(messages, *args, **kwargs)


def _with_usage(text: str, messages: list[BaseMessage]) -> AIMessage:
    prompt, completion = count_tokens_approximately(messages), count_tokens_approximately([AIMessage(text)])
    usage = UsageMetadata(input_tokens=prompt, output_tokens=completion, total_tokens=prompt + completion)
    return AIMessage(text, usage_metadata=usage)
