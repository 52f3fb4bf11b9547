"""Who watches what a graph's nodes call: LangChain's callback handlers."""

from collections.abc import Sequence

from langchain_core.callbacks import AsyncCallbackManager, BaseCallbackHandler
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config


def callback_handlers(config: RunnableConfig | None) -> Sequence[BaseCallbackHandler]:
    """Return the callback handlers of a run; empty for none."""
    callbacks = (config or {}).get("callbacks")
    return callbacks if isinstance(callbacks, list) else callbacks.handlers if callbacks else ()


def is_watched(config: RunnableConfig | None) -> bool:
    """Whether a callback handler watches a call.

    It is one of the config, else of the running node, or one that LangChain adds: for tracing, debugging, usage.
    """
    given = config if config and config.get("callbacks") else var_child_runnable_config.get()
    return bool(callback_handlers(given) or AsyncCallbackManager.configure().handlers)
