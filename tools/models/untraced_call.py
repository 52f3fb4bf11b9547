"""Call a chat model without what LangChain prepares for callback handlers, where none watches."""

from functools import cache
from inspect import signature
from typing import Any, cast

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.globals import get_llm_cache
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatResult
from langchain_core.runnables import Runnable, RunnableBinding, RunnableConfig

from hopgraph.tools.io.callbacks import is_watched

_TRACED = ("ainvoke", "agenerate_prompt", "agenerate")
"""The methods in which a chat model prepares what handlers see."""
_OF_TRACES = frozenset({"ls_structured_output_format", "structured_output_format"})
"""Options that LangChain takes out for traces."""


async def call_chat_model(
    model: Runnable[list[BaseMessage], AIMessage], messages: list[BaseMessage], config: RunnableConfig, **options: Any
) -> AIMessage:
    """Return the reply of a chat model, which may have options bound to it.

    Unwatched it takes a tenth of the time around the request. The model's cache, rate limiter and way of streaming hold
    as ever.
    """
    chat = model
    if isinstance(model, RunnableBinding) and type(model).ainvoke is RunnableBinding.ainvoke:
        bound = cast("RunnableBinding[Any, AIMessage]", model)
        if not bound.config and not bound.config_factories:
            chat, options = bound.bound, {**bound.kwargs, **options}
    if not isinstance(chat, BaseChatModel) or options.keys() & _OF_TRACES or _is_traced(chat) or is_watched(config):
        return await chat.ainvoke(messages, config, **options)
    make_run_manager = AsyncCallbackManagerForLLMRun.get_noop_manager
    if _is_plain(chat) and not options.get("stream"):
        managed = {"run_manager": make_run_manager()} if _takes_run_manager(type(chat)) else {}
        reply = getattr(chat, "_agenerate")  # noqa: B009
        result: ChatResult = await reply(list(messages), **{"stop": None, **options, **managed})
        generation = result.generations[0]  # of several, as with n=2, the first
        message = cast("AIMessage", generation.message)
        known = {**(result.llm_output or {}), **(generation.generation_info or {})}
        message.response_metadata = {**known, **message.response_metadata}
        return message
    generate = getattr(chat, "_agenerate_with_cache")  # noqa: B009 - what `agenerate` calls for each prompt
    result = await generate(list(messages), run_manager=make_run_manager(), **options)
    return cast("AIMessage", result.generations[0].message)


def _is_plain(model: BaseChatModel) -> bool:
    """Whether a model has neither cache nor rate limiter, does not stream, and returns its messages as they are."""
    cached = model.cache is not False and (model.cache is not None or get_llm_cache() is not None)
    streams = "streaming" in model.model_fields_set and getattr(model, "streaming", False)
    return not (cached or model.rate_limiter or model.output_version == "v1" or streams)


@cache
def _takes_run_manager(kind: type[BaseChatModel]) -> bool:
    return "run_manager" in signature(getattr(kind, "_agenerate")).parameters  # noqa: B009


def _is_traced(model: BaseChatModel) -> bool:
    """Whether a model has handlers, or methods of its own or of a monitoring agent's that call them."""
    methods = [(getattr(type(model), name), getattr(BaseChatModel, name)) for name in _TRACED]
    replaced = any(used is not known or hasattr(used, "__wrapped__") for used, known in methods)
    return replaced or bool(model.callbacks) or model.verbose
