"""Models with weights: named by a spec, found on disk or on the hub, loaded once, used by one thread each.

A model of any kind is loaded in these steps:

    named = read_spec(spec, LOCAL_OPTIONS)            # bge:NAME?device=cuda&dtype=fp16
    place = placement_of(named)                       # device and precision
    folder = locate(named)                            # the folder with its files; downloads at most once
    check_weights(named, folder)                      # safe to load, and complete
    model = shared(("bge", folder, place), lambda: Batched(load(folder, place)))
    scores = model(pairs)                             # from any thread, or: await model.acall(pairs)
"""

from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.scoring.weights.batched import Batched, estimate_tokens, run_in_batches, shared, tokens_per_batch
from hopgraph.tools.scoring.weights.model_hub import locate
from hopgraph.tools.scoring.weights.model_specs import (
    LOCAL_OPTIONS,
    NamedModel,
    Placement,
    number_option,
    placement_of,
    read_spec,
)
from hopgraph.tools.scoring.weights.text_model import loading

__all__ = [
    "LOCAL_OPTIONS",
    "Batched",
    "NamedModel",
    "Placement",
    "estimate_tokens",
    "loading",
    "locate",
    "number_option",
    "placement_of",
    "read_spec",
    "require",
    "run_in_batches",
    "shared",
    "tokens_per_batch",
]
