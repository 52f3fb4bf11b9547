"""Batches of texts of about one length, which fit in the device's memory."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from hopgraph.state import SpecError
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.scoring.weights.placement import Placement, free_bytes

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

CPU_TOKENS = 2048
"""Tokens per batch on a CPU: more was not faster, since its caches are small."""
MOST_TOKENS = 131_072
FREE_SHARE = 0.5
"""Share of the free memory that a batch may take."""
_STORED_PER_TOKEN = 24
"""Values per token and hidden unit that a layer holds at once: its input, q, k, v, the inner layer, attention."""
_CHARACTERS_PER_TOKEN = 3
"""At least, in languages with spaces."""


def tokens_per_batch(config: Any, place: Placement) -> int:
    """Return how many tokens, padding included, go through a model at once, by the memory that is free now."""
    if place.device == "cpu":
        return CPU_TOKENS
    width = max(int(getattr(config, name, 0) or 0) for name in ("hidden_size", "d_model", "d_ff")) or 1024
    size = 4 if place.dtype == "fp32" else 2
    return max(512, min(MOST_TOKENS, int(FREE_SHARE * free_bytes(place.device) / (_STORED_PER_TOKEN * width * size))))


def estimate_tokens(texts: Iterable[str], longest: int) -> list[int]:
    """Estimate the tokens of each text by its characters, at most `longest`: enough to sort by length."""
    return [min(longest, len(text) // _CHARACTERS_PER_TOKEN + 2) for text in texts]


def batches_by_length(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Group texts by length, the longest first, so that a padded batch has at most `tokens` tokens.

    A text that is longer than that is a batch of its own. Order within equal lengths: as given.
    """
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if batches and (len(batches[-1]) + 1) * max(1, lengths[batches[-1][0]]) <= tokens:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches


def run_in_batches(
    items: Sequence[ItemT], lengths: Sequence[int], tokens: int, work: Callable[[list[ItemT]], Iterable[ResultT]]
) -> list[ResultT]:
    """Return what `work` makes of each item, in order; where memory is exhausted, the batch is halved.

    Args:
        items: one per text.
        lengths: the tokens of each item, or an estimate.
        tokens: per batch, padding included.
        work: takes a batch, and returns one result per item.

    Raises:
        SpecError: a single item does not fit into memory.
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
    return [results[index] for index in range(len(items))]
