"""`offline:extractive`: a rule-based model, so that everything runs without a language model."""

from typing import Any, ClassVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from typing_extensions import override

from hopgraph.tools.models.offline.reader import RuleReader
from hopgraph.tools.models.players.prompt_reading import parse_request
from hopgraph.tools.models.players.step_replies import make_result, reply_to_step

__all__ = ["RuleBasedModel"]


class RuleBasedModel(BaseChatModel):
    """Chat model (spec `offline:extractive`) that answers every role's prompts from their passages alone, by rules.

    It is deterministic, has no weights or knowledge, and copies sentences and spans. Each reply is one JSON object in
    the role's schema, with "unanswerable", "I don't know", "irrelevant" or an empty list if it finds nothing.
    """

    writes_logprobs: ClassVar[bool] = True

    @property
    @override
    def _llm_type(self) -> str:
        return "offline-extractive"

    @override
    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return make_result(messages, reply_to_step(RuleReader(parse_request(messages))), "extractive")

    @override
    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return self._generate(messages)
