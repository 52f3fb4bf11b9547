"""Authentication and authorization for a LangGraph server: `"auth": {"path": "….langgraph_auth:auth"}` in its JSON.

Callers send a key of `HOPGRAPH_API_KEY`, as `Authorization: Bearer KEY` or, like langgraph-sdk, as `X-Api-Key`. They
see only their own threads and assistants, and, read-only, the assistants that the server created for its graphs. The
settings in runs and assistants are checked as for callers of the chat.
"""

import json
import math
from collections.abc import Mapping
from functools import cache
from typing import Any, cast
from uuid import UUID

from langgraph_sdk import Auth, get_client

from hopgraph.graphs import list_methods
from hopgraph.nodes.core.state_edits import check_command, for_a_caller
from hopgraph.nodes.core.step_function import state_keys
from hopgraph.state import Context, SettingsError
from hopgraph.state.chat import ChatContext, ChatState
from hopgraph.state.context import describe_unknown
from hopgraph.state.environment import with_environment
from hopgraph.tools.apps.server.caller_settings import (
    TRUST_CALLERS,
    callers_are_trusted,
    check_caller_settings,
    check_trusted_settings,
    read_limit,
)
from hopgraph.tools.apps.server.guards import DailyCalls, RateLimiter, identify
from hopgraph.tools.apps.server.identity import user_of_from_environment
from hopgraph.tools.apps.server.refusal import QuotaError
from hopgraph.tools.apps.server.server_options import (
    OWNER,
    ServingOptions,
    is_loopback,
    keys_from_environment,
    proxies_from_environment,
)
from hopgraph.tools.io.framework_internals import assistant_of

auth = Auth()
_Context = Auth.types.AuthContext
_keys = cache(keys_from_environment)
_user_of = cache(lambda: user_of_from_environment(proxies_from_environment()))
_LONGEST_WAIT = 24 * 3600
_LARGEST_METADATA = 16_000  # characters


def _has_users() -> bool:
    return bool(_keys() or _user_of())


_limiter = cache(lambda: RateLimiter(read_limit("HOPGRAPH_QUESTIONS_PER_MINUTE")))
daily_calls = cache(DailyCalls)


@auth.authenticate
async def authenticate(headers: Mapping[bytes, bytes], scope: Mapping[str, Any]) -> Auth.types.MinimalUserDict:
    """Return the user of the key, or from `user_of`; without either, allow only local connections, as one user."""
    if not _has_users():
        client = scope.get("client")
        if client and not is_loopback(client[0]):  # a server without the guard
            raise Auth.exceptions.HTTPException(403, "only local connections are allowed; set HOPGRAPH_API_KEY")
        return {"identity": OWNER}
    sent = [(name, value) for name, value in headers.items()]
    options = ServingOptions(keys=_keys(), user_of=_user_of())
    user, refusal = await identify(options, {"type": "http", **scope, "headers": sent})
    if not user:
        why = refusal.message if refusal else "missing or invalid key: send Authorization: Bearer KEY"
        raise Auth.exceptions.HTTPException(refusal.status if refusal else 401, why)
    return {"identity": user}


@auth.on
async def refuse_the_rest(ctx: _Context, value: Any) -> Auth.types.HandlerResult:
    """Refuse resources without an owner: scheduled runs, and the store, which no graph uses."""
    raise Auth.exceptions.HTTPException(403, f"this server does not offer {ctx.resource}")


@auth.on.threads
async def own_threads(ctx: _Context, value: dict[str, Any]) -> Auth.types.FilterType:
    """Record a thread's creator, check the settings of a run, and restrict access to the caller's threads."""
    owned = {"owner": ctx.user.identity}
    if ctx.action in {"create", "update", "create_run"}:
        _mark(value, owned)
    if _has_users() and (
        ctx.action == "create" or (ctx.action == "create_run" and value.get("if_not_exists") == "create")
    ):
        await _check_threads(owned)
    if ctx.action == "update":  # for a change of the state later in this request
        for_a_caller.set(not callers_are_trusted())
    if ctx.action == "create_run":
        _check_settings(value["kwargs"])
        config: dict[str, Any] = value["kwargs"].get("config") or {}
        if (config.get("configurable") or {}).get("__context_provided__"):  # else it has more than settings
            _check_names(value["assistant_id"], value["kwargs"])
        _check_writes(value)
        if _has_users():
            _check_quota(ctx.user.identity)
    return owned


