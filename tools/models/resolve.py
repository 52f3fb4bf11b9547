"""Resolve a model's spec.

langchain-openai's models have an HTTP client for each event loop that asks: one that several `asyncio.run` calls share
fails with "Event loop is closed" sooner or later, and one on its own loop costs two hand-overs between threads for
each request. Other providers' models that were made from a spec, and a ChatOpenAI with an HTTP client of its caller's,
live on the background loop, as their one client does; any other ready object is used on its caller's loop. The limit of
parallel requests holds for all loops.
"""

import asyncio
import json
import os
import re
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever
from pydantic import BaseModel, SecretStr

from hopgraph.state import HopgraphError, SpecError
from hopgraph.state.errors import format_error
from hopgraph.tools.io.background import SharedLimit, background_loop
from hopgraph.tools.io.http_clients import client_options, keep_to_server, no_trust, read_address, read_key
from hopgraph.tools.io.http_retries import openai_class
from hopgraph.tools.io.redact import CUSTOM_HEADERS, redact
from hopgraph.tools.io.runnables import AnyRunnable, leaves_of, replace_leaves
from hopgraph.tools.models.gguf_server import serve_gguf
from hopgraph.tools.models.refusals import Refusals
from hopgraph.tools.models.server_replies import read_completion
from hopgraph.tools.models.structured import Bound, Mode, bind, is_openai, limit_reply, own_limit, reply_tokens

MODEL_SPECS = (
    "offline:extractive, rehearsal:DATASET, gguf:FILE, student:DIR, openai:MODEL, "
    "openai:MODEL?base_url=http://HOST:PORT/v1, or PROVIDER:MODEL for another provider of LangChain's init_chat_model"
)
MODEL_PROVIDERS = "hopgraph.models"
"""The entry-point group of packages that offer a model (so `rehearsal:`, `student:`), from what follows `PROVIDER:`."""


def _read_body(given: str) -> dict[str, Any]:
    """Read fields to add to every request: a JSON object, or the name of a file with one; ValueError for another."""
    body = json.loads(given if given.lstrip().startswith("{") else Path(given).expanduser().read_text("utf-8"))
    if not isinstance(body, dict):
        raise ValueError(given)
    return cast("dict[str, Any]", body)


_OPTIONS: dict[str, dict[str, Callable[[str], Any]]] = {
    "openai": {"base_url": str, "max_tokens": int, "top_p": float, "reasoning_effort": str, "extra_body": _read_body},
    "gguf": {"max_tokens": int, "top_p": float, "context": int, "threads": int},
}
"""Options that may follow `?` in a spec."""
_LOCAL_TIMEOUT = 600.0
"""Seconds that a request to a model of this process gets at least: it is slow, but not lost."""

Options = tuple[tuple[str, float], ...]
"""Sampling options of one question, as (("top_p", 0.5),), by name."""
_OPENAI, PROXY_VARIABLE = "https://api.openai.com/v1", "OPENAI_PROXY"
_READ_BY_CLIENTS = (
    *("_KEY", "_BASE_URL", "_API_BASE", "_ENDPOINT", "_API_VERSION"),
    *("_ORGANIZATION", "_ORG_ID", "_PROJECT_ID", "_CUSTOM_HEADERS"),
)
"""How the names of the variables end that clients are made with."""
_SENT_BY_CLIENTS = ("OPENAI_ORG_ID", "OPENAI_ORGANIZATION", "OPENAI_PROJECT_ID")  # in headers
NO_KEY = "no-key-needed"  # which clients must have
_REQUESTS_PER_CLIENT = 8
"""At a time: for each request httpx looks at every connection of its client, which takes long where there are many."""
_VALUE = re.compile(r"(?:[!-~](?:[ -~]*[!-~])?)?")
_HEADER = re.compile(r"[!#-'*+.^_`|~\w-]+\s*:[ -~\s]*", re.ASCII)
_REASONING_TOKENS = 8000  # what a model that reasons before it replies may need in addition to the reply


@dataclass(frozen=True)
class Sampling:
    """Sampling options of every request to a model."""

    temperature: float | None = 0.0
    seed: int | None = None
    request_timeout: float = 60.0


