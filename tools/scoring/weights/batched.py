"""One loaded model per process, run by one thread: small requests are joined, large ones split."""

import asyncio
import os
import queue
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

from hopgraph.state import ModelError, SpecError
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.scoring.weights.model_specs import Placement

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")
SharedT = TypeVar("SharedT")

MAX_JOINED = 64
"""Maximum items of joined requests. More would only make the first of them wait longer."""


@dataclass(frozen=True)
class _Request(Generic[ItemT, ResultT]):
    items: Sequence[ItemT]
    future: "Future[list[ResultT]]" = field(default_factory=Future[Any])


class Batched(Generic[ItemT, ResultT]):
    """A function over lists of items, run in its own thread.

    Requests come from any thread and any event loop, and are answered in order. Those that wait while another one runs
    are joined, up to MAX_JOINED items, since a model is faster on one batch than on its parts. Callers on an event loop
    are not blocked, and no thread of a shared pool waits.
    """

    def __init__(self, work: Callable[[list[ItemT]], Sequence[ResultT]], name: str = "model") -> None:
        """Start the thread; `work` returns one result per item, in order, independent of the other items."""
        self._work = work
        self._waiting: queue.SimpleQueue[_Request[ItemT, ResultT]] = queue.SimpleQueue()
        threading.Thread(target=self._serve, name=f"hopgraph-{name}", daemon=True).start()

    def __call__(self, items: Sequence[ItemT]) -> list[ResultT]:
        """Return one result per item, in order; blocks, so not for an event loop's thread."""
        return self._submit(items).result() if items else []

    async def acall(self, items: Sequence[ItemT]) -> list[ResultT]:
        """Return one result per item, in order; a request that is cancelled before its turn costs nothing."""
        return await asyncio.wrap_future(self._submit(items)) if items else []

    def _submit(self, items: Sequence[ItemT]) -> "Future[list[ResultT]]":
        request: _Request[ItemT, ResultT] = _Request(items)
        self._waiting.put(request)
        return request.future

    def _serve(self) -> None:
        held: _Request[ItemT, ResultT] | None = None
        while True:
            batch = [held or self._waiting.get()]
            held = None
            while not self._waiting.empty():
                request = self._waiting.get()
                if sum(len(each.items) for each in batch) + len(request.items) > MAX_JOINED:
                    held = request
                    break
                batch.append(request)
            self._answer([each for each in batch if each.future.set_running_or_notify_cancel()])

    def _answer(self, requests: list[_Request[ItemT, ResultT]]) -> None:
        if not requests:
            return
        try:
            results = list(self._work([item for each in requests for item in each.items]))
        except BaseException as error:  # noqa: BLE001 - raised again in the requesting thread
            for each in requests:
                each.future.set_exception(error)
            return
        first = 0
        for each in requests:
            each.future.set_result(results[first : first + len(each.items)])
            first += len(each.items)


_shared: dict[Hashable, Any] = {}
_making: dict[Hashable, threading.Lock] = {}
_registry = threading.Lock()


def load_once(key: Hashable, make: Callable[[], SharedT]) -> SharedT:
    """Return the model for a key, made once even if many threads ask at the same time.

    Other keys are not blocked, and the next call retries after a failure. Takes as long as loading, so call it in a
    thread. The key holds whatever makes two models different: kind, folder, device, precision.
    """
    with _registry:
        making = _making.setdefault(key, threading.Lock())
    with making:
        if key not in _shared:
            _shared[key] = make()
        return cast("SharedT", _shared[key])


def _reset_after_fork() -> None:
    """Reset a forked child, which has neither the threads nor the locks of its parent."""
    global _registry
    _shared.clear()
    _making.clear()
    _registry = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)


CPU_TOKENS = 2048
"""Tokens per batch on a CPU; more was not faster, since its caches are small."""
MAX_TOKENS = 131_072
FREE_SHARE = 0.5
"""Share of the free memory that a batch may use."""
_FREE_ON_MPS = 2 * 1024**3  # macOS does not say how much memory is free
_STORED_PER_TOKEN = 24
"""Values that a layer holds per token and hidden unit: its input, q, k, v, the inner layer, attention."""
_CHARACTERS_PER_TOKEN = 3  # at least, in languages with spaces


def tokens_per_batch(config: Any, place: Placement) -> int:
    """Return the tokens to run through a model at once, padding included, given the free memory."""
    if place.device == "cpu":
        return CPU_TOKENS
    width = max(int(getattr(config, name, 0) or 0) for name in ("hidden_size", "d_model", "d_ff")) or 1024
    size = 4 if place.dtype == "fp32" else 2
    on_cuda = place.device.startswith("cuda")
    free = int(require("torch").cuda.mem_get_info(place.device)[0]) if on_cuda else _FREE_ON_MPS
    return max(512, min(MAX_TOKENS, int(FREE_SHARE * free / (_STORED_PER_TOKEN * width * size))))


def estimate_tokens(texts: Iterable[str], longest: int) -> list[int]:
    """Estimate the tokens of each text by its characters, at most `longest`; good enough to sort by length."""
    return [min(longest, len(text) // _CHARACTERS_PER_TOKEN + 2) for text in texts]


def batches_by_length(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Group texts by length, longest first, ties in order; a padded batch has at most `tokens`, or one text."""
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if batches and (len(batches[-1]) + 1) * max(1, lengths[batches[-1][0]]) <= tokens:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches


class ForwardError(Exception):
    """A model failed. Not a RuntimeError, which FlagEmbedding would answer with smaller batches."""


class SingleForward:
    """A model inside FlagEmbedding, which would run the first batch of every call twice, to see whether it fits.

    The second run returns the first one's output. FlagEmbedding answers any RuntimeError with smaller batches, down to
    none; so running out of memory raises MemoryError, which halves our own batch, and all else `ForwardError`, which
    `run_in_batches` turns into a ModelError.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._last: tuple[Mapping[str, Any], Any] = {}, None

    def __getattr__(self, name: str) -> Any:
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


def run_in_batches(
    items: Sequence[ItemT], lengths: Sequence[int], tokens: int, work: Callable[[list[ItemT]], Iterable[ResultT]]
) -> list[ResultT]:
    """Return the results of `work` for all items, in order; if memory runs out, the batch is halved.

    `lengths` are the tokens of each item, or an estimate; a batch has at most `tokens`, padding included. SpecError if
    a single item does not fit into memory, ModelError if a FlagEmbedding model failed.
    """
    torch = require("torch")
    results: dict[int, ResultT] = {}
    waiting = batches_by_length(lengths, tokens)[::-1]
    while waiting:
        batch = waiting.pop()
        try:
            results.update(zip(batch, work([items[index] for index in batch]), strict=True))
        except (torch.OutOfMemoryError, MemoryError):
            if len(batch) == 1:
                raise SpecError("not enough memory on the device for one text; use another device") from None
            torch.cuda.empty_cache()
            half = len(batch) // 2
            waiting.extend([batch[half:], batch[:half]])
        except ForwardError as error:
            raise ModelError(str(error)) from error.__cause__
    return [results[index] for index in range(len(items))]
