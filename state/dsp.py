"""State and settings of DSP."""

from typing import ClassVar

from hopgraph.state.baselines import SamplesState, SamplingContext
from hopgraph.state.context import Presets, setting


class DspState(SamplesState):
    """The shared keys, the samples of the answer, and those of the queries."""

    sampled: dict[str, int]
    """How many samples gave each query of this hop, by its text."""


class DspContext(SamplingContext):
    """The settings of DSP; how many queries and answers are sampled is a choice of ours."""

    method = "dsp"
    steps = ("write_query", "answer_step_by_step")
    presets: ClassVar[Presets] = {
        **SamplingContext.presets,
        "dspy": {"queries_per_hop": 1, "samples": 1, "passages_per_query": 3},
    }

    max_hops: int = setting("Method", 2, "hops of queries and retrieval", ge=1, le=10)
    queries_per_hop: int = setting(
        "Method",
        5,
        "queries sampled for each hop, which keeps `passages_per_query` passages of three times as many that each "
        "finds; 1: a single one, not sampled, which finds as many",
        ge=1,
        le=50,
    )
