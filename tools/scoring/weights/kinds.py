"""From a spec, `KIND:REST`, to what makes the thing of its kind."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from hopgraph.state import SpecError
from hopgraph.tools.io.redact import redact

MadeT = TypeVar("MadeT")


def made_by_kind(
    what: str, spec: str, kinds: Mapping[str, Callable[[str], MadeT]], valid: str, hint: str = ""
) -> MadeT:
    """Make the thing that a spec names.

    Args:
        what: what it is, for the message.
        spec: the spec.
        kinds: kind → what makes the thing from the whole spec.
        valid: the valid specs, for the message.
        hint: said before them.

    Raises:
        SpecError: no kind of this name; the message names the valid specs.
    """
    kind, colon, _ = spec.partition(":")
    if not colon or kind not in kinds:
        raise SpecError(f"{what} {redact(spec)!r} is unknown{hint}; use one of: {valid}")
    return kinds[kind](spec)
