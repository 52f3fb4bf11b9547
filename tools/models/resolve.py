"""From a model's spec to a model.

A model that was made from a spec lives on the background loop, with its HTTP client and its limit of
parallel requests, so that every event loop of the process shares both. A ready object is used on the loop of
whoever gave it.
"""

import asyncio
import os
import threading
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit
from weakref import WeakKeyDictionary

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable
from pydantic import BaseModel, SecretStr

from hopgraph.state import SpecError
from hopgraph.tools.background import background_loop
from hopgraph.tools.models.redact import redact
from hopgraph.tools.models.structured import Mode, bind, modes_of

VALID_SPECS = (
    "offline:extractive, openai:MODEL, openai:MODEL?base_url=http://HOST:PORT/v1, "
    "or PROVIDER:MODEL for another provider of LangChain's init_chat_model"
)
_OPENAI_OPTIONS = {"base_url": str, "max_tokens": int, "top_p": float, "reasoning_effort": str}


Bound = Runnable[list[BaseMessage], AIMessage]
"""A model with the options of one way of asking."""
_BoundKey = tuple[type[BaseModel], Mode]


@dataclass(frozen=True)
class Sampling:
    """What the settings say about every request to a model."""

    temperature: float | None = 0.0
    seed: int | None = None
    request_timeout: float = 60.0


@dataclass
class ModelHandle:
    """A model on one event loop, with what was learnt about it."""

    name: str
    """The spec, or the class of a ready object; without keys."""
    model: BaseChatModel
    is_spec: bool
    """True when it was made from a spec, and so samples as the settings say."""
    loop: asyncio.AbstractEventLoop
    """Where its requests are made."""
    mode: Mode | None = None
    """How it takes a schema; None until a first request succeeded."""
    _bound: dict[_BoundKey, Bound] = field(default_factory=dict[_BoundKey, Bound])
    _limits: dict[int, asyncio.Semaphore] = field(default_factory=dict[int, asyncio.Semaphore])

    def bound(self, schema: type[BaseModel], mode: Mode) -> Bound:
        """Get the model with a mode's request options, made once for each schema."""
        key = (schema, mode)
        if key not in self._bound:
            self._bound[key] = bind(self.model, schema, mode)
        return self._bound[key]

    def modes(self) -> tuple[Mode, ...]:
        """List the modes still to try: the learnt one alone, else all, strictest first."""
        return (self.mode,) if self.mode else modes_of(self.model)

    def limit(self, parallel: int) -> asyncio.Semaphore:
        """Get the semaphore that lets `parallel` requests through at once."""
        return self._limits.setdefault(parallel, asyncio.Semaphore(parallel))


_handles: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[object, ModelHandle]] = WeakKeyDictionary()
_making = threading.Lock()


async def resolve_model(given: str | BaseChatModel, sampling: Sampling) -> ModelHandle:
    """Resolve a spec, or wrap a ready model; the same handle each time.

    Raises:
        SpecError: an unknown spec, a missing package or a missing key; it names the valid specs.
    """
    loop = background_loop() if isinstance(given, str) else asyncio.get_running_loop()
    handles = _handles.setdefault(loop, {})
    # A ready object is kept alive by its handle, so its id cannot come back as another object's.
    key = (given, sampling) if isinstance(given, str) else id(given)
    if key not in handles:
        # Clients read certificates and import packages: not on an event loop.
        await asyncio.to_thread(_make_once, handles, key, given, sampling, loop)
    return handles[key]


def _make_once(
    handles: dict[object, ModelHandle],
    key: object,
    given: str | BaseChatModel,
    sampling: Sampling,
    loop: asyncio.AbstractEventLoop,
) -> None:
    with _making:
        if key not in handles:
            handles[key] = _make(given, sampling, loop)


def model_name(given: str | BaseChatModel) -> str:
    """Name a model for people: its spec, or its class and model name; never with a key."""
    if isinstance(given, str):
        return redact(given)
    own = next((str(name) for key in ("model_name", "model") if (name := getattr(given, key, None))), "")
    return f"{type(given).__name__}({own})" if own else type(given).__name__


def _make(given: str | BaseChatModel, sampling: Sampling, loop: asyncio.AbstractEventLoop) -> ModelHandle:
    if isinstance(given, BaseChatModel):
        return ModelHandle(model_name(given), given, is_spec=False, loop=loop)
    provider, colon, rest = given.partition(":")
    if not colon or not provider or not rest:
        raise SpecError(f"model {redact(given)!r} is not a spec; valid: {VALID_SPECS}")
    if provider == "offline":
        return ModelHandle(given, _offline(rest), is_spec=True, loop=loop)
    make = _openai if provider == "openai" else _other
    return ModelHandle(redact(given), make(provider, rest, sampling), is_spec=True, loop=loop)


def _offline(name: str) -> BaseChatModel:
    from hopgraph.tools.models.offline import OfflineExtractive

    if name != "extractive":
        raise SpecError(f"model 'offline:{name}' is unknown; the embedded model is offline:extractive")
    return OfflineExtractive()


def _openai(_provider: str, rest: str, sampling: Sampling) -> BaseChatModel:
    import openai
    from langchain_openai import ChatOpenAI

    name, options = _options(rest)
    base_url = options.pop("base_url", None) or os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")
    if base_url and not urlsplit(base_url).hostname:
        raise SpecError(f"base_url {redact(base_url)!r} is not an address such as http://127.0.0.1:8000/v1")
    key = os.environ.get("OPENAI_API_KEY")
    if not key and not base_url:
        raise SpecError(
            f"model 'openai:{name}' needs a key: set OPENAI_API_KEY, or name a local server with "
            f"openai:{name}?base_url=http://HOST:PORT/v1"
        )
    if sampling.seed is not None:
        options["seed"] = sampling.seed
    return ChatOpenAI(
        model=name,
        base_url=base_url,
        api_key=SecretStr(key or "no-key-needed"),
        temperature=sampling.temperature,
        # An openai.Timeout, unlike a number, gives the model an HTTP client of its own.
        timeout=openai.Timeout(sampling.request_timeout),
        max_retries=0,  # `send` retries, and says so
        **options,
    )


def _options(rest: str) -> tuple[str, dict[str, Any]]:
    name, _, query = rest.partition("?")
    options: dict[str, Any] = {}
    for key, value in parse_qsl(query, keep_blank_values=True):
        if key not in _OPENAI_OPTIONS:
            hint = " (keys come from OPENAI_API_KEY)" if "key" in key else ""
            raise SpecError(f"option {key!r} of 'openai:{name}' is unknown{hint}; valid: {', '.join(_OPENAI_OPTIONS)}")
        try:
            options[key] = _OPENAI_OPTIONS[key](value)
        except ValueError:
            raise SpecError(f"option {key!r} of 'openai:{name}' is not a number: {value!r}") from None
    return name, options


def _other(provider: str, rest: str, sampling: Sampling) -> BaseChatModel:
    try:
        from langchain.chat_models import init_chat_model
    except ImportError:
        raise SpecError(
            f"model '{provider}:{rest}' needs the packages langchain and langchain-{provider}; valid: {VALID_SPECS}"
        ) from None
    options: dict[str, Any] = {"timeout": sampling.request_timeout, "max_retries": 0}
    if sampling.temperature is not None:
        options["temperature"] = sampling.temperature
    try:
        model = cast("BaseChatModel", init_chat_model(rest, model_provider=provider, **options))
    except (ImportError, ValueError) as error:
        raise SpecError(
            f"model '{provider}:{rest}': {redact(str(error).splitlines()[0])}; valid: {VALID_SPECS}"
        ) from None
    return model
