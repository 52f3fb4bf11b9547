"""The options of a retriever's spec: `KIND:PLACE?option=value&…`."""

from collections.abc import Collection
from urllib.parse import parse_qsl

from hopgraph.state import SpecError
from hopgraph.tools.io.redact import redact


def split_options(spec: str, valid: Collection[str]) -> tuple[str, dict[str, str]]:
    """Split a spec into what precedes `?` and its options.

    Raises:
        SpecError: an option that is not `valid`.
    """
    place, _, query = spec.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    for name in options:
        if name not in valid:
            raise SpecError(f"option {name!r:.40} of {redact(spec)!r} is unknown; valid: {', '.join(valid)}")
    return place, options
