"""The step events of one real run of every method with the offline model."""

import functools
from typing import Any

from hopgraph.graphs import ALIASES, METHODS
from hopgraph.state import Passage, StepEvent

QUESTION = "In which city was the director of the film Pan's Labyrinth born?"
METHOD_NAMES = [name for name in METHODS if name not in ALIASES]
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "gold_passages": [{"gold_passages": [{"title": "Pan's Labyrinth", "text": "Guillermo del Toro directed it."}]}],
    "genread": [{}, {"decomposition": True}],
    "grg": [{}, {"decomposition": True}],
    "least_to_most": [{}, {"retrieval": True}],
    "blendfilter": [{}, {"sample_top_p": (1.0, 0.9)}],
}
"""Settings that make a method take its other ways."""


@functools.cache
def recorded(method: str, variant: int = 0) -> tuple[list[StepEvent], list[Passage], str]:
    """Run a method once per test session; return its events, passages and answer."""
    # With links one search finds all that this question needs.
    settings = METHODS[method].Context(links=False, **VARIANTS.get(method, [{}])[variant])
    events, state = list[StepEvent](), dict[str, Any]()
    modes = ["custom", "values"]
    for namespace, mode, chunk in METHODS[method].graph.stream(
        {"question": QUESTION}, context=settings, stream_mode=modes, subgraphs=True
    ):
        if mode == "custom":
            events.append(chunk)
        elif not namespace:
            state = chunk
    return events, state["passages"], state["answer"]


def all_runs() -> list[tuple[str, int]]:
    """Return every method with the numbers of its variants."""
    return [(name, number) for name in METHOD_NAMES for number in range(len(VARIANTS.get(name, [{}])))]
