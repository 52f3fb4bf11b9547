"""Models with weights: named by a spec, found on disk or on the hub, loaded once, used by one thread each.

What a kind of model needs, in this order:

    named = read_spec(spec, LOCAL_OPTIONS)            # bge:NAME?device=cuda&dtype=fp16
    place = placement_of(named)                       # which device, which precision
    folder = locate(named)                            # the folder with its files; downloads at most once
    model = shared(("bge", folder, place), lambda: Batched(load(folder, place)))
    scores = model(pairs)                             # from any thread, or: await model.acall(pairs)
"""

from hopgraph.tools.loading.batched import Batched, shared
from hopgraph.tools.loading.classifier import USUAL_LENGTH, Pair, TextModel, check_task, is_task, load_text_model
from hopgraph.tools.loading.errors import loading, require
from hopgraph.tools.loading.forward import tokens_per_batch
from hopgraph.tools.loading.hub import locate
from hopgraph.tools.loading.placement import Placement, free_bytes, placement_of
from hopgraph.tools.loading.specs import LOCAL_OPTIONS, NamedModel, number_option, read_spec

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
