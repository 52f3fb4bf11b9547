"""The model or retriever inside `.bind()`, `.with_retry()` and similar wrappers; and who observes it."""

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import Runnable, RunnableConfig, RunnableWithFallbacks
from langchain_core.runnables.base import RunnableBindingBase

AnyRunnable = Runnable[Any, Any]


def leaves_of(runnable: AnyRunnable) -> list[AnyRunnable]:
    """List the workers inside a Runnable, in the order in which they are called; any other kind is its own worker."""
    if isinstance(runnable, RunnableWithFallbacks):
        return [leaf for each in runnable.runnables for leaf in leaves_of(each)]
    return leaves_of(runnable.bound) if isinstance(runnable, RunnableBindingBase) else [runnable]


def replace_leaves(runnable: AnyRunnable, change: Callable[[Any], AnyRunnable]) -> AnyRunnable:
    """Return a Runnable with each of its `leaves_of` replaced."""
    if isinstance(runnable, RunnableWithFallbacks):
        first, *others = [replace_leaves(each, change) for each in runnable.runnables]
        return runnable.model_copy(update={"runnable": first, "fallbacks": others})
    if isinstance(runnable, RunnableBindingBase):
        return runnable.model_copy(update={"bound": replace_leaves(runnable.bound, change)})
    return change(runnable)


def callback_handlers(config: RunnableConfig | None) -> Sequence[BaseCallbackHandler]:
    """Return the callback handlers of a run; empty if there are none."""
    callbacks = (config or {}).get("callbacks")
    return callbacks if isinstance(callbacks, list) else callbacks.handlers if callbacks else ()
