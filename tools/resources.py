"""From the settings to what they name: models, retrievers, rerankers, entailment checkers.

The only place where a spec becomes an object. Specs are resolved off the event loop, since they open files
and import packages, and are cached by spec; ready objects pass through. A spec that cannot be resolved is a SpecError.
"""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.runnables import Runnable

from hopgraph.state import Context, EntailmentChecker, Reranker, SpecError
from hopgraph.state.context import DEFAULT_MODEL, DEFAULT_RETRIEVER
from hopgraph.state.run_settings import awaited_once_per_run
from hopgraph.tools.io.background import gather_or_cancel
from hopgraph.tools.models import ModelHandle, Sampling, model_name, resolve_model
from hopgraph.tools.retrieval.joined_retriever import open_retriever
from hopgraph.tools.scoring.resolve import resolve_entailment, resolve_reranker

OWN = "its own"
"""The name shown for the model of a graph that calls its own."""
_ResourceT = TypeVar("_ResourceT")
_rerankers: dict[str, Reranker] = {}
_checkers: dict[str, EntailmentChecker] = {}


async def get_model(settings: Context, role: str) -> ModelHandle:
    """Return the model of a role: bound to the role itself, else to its longest prefix, else the general one."""
    given = find_model_spec(settings, role)
    sampling = Sampling(settings.temperature, settings.seed, settings.request_timeout)
    name = "model", given if isinstance(given, str) else id(given)
    return await awaited_once_per_run(settings, name, lambda: resolve_model(given, sampling))


def find_model_spec(settings: Context, role: str) -> str | Runnable[Any, Any]:
    """Return the setting for a role: bound to the role itself, else to its longest prefix, else in general."""
    bound = [name for name in settings.models if role == name or role.startswith(f"{name}/")]
    return settings.models[max(bound, key=len)] if bound else (settings.model or DEFAULT_MODEL)


async def get_retriever(given: str | Runnable[str, Any] | None, *, links: bool = True) -> Runnable[str, Any]:
    """Return a retriever; None is the sample corpus. CorpusError where an index cannot be opened."""
    if isinstance(given, BaseChatModel):
        raise SpecError(f"the retriever is a model ({type(given).__name__}); pass a LangChain retriever or a spec")
    return await open_retriever(given if isinstance(given, Runnable) else given or DEFAULT_RETRIEVER, links=links)


async def get_retrievers(settings: Context) -> list[Runnable[str, Any]]:
    """Return the retriever, and the second one if there is one; the next run sees an index that was replaced."""
    given = [settings.retriever, *([settings.second_retriever] if settings.second_retriever else [])]
    return await awaited_once_per_run(
        settings, "retrievers", lambda: gather_or_cancel(get_retriever(each, links=settings.links) for each in given)
    )


async def get_reranker(settings: Context) -> Reranker:
    """Return the reranker."""
    return await _resolve_once(settings.reranker, resolve_reranker, _rerankers)


async def get_entailment_checker(settings: Context) -> EntailmentChecker:
    """Return the entailment checker."""
    return await _resolve_once(settings.entailment, resolve_entailment, _checkers)


async def _resolve_once(
    given: str | _ResourceT, resolve: Callable[[str], _ResourceT], cache: dict[str, _ResourceT]
) -> _ResourceT:
    if not isinstance(given, str):
        return given
    if given not in cache:
        cache[given] = await asyncio.to_thread(resolve, given)
    return cache[given]


def describe_settings(settings: Context) -> tuple[str, str]:
    """Return the names of the model and the retriever, for display."""
    if "model" in settings.unused_settings:
        return OWN, OWN
    retriever = settings.retriever or DEFAULT_RETRIEVER
    shown = retriever if isinstance(retriever, str) else type(retriever).__name__
    return model_name(settings.model or DEFAULT_MODEL), shown
