"""Specs of models with weights: `KIND:NAME_OR_PATH?option=value&…`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl

from hopgraph.state import SpecError

LOCAL_OPTIONS = ("device", "dtype", "revision", "max_length", "batch_tokens")
"""What can be said about any model that runs in this process."""


@dataclass(frozen=True)
class NamedModel:
    """A spec, taken apart."""

    spec: str
    """As it was given, without spaces around it."""
    kind: str
    name: str
    """A model's name on the hub, or a folder."""
    options: Mapping[str, str]

    @property
    def limits(self) -> tuple[str | None, ...]:
        """The options that bound its texts and batches, to tell two loaded models apart."""
        return tuple(self.options.get(option) for option in ("max_length", "batch_tokens"))


def read_spec(spec: str, allowed: Sequence[str] = LOCAL_OPTIONS) -> NamedModel:
    """Take a spec apart.

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
            raise SpecError(f"option {option!r} of {spec!r} is unknown; valid: {', '.join(allowed)}")
    return NamedModel(spec, kind, name, options)


def number_option(named: NamedModel, option: str, default: int) -> int:
    """Read an option that is a whole number of at least 1; `default` where it is not given.

    Raises:
        SpecError: it is something else.
    """
    text = named.options.get(option)
    if text is None:
        return default
    if not text.isdecimal() or int(text) < 1:
        raise SpecError(f"option {option!r} of {named.spec!r} must be a whole number of at least 1, got {text!r}")
    return int(text)
