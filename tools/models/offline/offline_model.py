"""The offline model: a LangChain chat model without weights that reads its prompt and nothing else."""

from collections.abc import Sequence
from typing import Any, ClassVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from typing_extensions import override

from hopgraph.tools.models.offline.reader import RuleReader
from hopgraph.tools.models.players.prompt_reading import parse_request
from hopgraph.tools.models.players.step_replies import reply_to_step


def _count(text: str) -> int:
    """Estimate tokens: one for each four characters, rounded up."""
    return (len(text) + 3) // 4


def as_result(messages: Sequence[BaseMessage], text: str, name: str) -> ChatResult:
    """Make the result of a stand-in model out of its reply to messages, with estimated token counts."""
    read, written = sum(_count(message.text) for message in messages), _count(text)
    usage = UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)
    message = AIMessage(content=text, usage_metadata=usage, response_metadata={"model_name": name})
    return ChatResult(generations=[ChatGeneration(message=message)])


class RuleBasedModel(BaseChatModel):
    """Answer every role of the project's prompts from the passages in the prompt alone (spec `offline:extractive`).

    Deterministic, without weights, network or own knowledge: it copies sentences and spans. The reply is
    one JSON object of the role's shape; it says "unanswerable", "I don't know", "irrelevant" or gives an empty
    list where it finds nothing. Token counts in `usage_metadata` are estimates.
    """

    writes_logprobs: ClassVar[bool] = True

    @property
    @override
    def _llm_type(self) -> str:
        return "offline-extractive"

    @override
    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return as_result(messages, reply_to_step(RuleReader(parse_request(messages))), "extractive")

    @override
    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return self._generate(messages)
