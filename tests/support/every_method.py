"""Every method as a test parameter, with the baselines marked slow."""

from collections.abc import Iterable

import pytest

from hopgraph.graphs import ALIASES, METHODS

NAMES = sorted(METHODS.keys() - ALIASES.keys())


def baselines_slow(*, among: Iterable[str] = NAMES) -> list[object]:
    """List the methods as parameters, baselines marked slow."""
    marks = {name: () if METHODS[name].group == "papers" else pytest.mark.slow for name in among}
    return [pytest.param(name, marks=mark) for name, mark in marks.items()]
