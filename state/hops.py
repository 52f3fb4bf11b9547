"""State and settings of the hop-by-hop methods: GenGround, ReAct, Self-Ask."""

from typing_extensions import TypedDict

from hopgraph.state.context import Context, method_setting
from hopgraph.state.schemas import MethodState


class Hop(TypedDict):
    """One sub-question or search on the way to the answer."""

    number: int
    """From 1."""
    question: str
    """The query sent to the retriever."""
    thought: str
    """Why the model asks it (ReAct); empty if the method does not ask for a reason."""
    generated: str
    """The immediate answer from the model's own knowledge (GenGround); empty if it gave none."""
    answer: str
    """The answer that later hops build on; empty while the hop is open, and if none was found."""
    grounded: bool
    """True if a passage supports the answer; otherwise it is the generated one."""
    quote: str
    """The passage sentence that best supports the answer; empty if there is none."""
    passage_ids: list[str]
    """Passages that support the answer; for ReAct, those that the search returned, best first."""


class HopsState(MethodState):
    """The shared keys and the hops."""

    hops: list[Hop]
    """In the order of asking; the last one is open until it has an answer or passages."""


class HopsContext(Context):
    """The settings of every hop-by-hop method."""

    max_hops: int = method_setting(
        7, "maximum sub-questions or searches before a best-effort answer is forced", ge=1, le=50
    )

    @property
    def has_one_hop(self) -> bool:
        """Return whether a run has only one hop and asks nothing after it."""
        return False
