"""A scripted chat model with tool calling."""

from typing import Any, Self

from typing_extensions import override

from support.servers.scripted_model import ScriptedChatModel


class ScriptedAgentModel(ScriptedChatModel):
    """Calls tools according to its script, regardless of the tools bound."""

    @override
    def bind_tools(self, tools: Any, **options: Any) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self
