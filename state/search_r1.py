"""State and settings of Search-R1."""

from typing import ClassVar, Literal

from hopgraph.state.context import Context, StepNodes, method_setting, setting
from hopgraph.state.schemas import MethodState


class SearchR1State(MethodState):
    """The shared keys and what the model has written; `knowledge` has an entry for each search."""

    written: list[str]
    """The model's turns, each up to the tag that ends it; what a search found is not among them."""


class SearchR1Context(Context):
    """The settings of Search-R1; numbers are those of the authors' evaluation."""

    method = "search_r1"
    steps = ("write_turn",)
    step_nodes: ClassVar[StepNodes] = {"write_turn": ("write",)}

    top_k: int = setting("Retrieval", 3, "passages shown to the model per search", ge=1, le=1000)
    max_turns: int = method_setting(
        4,
        "maximum turns that may search, one call each; one further turn, whose search is ignored, must answer",
        ge=1,
        le=50,
    )
    prompting: Literal["records", "base", "instruct", "plain"] = method_setting(
        "records",
        "records: any model writes each turn as a JSON record. For Search-R1's own weights, over the "
        "completions endpoint of an openai: or gguf: model: base or instruct (Qwen2.5's chat template, for "
        "weights trained from that version) or plain (no template)",
    )
