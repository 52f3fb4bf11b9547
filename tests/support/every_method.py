"""Every method for a test: the papers' own at once, the baselines among the slow tests."""

from collections.abc import Iterable

import pytest

from hopgraph.graphs import ALIASES, METHODS

NAMES = sorted(METHODS.keys() - ALIASES.keys())


def baselines_slow(*, among: Iterable[str] = NAMES) -> list[object]:
    """List the methods as parameters, baselines marked slow."""
    return [pytest.param(name, marks=speed(name)) for name in among]


def speed(name: str) -> tuple[pytest.MarkDecorator, ...]:
    """Return the mark of a method's test."""
    return () if METHODS[name].group == "papers" else (pytest.mark.slow,)
