"""Models with weights: named by a spec, found on disk or on the hub, loaded once, used by one thread each.

What a kind of model needs, in this order:

    named = read_spec(spec, LOCAL_OPTIONS)            # bge:NAME?device=cuda&dtype=fp16
    place = placement_of(named)                       # which device, which precision
    folder = locate(named)                            # the folder with its files; downloads at most once
    model = shared(("bge", folder, place), lambda: Batched(load(folder, place)))
    scores = model(pairs)                             # from any thread, or: await model.acall(pairs)
"""

from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.scoring.weights.batched import Batched, shared
from hopgraph.tools.scoring.weights.classifier import (
    USUAL_LENGTH,
    Pair,
    TextModel,
    check_task,
    is_task,
    load_text_model,
)
from hopgraph.tools.scoring.weights.forward import tokens_per_batch
from hopgraph.tools.scoring.weights.load_errors import loading
from hopgraph.tools.scoring.weights.model_hub import locate
from hopgraph.tools.scoring.weights.model_specs import LOCAL_OPTIONS, NamedModel, number_option, read_spec
from hopgraph.tools.scoring.weights.placement import Placement, free_bytes, placement_of

__all__ = [
    "LOCAL_OPTIONS",
    "USUAL_LENGTH",
    "Batched",
    "NamedModel",
    "Pair",
    "Placement",
    "TextModel",
    "check_task",
    "free_bytes",
    "is_task",
    "load_text_model",
    "loading",
    "locate",
    "number_option",
    "placement_of",
    "read_spec",
    "require",
    "shared",
    "tokens_per_batch",
]
