"""Run texts through a model in batches: the longest first, so many tokens at a time."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hopgraph.state import SpecError
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.scoring.weights.placement import Placement, free_bytes

Row = Mapping[str, Sequence[int]]
"""What a tokeniser gives for one text: `input_ids` and whatever else the model takes, all of one length."""

CPU_TOKENS = 2048
"""Tokens per batch on a CPU: more was not faster, since its caches are small."""
MOST_TOKENS = 131_072
FREE_SHARE = 0.5
"""Share of the free memory that a batch may take."""
_STORED_PER_TOKEN = 24
"""Values per token and hidden unit that a layer holds at once: its input, q, k, v, the inner layer, attention."""


def tokens_per_batch(config: Any, place: Placement) -> int:
    """Choose how many tokens go through a model at once, padding included, by the memory that is free now."""
    if place.device == "cpu":
        return CPU_TOKENS
    width = max(int(getattr(config, name, 0) or 0) for name in ("hidden_size", "d_model", "d_ff")) or 1024
    size = 4 if place.dtype == "fp32" else 2
    return max(512, min(MOST_TOKENS, int(FREE_SHARE * free_bytes(place.device) / (_STORED_PER_TOKEN * width * size))))


def batches_by_length(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Group texts by length, the longest first, so that a batch with its padding has at most `tokens` tokens.

    A text that is longer than that is a batch of its own. Order within equal lengths: as given.
    """
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if batches and (len(batches[-1]) + 1) * max(1, lengths[batches[-1][0]]) <= tokens:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches


def run_batches(
    rows: Sequence[Row],
    forward: Callable[[dict[str, Any]], Any],
    *,
    pad: Callable[..., Any],
    device: str,
    tokens: int,
) -> list[list[float]]:
    """Run rows through a model.

    Where the memory does not suffice after all, the batch is halved; a single row that does not fit raises.

    Args:
        rows: one per text.
        forward: takes padded tensors of shape (texts, longest) by name, gives (texts, values).
        pad: the tokeniser's `pad`.
        device: where the model is.
        tokens: per batch, padding included.

    Returns:
        The values of each row, in the order of `rows`.
    """
    torch = require("torch")
    values: list[list[float]] = [[]] * len(rows)
    waiting = batches_by_length([len(row["input_ids"]) for row in rows], tokens)[::-1]
    while waiting:
        batch = waiting.pop()
        together = {name: [rows[index][name] for index in batch] for name in rows[batch[0]]}
        try:
            with torch.inference_mode():
                padded = pad(together, padding=True, return_tensors="pt").to(device)
                found = forward(dict(padded)).float().cpu().tolist()
        except torch.OutOfMemoryError:
            if len(batch) == 1:
                raise SpecError(f"not enough memory on {device} for one text; use another device") from None
            torch.cuda.empty_cache()
            half = len(batch) // 2
            waiting.extend([batch[half:], batch[:half]])
            continue
        for index, row in zip(batch, found, strict=True):
            values[index] = row
    return values
