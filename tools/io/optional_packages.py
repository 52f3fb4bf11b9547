"""Packages that may be missing."""

import importlib
from typing import Any

from hopgraph.state import SpecError


def require(package: str, extra: str = "models") -> Any:
    """Import an optional package; SpecError naming the extra to install if it is missing."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        raise SpecError(
            f"the package {error.name or package} is not installed; run: pip install 'hopgraph[{extra}]'"
        ) from None
