"""Specs of models with weights: `KIND:NAME_OR_PATH?option=value&…`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import parse_qsl

from hopgraph.state import SpecError
from hopgraph.tools.io.redact import redact

LOCAL_OPTIONS = ("device", "dtype", "revision", "max_length", "batch_tokens")
"""The options of every model that runs in this process."""

ModelT = TypeVar("ModelT")


@dataclass(frozen=True)
class NamedModel:
    """A parsed spec."""

    spec: str
    """As given, stripped."""
    kind: str
    name: str
    """A model's name on the hub, or a folder."""
    options: Mapping[str, str]

    @property
    def limits(self) -> tuple[str | None, ...]:
        """The options beside its place that make two loaded models different."""
        return tuple(self.options.get(option) for option in ("max_length", "batch_tokens", "label"))


def read_spec(spec: str, allowed: Sequence[str] = LOCAL_OPTIONS) -> NamedModel:
    """Parse a spec.

    Raises:
        SpecError: nothing after the colon, or an option that is not among `allowed`.
    """
    spec = spec.strip()
    kind, _, rest = spec.partition(":")
    name, _, query = rest.partition("?")
    if not name:
        raise SpecError(f"{spec!r} lacks a model: write {kind}:NAME_OR_PATH")
    options = dict(parse_qsl(query, keep_blank_values=True))
    for option in options:
        if option not in allowed:
            raise SpecError(f"option {option!r} of {redact(spec)!r} is unknown; valid: {', '.join(allowed)}")
    return NamedModel(spec, kind, name, options)


def number_option(named: NamedModel, option: str, default: int) -> int:
    """Return an option's value, a whole number of at least 1; `default` where it is not given.

    Raises:
        SpecError: it is something else.
    """
    text = named.options.get(option)
    if text is None:
        return default
    if not text.isdecimal() or int(text) < 1:
        raise SpecError(f"option {option!r} of {named.spec!r} must be a whole number of at least 1, got {text!r}")
    return int(text)


def resolve_by_kind(
    what: str, spec: str, kinds: Mapping[str, Callable[[str], ModelT]], valid: str, hint: str = ""
) -> ModelT:
    """Return what `kinds` makes of a whole spec, by the part before its colon.

    Raises:
        SpecError: no such kind; the message says `what` was asked for, the `hint`, and the `valid` specs.
    """
    kind, colon, _ = spec.partition(":")
    if not colon or kind not in kinds:
        raise SpecError(f"{what} {redact(spec)!r} is unknown{hint}; use one of: {valid}")
    return kinds[kind](spec)