async def _check_threads(owned: Mapping[str, str]) -> None:
    """Refuse a new thread to a user who has reached the server's limit."""
    most = read_limit("HOPGRAPH_THREADS_PER_USER")
    if await get_client().threads.count(metadata=dict(owned)) >= most:  # in this process
        raise Auth.exceptions.HTTPException(507, f"you have {most:,} threads, which is the limit; delete some")


def _check_quota(user: str) -> None:
    if wait := _limiter().wait(user):
        headers = {"Retry-After": str(math.ceil(wait))}
        raise Auth.exceptions.HTTPException(429, "too many questions; try again in a moment", headers)
    try:
        daily_calls().left(user)
    except QuotaError as error:
        raise Auth.exceptions.HTTPException(429, str(error)) from None


@auth.on.assistants
async def own_assistants(ctx: _Context, value: dict[str, Any]) -> Auth.types.FilterType:
    """Record an assistant's creator, check its settings, and refuse changes to other users' or the server's."""
    owned = {"owner": ctx.user.identity}
    if ctx.action in {"read", "search"}:
        return cast("Auth.types.FilterType", {"$or": [owned, {"created_by": "system"}]})
    if ctx.action in {"create", "update"}:
        # Overwrites a caller's `created_by: system`, which would list the assistant for everybody.
        _mark(value, {**owned, "created_by": "user"})
        _check_settings(value)
        _check_names(assistant_of(value.get("graph_id") or ""), value)
    return owned


def _mark(value: dict[str, Any], marks: Mapping[str, str]) -> None:
    """Write marks into the metadata, overwriting the caller's."""
    if value.get("metadata") is None:
        value["metadata"] = {}
    value["metadata"].update(marks)
    if (size := len(json.dumps(value["metadata"], default=str))) > _LARGEST_METADATA:
        why = f"the metadata has {size:,} characters as JSON; send at most {_LARGEST_METADATA:,}"
        raise Auth.exceptions.HTTPException(413, why)


def _check_settings(given: Mapping[str, Any]) -> None:
    """Check the settings in the context and config of a run or an assistant, and those nested in them by a host."""
    config: dict[str, Any] = given.get("config") or {}
    for settings in (given.get("context"), config.get("configurable")):
        if not isinstance(settings, Mapping):
            continue
        chosen, trusted = cast("Mapping[str, Any]", settings), callers_are_trusted()
        try:
            if trusted:
                check_trusted_settings(chosen)
            else:
                check_caller_settings(chosen, with_environment(ChatContext()))
        except SettingsError as error:
            hint = "" if trusted else f"; on a developer's own server {TRUST_CALLERS}=1 lets them"
            raise Auth.exceptions.HTTPException(403, f"{error}{hint}") from None
        _check_settings({"context": chosen.get("hopgraph")})


@cache
def _graphs() -> dict[UUID, tuple[type[Context], type[Any]]]:
    """Return assistant id → (settings, state) for the assistants that the server creates for our graphs."""
    methods = {name: (each.Context, each.graph.builder.state_schema) for name, each in list_methods().items()}
    return {assistant_of(name): each for name, each in {"chat": (ChatContext, ChatState), **methods}.items()}


def _check_writes(run: Mapping[str, Any]) -> None:
    """Refuse an invalid delay, and an input or command that writes state reserved for nodes."""
    if not 0 <= (wait := run.get("after_seconds") or 0) <= _LONGEST_WAIT:
        raise Auth.exceptions.HTTPException(422, f"after_seconds: must be from 0 to {_LONGEST_WAIT:,}, got {wait:,}")
    given: object = run["kwargs"].get("input")
    command: dict[str, Any] = run["kwargs"].get("command") or {}
    if given is None and not command:
        return
    _, state = _graphs().get(run["assistant_id"], (None, None))
    if state is None:
        return  # a host's graph, or a caller's assistant, whose graph refuses a command itself
    try:
        if given is not None and not isinstance(given, Mapping):
            raise SettingsError(f"the input must be an object, got {given!r:.80}")
        check_command(cast("object", given), None, state_keys(state))
        check_command(command.get("update"), command.get("goto"), state_keys(state))
    except SettingsError as error:
        raise Auth.exceptions.HTTPException(422, str(error)) from None


def _check_names(assistant: UUID, given: Mapping[str, Any]) -> None:
    """Refuse an unknown setting, which the server would drop with a line in its log."""
    cls, _ = _graphs().get(assistant, (None, None))
    settings: Mapping[str, Any] = given.get("context") or {}
    if cls is not None and (unknown := sorted(settings.keys() - cls.model_fields.keys())):
        said = describe_unknown(cls, unknown[0], f"setting {unknown[0]!r:.80}")
        raise Auth.exceptions.HTTPException(422, said)