@dataclass
class _LoopModel:
    """A model with one loop's client."""

    model: AnyRunnable
    options: Sequence[Mapping[str, Any]] = ()
    """What its clients were made with."""
    bound: dict[object, Bound] = field(default_factory=dict[object, Bound])
    """Variants of the model, by structured-output mode."""
    requests: int = 0
    """How many are under way."""

    @contextmanager
    def request(self) -> Generator[None]:
        """Count a request, with its retries, as under way."""
        self.requests += 1
        try:
            yield
        finally:
            self.requests -= 1


def _takes_clients(model: AnyRunnable) -> bool:
    """Return whether a model's HTTP client can be replaced: it is langchain-openai's and its caller gave none."""
    return is_openai(model) and getattr(model, "http_async_client", None) is None


class _LoopClients:
    """Copies of one model, each with a client that is closed with its loop. It holds no reference to the model."""

    def __init__(self) -> None:
        self._open = dict[asyncio.AbstractEventLoop, list[tuple[_LoopModel, AsyncGenerator[_LoopModel]]]]()

    async def here(self, model: AnyRunnable) -> _LoopModel:
        """Return a copy of the model for the running loop, the first that has few requests under way."""
        loop = asyncio.get_running_loop()
        if free := self._free(loop):
            return free
        own = [each for each in leaves_of(model) if _takes_clients(each)]
        addresses = [str(cast("Any", each).root_async_client.base_url) for each in own]
        options = next((copy.options for copy, _ in self._open.get(loop, ())), None)  # certificates are read once
        if options is None:
            options = [await asyncio.to_thread(client_options, each, PROXY_VARIABLE) for each in addresses]
        if free := self._free(loop):  # another request may have come first
            return free
        for closed in [each for each in self._open if each.is_closed()]:
            self._open.pop(closed, None)
        # asyncio.run and uvicorn end the generators that are under way before they close their loop.
        client = self._with_clients(model, own, options, loop)
        made = await anext(client)
        self._open.setdefault(loop, []).append((made, client))
        return made

    def _free(self, loop: asyncio.AbstractEventLoop) -> _LoopModel | None:
        copies = (copy for copy, _ in self._open.get(loop, ()))
        return next((copy for copy in copies if copy.requests < _REQUESTS_PER_CLIENT), None)

    async def _with_clients(
        self,
        model: AnyRunnable,
        own: Sequence[Any],
        options: Sequence[Mapping[str, Any]],
        loop: asyncio.AbstractEventLoop,
    ) -> AsyncGenerator[_LoopModel]:
        copies = dict[int, Any]()
        async with AsyncExitStack() as opened:
            for each, how in zip(own, options, strict=True):
                given, kind = each.root_async_client, openai_class("DefaultAsyncHttpxClient")
                client = kind(base_url=given.base_url, timeout=given.timeout, **how)
                opened.push_async_callback(client.aclose)
                keep_to_server(client, read_completion)
                root = given.copy(http_client=client)
                replaced = {"root_async_client": root, "async_client": root.chat.completions}
                copies[id(each)] = each.model_copy(update=replaced)
            try:
                yield _LoopModel(replace_leaves(model, lambda each: copies.get(id(each), each)), options)
            finally:
                self._open.pop(loop, None)


@dataclass
class SharedModelState:
    """State shared by all handles of one model: its structured-output mode and its limit of parallel requests."""

    mode: Mode | None = None
    """How it takes a schema; None until a first request succeeded."""
    doubted: bool = False
    """True if a way of asking was refused once without a word on it, as may happen for one prompt alone."""
    key_refusal: tuple[Exception, float] | None = None
    """The last answer that refused the key and its monotonic time, so that no request is sent just after it."""
    most_at_once: int | None = None
    """How many requests it works on at a time, so that others wait here and not until a timeout."""
    refusals: Refusals = field(default_factory=Refusals)
    """Parameters that its server refuses, apart from structured-output modes."""
    echoes: bool | None = None
    """True if its completions endpoint echoes the log-probabilities of a prompt; None until it was asked for some."""
    failed_streams: int = 0
    """How often a server sent an empty stream, or refused to stream; 2 for a refusal."""
    reasons: bool = False
    """True if a reply was cut off while the model was still reasoning."""
    takes_tools: bool = True
    """True if requests may have tools: none was refused because of them."""
    forces_tools: bool = True
    """True if requests may force the call of a tool: none was refused because of that."""
    limits: dict[int, SharedLimit] = field(default_factory=dict[int, SharedLimit])
    clients: _LoopClients = field(default_factory=_LoopClients)

    def limit(self, parallel: int) -> SharedLimit:
        """Return the limit of `parallel` requests at a time, or as many as the model takes."""
        parallel = min(parallel, self.most_at_once or parallel)
        return self.limits.setdefault(parallel, SharedLimit(parallel))


