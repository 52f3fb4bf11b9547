"""Who watches what a graph's nodes call: LangChain's callback handlers."""

from collections.abc import Sequence

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config


def callback_handlers(config: RunnableConfig | None) -> Sequence[BaseCallbackHandler]:
    """Return the callback handlers of a run; empty for none."""
    callbacks = (config or {}).get("callbacks")
    return callbacks if isinstance(callbacks, list) else callbacks.handlers if callbacks else ()


def may_be_watched(config: RunnableConfig | None) -> bool:
    """Whether handlers watch a call, which without a config is the running node's, or LangChain may add some.

    A graph adds those that the environment asks for (tracing, debugging) as its run begins; outside of one a call does.
    """
    callbacks = (config or var_child_runnable_config.get() or {}).get("callbacks")
    return not isinstance(callbacks, BaseCallbackManager) or bool(callbacks.handlers)
