"""Wrappers of FlagEmbedding's models: batching, and errors that surface."""

from collections.abc import Mapping
from typing import Any, cast

from hopgraph.tools.io.optional_packages import require


class ForwardError(Exception):
    """A model failed; no RuntimeError, as FlagEmbedding would answer that with smaller batches."""


class SingleForward:
    """A model inside FlagEmbedding, which would run the first batch of every call twice, to see whether it fits.

    The second run returns the first one's output. FlagEmbedding answers any RuntimeError with smaller batches, down
    to none; so a full memory leaves as MemoryError, which halves our own batch, and all others as `ForwardError`,
    which `run_in_batches` turns into a ModelError outside.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._last: tuple[Mapping[str, Any], Any] = {}, None

    def __getattr__(self, name: str) -> Any:
        """Return the model's own attribute."""
        return getattr(self._model, name)

    def __call__(self, *args: Any, **inputs: Any) -> Any:
        """Run the model, or return the output for the same tensors."""
        torch = require("torch")
        given = cast("Mapping[str, Any]", args[0] if args else inputs)
        tensors = {name: value for name, value in given.items() if isinstance(value, torch.Tensor)}
        (before, output), self._last = self._last, ({}, None)
        if before and before.keys() == tensors.keys() and all(torch.equal(before[key], tensors[key]) for key in before):
            return output
        try:
            output = self._model(*args, **inputs)
        except torch.OutOfMemoryError:
            raise MemoryError from None
        except RuntimeError as error:
            raise ForwardError(f"the model failed: {' '.join(str(error).split())[:240]}") from error
        self._last = (tensors, output)
        return output