@dataclass
class ModelHandle:
    """A model, ready for requests."""

    name: str
    """The spec, or the class of a ready object; without keys."""
    model: AnyRunnable
    """A chat model, or another Runnable that replies as one."""
    from_spec: bool
    """True when it was made from a spec, and so samples as the settings say."""
    shared: SharedModelState
    seconds: float = Sampling.request_timeout  # see `time_limit`

    def __post_init__(self) -> None:
        takes_clients = any(map(_takes_clients, leaves_of(self.model)))
        self._own_model = None if takes_clients else _LoopModel(self.model)

    def bound(
        self, here: _LoopModel, schema: type[BaseModel], mode: Mode, sampling: Options, max_output_tokens: int | None
    ) -> Bound:
        """Return a copy of the model with a mode's request options, sampling options and limit, built once for each.

        The limit is the given one, else the model's own, else what a reply of the schema may take.
        """
        refusals = self.shared.refusals
        key = (schema, mode, sampling, max_output_tokens, self.shared.reasons, refusals)

        def bound(model: AnyRunnable) -> AnyRunnable:
            limit = self.limit(model, schema, max_output_tokens)
            return bind(limit_reply(model, limit, refusals.parameters), schema, mode)

        if key not in here.bound:
            model = replace_leaves(here.model, bound)
            options = {name: value for name, value in sampling if name not in refusals.parameters}
            here.bound[key] = model.bind(**options) if options else model
        return here.bound[key]

    def limit(self, model: AnyRunnable, schema: type[BaseModel], max_output_tokens: int | None) -> int:
        """Return the most tokens that one of its models may reply with."""
        derived = reply_tokens(schema) + (_REASONING_TOKENS if self.shared.reasons else 0)
        limit = max_output_tokens or own_limit(model) or derived
        return min(limit, self.shared.refusals.most_tokens or limit)

    @property
    def address(self) -> str:
        """The server's address, where an openai: spec leaves it to the environment; else empty."""
        left_open = self.from_spec and self.name.startswith("openai:") and "base_url=" not in self.name
        return str(getattr(self.model, "openai_api_base", "")) if left_open else ""

    async def here(self) -> _LoopModel:
        """Return the model with the HTTP client of the running loop, or its only one."""
        return self._own_model or await self.shared.clients.here(self.model)

    def loop(self) -> asyncio.AbstractEventLoop:
        """Return the event loop on which its requests are made: the one that its only HTTP client lives on."""
        has_one = self._own_model and (self.from_spec or is_openai(self.model))
        return background_loop() if has_one else asyncio.get_running_loop()


_by_spec: dict[object, ModelHandle] = {}
_state_by_id: dict[int, SharedModelState] = {}  # of ready models; dropped with them
_building = threading.Lock()


def _reset_after_fork() -> None:
    """Drop the parent's clients and locks, which a forked child cannot use."""
    global _building
    _by_spec.clear()
    _state_by_id.clear()
    _building = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)


