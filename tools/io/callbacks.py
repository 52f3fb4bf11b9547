"""Who watches what a graph's nodes call: LangChain's callback handlers."""

from collections.abc import Sequence

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableConfig


def callback_handlers(config: RunnableConfig | None) -> Sequence[BaseCallbackHandler]:
    """Return the callback handlers of a run; empty for none."""
    callbacks = (config or {}).get("callbacks")
    return callbacks if isinstance(callbacks, list) else callbacks.handlers if callbacks else ()
