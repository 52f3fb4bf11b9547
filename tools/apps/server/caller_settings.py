"""The settings that callers of a server may choose; the others are reserved for its operator."""

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from hopgraph.state import SettingsError
from hopgraph.state.chat import ChatContext
from hopgraph.state.context import OWNER_SETTINGS_OF_METHODS, PROMPT

OPERATOR_SETTINGS = frozenset(
    {
        *("model", "models", "retriever", "second_retriever", "reranker", "entailment"),
        *("prompts_dir", "demonstrations", "cache_dir", "methods"),
        *OWNER_SETTINGS_OF_METHODS,
        *("request_timeout", "request_retries", "max_parallel_calls", "max_output_tokens"),
    }
)
"""Settings that only the operator may choose: files, addresses, paid models, and the load on a model server. Prompts
are reserved, too."""
LIMITS: Mapping[str, float] = {"max_llm_calls": 500, "max_tokens": 2_000_000, "deadline_seconds": 540}
"""Limits that a caller may lower, but not raise above the operator's, or these defaults; the operator's `none` removes
one. The deadline is before a turn's time limit, so that there is a best answer."""
SERVER_LIMITS: Mapping[str, int] = {
    "HOPGRAPH_QUESTIONS_PER_MINUTE": 60,
    "HOPGRAPH_CALLS_PER_DAY": 20_000,
    "HOPGRAPH_STREAMS_PER_ADDRESS": 64,
    "HOPGRAPH_BYTES_PER_DAY": 100_000_000,
    "HOPGRAPH_THREADS_PER_USER": 1_000,
    "HOPGRAPH_THREAD_BYTES": 200_000_000,
    "HOPGRAPH_DOCUMENT_BYTES": 1_000_000_000,
    "HOPGRAPH_DOCUMENT_FILES": 1_000,
}
"""Environment variables of the operator, with their defaults: limits per user or address."""
TRUST_CALLERS = "HOPGRAPH_TRUST_CALLERS"


def callers_are_trusted() -> bool:
    """Return whether this is a developer's server whose callers are trusted."""
    return os.environ.get(TRUST_CALLERS, "").lower() in {"1", "true", "yes"}


def read_limit(variable: str) -> int:
    """Read one of `SERVER_LIMITS` from the environment; a SettingsError unless it is a whole number from 1."""
    given = os.environ.get(variable) or str(SERVER_LIMITS[variable])
    if not (given.isascii() and given.isdecimal()) or int(given) < 1:
        raise SettingsError(f"{variable}: must be a whole number of at least 1, got {given!r:.80}")
    return int(given)


def with_limits(settings: ChatContext) -> ChatContext:
    """Return the settings with defaults for limits that are not set."""
    unset = LIMITS.keys() - settings.model_fields_set
    return settings.model_copy(update={name: LIMITS[name] for name in unset})


def check_caller_settings(given: Mapping[str, Any], allowed: ChatContext) -> None:
    """Raise a SettingsError for a setting reserved for the operator, or a limit above the `allowed` one."""
    # The value in effect is accepted, since some front ends send every setting.
    reserved = (name for name in given if name in OPERATOR_SETTINGS or (name.startswith(PROMPT) and given[name]))
    refused = sorted(name for name in reserved if given[name] != getattr(allowed, name, None))
    if refused:
        raise SettingsError(f"setting {refused[0]!r} can only be set by the operator of this server")
    for name in LIMITS:
        maximum, value = getattr(allowed, name), given.get(name, 0)
        if maximum is not None and (not isinstance(value, int | float) or value > maximum):
            raise SettingsError(f"setting {name!r} may be at most {maximum:,} here")


def check_trusted_settings(given: Mapping[str, Any]) -> None:
    """Raise a SettingsError if a trusted caller names an address while a key is set, which would be sent there."""
    # Keys and tokens for model and search providers, not for the callers or LangSmith.
    sent = (name for name, key in os.environ.items() if key and name.endswith(("_API_KEY", "_TOKEN")))
    keys = sorted(name for name in sent if not name.startswith(("HOPGRAPH_API_KEY", "LANG")))
    named = sorted(name for name in given.keys() & OPERATOR_SETTINGS if "//" in unquote(str(given[name])))
    if keys and named:
        raise SettingsError(
            f"setting {named[0]!r} names an address; callers may not choose addresses while {keys[0]} is set; "
            "start the server with the address, or without the key"
        )