async def resolve_model(given: str | AnyRunnable, sampling: Sampling) -> ModelHandle:
    """Resolve a spec, or wrap a ready model: a chat model, or a Runnable that takes messages and replies as one.

    A spec gives the same handle each time, as long as the keys and addresses of the environment are the same.
    SpecError for an unknown spec, which names the valid ones, a missing package or a missing key.
    """
    if not isinstance(given, str):
        if isinstance(given, BaseRetriever):
            raise SpecError(f"the model is a retriever ({type(given).__name__}); pass a chat model or a spec")
        if id(given) not in _state_by_id:
            _state_by_id[id(given)] = SharedModelState()
            weakref.finalize(given, _state_by_id.pop, id(given), None)
        return ModelHandle(model_name(given), given, False, _state_by_id[id(given)], sampling.request_timeout)
    # What clients read from the environment is a part of it, so that a corrected key gives a new client.
    read = frozenset((name, value) for name, value in os.environ.items() if name.endswith(_READ_BY_CLIENTS))
    key = (given, sampling, hash(read))
    if key not in _by_spec:
        # Clients read certificates and import packages: not on an event loop.
        await asyncio.to_thread(_build_once, key, given, sampling)
    return _by_spec[key]


def _build_once(key: object, given: str, sampling: Sampling) -> None:
    with _building:
        if key not in _by_spec:
            local = given.startswith("gguf:")
            patient = replace(sampling, request_timeout=max(sampling.request_timeout, _LOCAL_TIMEOUT if local else 0))
            shared = SharedModelState(most_at_once=1 if local else None)
            _by_spec[key] = ModelHandle(redact(given), _build(given, patient), True, shared, patient.request_timeout)


def model_name(given: str | AnyRunnable) -> str:
    """Return a model's display name: its spec, or its class and model name; never with a key."""
    if isinstance(given, str):
        return redact(given)
    models = leaves_of(given)
    if models != [given]:
        return ", else ".join(map(model_name, models))
    own = getattr(given, "model_name", None) or getattr(given, "model", None)
    return f"{type(given).__name__}({own})" if own else type(given).__name__


def _build(given: str, sampling: Sampling) -> BaseChatModel:
    provider, colon, rest = given.partition(":")
    if not colon or not provider or not rest:
        raise _unknown_model(given)
    if provider == "offline":
        from hopgraph.tools.models.offline import RuleBasedModel

        if rest != "extractive":
            raise SpecError(f"model {redact(given)!r} is unknown; the rule-based model is offline:extractive")
        return RuleBasedModel()
    if provider == "openai":
        return _openai(rest, sampling)
    if provider == "gguf":
        return _gguf(rest, sampling)
    installed = entry_points(group=MODEL_PROVIDERS, name=provider)
    if not installed:
        return _other(provider, rest, sampling)
    try:
        model: BaseChatModel = installed[provider].load()(rest)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        if isinstance(error, HopgraphError):
            raise
        said = f"{type(error).__name__}: {redact(str(error))}"[:300]
        raise SpecError(f"model {redact(given)!r}: the package that provides it failed: {said}") from None
    takes_seed = sampling.seed is not None and "seed" in type(model).model_fields
    return (
        model.model_copy(update={"seed": sampling.seed, "temperature": sampling.temperature}) if takes_seed else model
    )


def _openai(rest: str, sampling: Sampling) -> BaseChatModel:
    name, options = _options("openai", rest)
    variables = {each: os.environ.get(each, "") for each in ("OPENAI_BASE_URL", "OPENAI_API_BASE")}
    named = {"base_url": options.pop("base_url", ""), **variables}
    base_url = next((read_address(address, name) for name, address in named.items() if address.strip()), None)
    key = read_key("OPENAI_API_KEY")
    wrong = [name for name in _SENT_BY_CLIENTS if not _VALUE.fullmatch(os.environ.get(name, ""))]
    lines = [line.strip() for line in os.environ.get(CUSTOM_HEADERS, "").split("\n")]
    if wrong or not all(_HEADER.fullmatch(line) for line in lines if ":" in line):
        raise SpecError(f"{(wrong or [CUSTOM_HEADERS])[0]} cannot be sent in a header; correct it, or unset it")
    if not key and not base_url:
        local = f"name a local server with openai:{name}?base_url=http://HOST:PORT/v1"
        raise SpecError(f"model {redact(f'openai:{name}')!r} needs a key: set OPENAI_API_KEY, or {local}")
    http = client_options(base_url or _OPENAI, PROXY_VARIABLE)
    model = _client(name, base_url or _OPENAI, key or NO_KEY, sampling, options, http)
    return model.model_copy(update={"http_async_client": None})  # so that each loop gets one


