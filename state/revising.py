"""State and settings of the baselines that write first, and revise what they wrote by what is retrieved for it."""

from typing import Literal

from hopgraph.state.baselines import SamplesState, SamplingContext
from hopgraph.state.context import Context, setting
from hopgraph.state.hops import HopsState
from hopgraph.state.passage_filtering import FilterContext
from hopgraph.state.schemas import MethodState

# A document: ITRG


class ItrgState(MethodState):
    """The shared keys and the document."""

    document: str
    """As it is now; empty while the model has written none."""


class ItrgContext(Context):
    """The settings of ITRG; rounds and passages are the paper's."""

    method = "itrg"
    steps = ("write_passage", "rewrite_passage", "answer")

    iterations: int = setting("Method", 5, "T: rounds of retrieving and rewriting the document", ge=1, le=20)
    mode: Literal["refine", "refresh"] = setting(
        "Method",
        "refine",
        "refine: update the document with the passages that a round is the first to find; refresh: write it anew from "
        "all passages of the round",
    )


# A rationale: Verify-and-Edit


class EditingState(SamplesState, HopsState):
    """The shared keys, the samples, and a rationale's sentences as hops: `generated`, and edited the `answer`."""


class VerifyAndEditContext(SamplingContext, FilterContext):
    """The settings of Verify-and-Edit; number and temperature of the samples are the paper's."""

    method = "verify_and_edit"
    steps = ("answer_step_by_step", "verifying_questions", "answer_in_a_sentence", "answer")

    max_sentences: int = setting("Method", 10, "sentences of the rationale that are verified at most", ge=1, le=50)
