"""A scripted chat model that an agent can give tools to."""

from typing import Any, Self

from typing_extensions import override

from support.servers.scripted_model import ScriptedChatModel


class ScriptedAgentModel(ScriptedChatModel):
    """It calls tools as its script says, whichever it is given."""

    @override
    def bind_tools(self, tools: Any, **options: Any) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self