def _gguf(rest: str, sampling: Sampling) -> BaseChatModel:
    name, options = _options("gguf", rest)
    server = serve_gguf(name, **{option: options.pop(option) for option in ("context", "threads") if option in options})
    http = {"trust_env": False, "verify": no_trust()}  # never through a proxy
    return _client(name, server.base_url, server.key, sampling, options, http)


def _client(
    name: str, base_url: str, key: str, sampling: Sampling, options: Mapping[str, Any], http: Mapping[str, Any]
) -> BaseChatModel:
    import openai
    from langchain_openai import ChatOpenAI

    parts = urlsplit(base_url)
    base_url, query = parts._replace(query="").geturl(), dict(parse_qsl(parts.query))
    asynchronous = openai.DefaultAsyncHttpxClient(base_url=base_url, **http)
    keep_to_server(asynchronous)
    return ChatOpenAI(
        model=name,
        base_url=base_url,
        default_query=query or None,
        api_key=SecretStr(key),
        temperature=sampling.temperature,
        # An openai.Timeout, unlike a number, gives the model its own HTTP client.
        timeout=openai.Timeout(sampling.request_timeout),
        max_retries=0,  # `send` retries
        openai_proxy=None,  # is a part of `http`
        http_client=openai.DefaultHttpxClient(follow_redirects=False, **http),
        http_async_client=asynchronous,
        # Older releases have no such field; newer ones would warn that proxies are not looked for.
        **({"http_socket_options": ()} if "http_socket_options" in ChatOpenAI.model_fields else {}),
        **({} if sampling.seed is None else {"seed": sampling.seed}),
        **options,
    )


def _options(provider: str, rest: str) -> tuple[str, dict[str, Any]]:
    name, _, query = rest.partition("?")
    options: dict[str, Any] = {}
    for key, value in parse_qsl(query, keep_blank_values=True):
        option = f"option {key!r} of {redact(f'{provider}:{name}')!r}"
        if key not in _OPTIONS[provider]:
            hint = " (keys come from OPENAI_API_KEY)" if "key" in key else ""
            raise SpecError(f"{option} is unknown{hint}; valid: {', '.join(_OPTIONS[provider])}")
        try:
            options[key] = _OPTIONS[provider][key](value)
        except (OSError, ValueError):
            wanted = "JSON object, or file of one" if key == "extra_body" else "number"
            raise SpecError(f"{option} must be a {wanted}: {redact(value)!r:.200}") from None
    return name, options


def _other(provider: str, rest: str, sampling: Sampling) -> BaseChatModel:
    spec = redact(f"{provider}:{rest}")
    try:
        from langchain.chat_models import init_chat_model
    except ImportError:
        needed = f"langchain and langchain-{provider}"
        raise SpecError(f"model {spec!r} needs the packages {needed}; valid: {MODEL_SPECS}") from None
    options: dict[str, Any] = {"timeout": sampling.request_timeout, "max_retries": 0}
    if sampling.temperature is not None:
        options["temperature"] = sampling.temperature
    try:
        return cast("BaseChatModel", init_chat_model(rest, model_provider=provider, **options))
    except (ImportError, ValueError) as error:
        problem, _, providers = format_error(error).partition(" Supported model providers are: ")
        if providers:
            raise _unknown_model(f"{provider}:{rest}", providers.split(", ")) from None
        raise SpecError(f"model {spec!r}: {redact(problem)[:300]}") from None


def _unknown_model(given: str, providers: Iterable[str] = ()) -> SpecError:
    """Make the error for a spec without a known provider: it names the nearest one, else the forms of specs."""
    provider, colon, rest = given.partition(":")
    known = ["offline", *_OPTIONS, *entry_points(group=MODEL_PROVIDERS).names, *providers]
    close = "" if provider in known else next(iter(get_close_matches(provider, known, n=1)), "")
    hint = f"did you mean {redact(f'{close}{colon}{rest}')!r}?" if close else f"use one of: {MODEL_SPECS}"
    return SpecError(f"unknown model {redact(given)!r}; {hint}")
