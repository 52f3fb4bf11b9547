"""State and settings of the methods that go hop by hop: GenGround, ReAct, Self-Ask."""

from typing_extensions import TypedDict

from hopgraph.state.context import Context, method_setting
from hopgraph.state.schemas import MethodState


class Hop(TypedDict):
    """One sub-question or search on the way to the answer."""

    number: int
    """From 1."""
    question: str
    """The query to the retriever."""
    thought: str
    """Why the model asks it (ReAct); empty where the method does not ask for a reason."""
    generated: str
    """The immediate answer from the model's own knowledge (GenGround); empty where it gave none."""
    answer: str
    """The answer that later hops build on; empty while the hop is open, and where none was found."""
    grounded: bool
    """True if a passage carries the answer; else it is the generated one."""
    quote: str
    """The sentence of the passage that carries the answer best; empty without one."""
    passage_ids: list[str]
    """Passages that support the answer; for ReAct those that the search returned, best first."""


class HopsState(MethodState):
    """The shared keys and the hops."""

    hops: list[Hop]
    """In the order of asking; the last one is open until its answer or its passages are there."""


class HopsContext(Context):
    """The settings of every method that goes hop by hop."""

    max_hops: int = method_setting(
        7, "maximum sub-questions or searches before a best-effort answer is forced", ge=1, le=50
    )

    @property
    def has_one_hop(self) -> bool:
        """Return whether a run has one hop alone, after which nothing is asked."""
        return False
