"""GenGround's own state and settings (paper sections 3 and 5.4)."""

from typing import ClassVar

from typing_extensions import TypedDict

from hopgraph.state.context import Presets, StepNodes, method_setting, setting
from hopgraph.state.hops import HopsContext, HopsState
from hopgraph.state.records import Evidence


class Grounding(TypedDict):
    """A batch of passages' verdict on a sub-question: the paper's revision trajectory."""

    batch: int
    """The cited batch, from 1."""
    answer: str
    evidence: list[Evidence]
    """Each cited sentence in the model's words, with the shown passage that best matches it; empty if some sentence
    matches no passage, or a person rejected them."""
    not_found: list[str]
    """The cited sentences that match no shown passage."""


class GengroundState(HopsState):
    """The shared keys, the hops, and the progress of grounding the open hop."""

    read: int
    """Number of the open hop's passages shown for grounding so far, in rank order."""
    grounding: Grounding | None
    """The grounding that revises the open hop's answer; None until a batch is cited. Without evidence, the batch is
    retried once; the answer then remains ungrounded, unless a later batch is cited."""


class GengroundContext(HopsContext):
    """The settings of GenGround; passages and batches as in section 5.4, all other defaults are ours."""

    method = "genground"
    steps = ("deduce", "ground", "answer")
    step_nodes: ClassVar[StepNodes] = {"answer": ("best_answer",)}
    presets: ClassVar[Presets] = {
        family: {**values, "demonstrations": family} for family, values in HopsContext.presets.items()
    }

    top_k: int = setting("Retrieval", 10, "passages retrieved for each sub-question", ge=1, le=1000)
    batch_size: int = method_setting(3, "b: passages read in one grounding call, in rank order", ge=1, le=100)
    min_citation_overlap: float = method_setting(
        0.6,
        "minimum share of a cited sentence's words that must occur in a shown passage; below it the batch is "
        "retried once, then the citation counts as Empty; 0: one shared word is enough",
        ge=0.0,
        le=1.0,
        allow_inf_nan=False,
    )
    speculative_batches: bool = method_setting(
        False, "read all batches in parallel and use the first one that cites: faster, more calls, same result"
    )
    deduction: bool = method_setting(
        True, "answer hop by hop; false: generate one answer to the whole question and ground it (Table 4)"
    )
    grounding: bool = method_setting(
        True,
        "revise the generated answer with the retrieved evidence; false: answer each sub-question directly "
        "from its passages (Table 4)",
    )
    batches: bool = method_setting(True, "read passages in batches; false: all in one grounding call (Table 4)")

    @property
    def has_one_hop(self) -> bool:
        """Return whether the whole question is the only hop, as it is without deduction (Table 4)."""
        return not self.deduction
