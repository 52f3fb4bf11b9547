"""State and settings of the baselines that write first, and revise what they wrote by what is retrieved for it."""

from typing import Literal

from hopgraph.state.context import Context, setting
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
