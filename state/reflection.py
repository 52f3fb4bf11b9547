"""State and settings of Self-RAG: when to retrieve, and how what is written from each passage is weighed."""

from typing import Literal

from hopgraph.state.context import Context, setting
from hopgraph.state.schemas import MethodState


class SelfRagState(MethodState):
    """The shared keys and the decision."""

    needs_retrieval: bool
    """Whether passages are looked up."""


class SelfRagContext(Context):
    """The settings of Self-RAG; threshold and weights are those that the paper is remembered with."""

    method = "self_rag"
    steps = ("self_knowledge", "critique", "answer")

    reflection: Literal["records", "tokens"] = setting(
        "Method",
        "records",
        "records: any model judges passage, support and use in a record (ours); tokens: the reflection tokens of "
        "Self-RAG's own weights are read, from a server with a completions endpoint",
    )
    retrieval_threshold: float = setting(
        "Method",
        0.2,
        "the share of Retrieval among the retrieval tokens above which passages are looked up; 0: always, 1: never, "
        "both without asking; a record says 1 or 0",
        ge=0.0,
        le=1.0,
    )
    relevance_weight: float = setting("Method", 1.0, "weight of the passage's relevance in an answer's score", ge=0.0)
    support_weight: float = setting("Method", 1.0, "weight of how far the passage supports the answer", ge=0.0)
    utility_weight: float = setting("Method", 0.5, "weight of how useful the answer is", ge=0.0)
