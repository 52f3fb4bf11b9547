"""The methods, one file each, and the list of them."""

from types import ModuleType

from hopgraph.graphs import migres

METHODS: dict[str, ModuleType] = {"migres": migres}
"""From a method's name to its module, which offers `graph`, `build()` and `Context`."""

__all__ = ["METHODS", "migres"]
