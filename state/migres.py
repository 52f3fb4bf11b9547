"""MIGRES's own state and settings (paper section 3 and Table 11)."""

from typing import ClassVar, Literal

from typing_extensions import override

from hopgraph.state.context import Presets, Resource, StepNodes, method_setting, setting
from hopgraph.state.passage_filtering import KnowledgeContext
from hopgraph.state.records import Evidence
from hopgraph.state.schemas import MethodState


class MigresState(MethodState):
    """The shared keys and MIGRES's own."""

    drafts: list[Evidence]
    """This iteration's statements, before the entailment check."""
    missing: str
    """The information that the last decision found missing; empty if it answered."""
    confidence: int | None
    """The model's own confidence in its answer, 1 (low) to 5; None when it gave none."""


class MigresContext(KnowledgeContext):
    """The settings of MIGRES; iterations and passages are Table 11's for multi-hop questions; δ is in the presets."""

    method = "migres"
    steps = ("extract", "recall_knowledge", "decide", "generate_queries", "final_answer", "summarize", "snippet")
    step_nodes: ClassVar[StepNodes] = {"summarize": ("compress",), "snippet": ("compress",)}
    presets: ClassVar[Presets] = {
        "multi_hop": {"max_iterations": 5, "threshold": 3.0, "threshold_reranker": "bge"},
        "open_domain": {"max_iterations": 3, "threshold": 5.0, "threshold_reranker": "bge"},
        "yes_no": {"max_iterations": 5, "threshold": 0.0, "threshold_reranker": "bge", "answer_type": "yes_no"},
    }

    max_iterations: int = method_setting(
        5, "T: maximum retrieve-extract-decide iterations; a final answer is forced after the last one", ge=1, le=20
    )
    top_k: int = setting("Retrieval", 50, "passages retrieved for each query", ge=1, le=1000)
    extraction: Literal["joint", "per_query"] = method_setting(
        "joint",
        "joint: one extraction per iteration over the best passages of all queries, with the model's own "
        "knowledge only if no query kept any (the authors' code); per_query: one call per query, in parallel",
    )
    max_queries: int = method_setting(3, "maximum new queries per iteration", ge=1, le=10)
    recall: bool = method_setting(True, "let the model write down what it knows when no passage was kept (Table 6)")
    verify: bool = method_setting(True, "keep only statements that are entailed by their passages")
    memory: bool = method_setting(
        True, "remember: never show again what was cited or has been shown twice, and never repeat a query"
    )

    @property
    @override
    def required_resources(self) -> frozenset[Resource]:
        """Return a retriever, a reranker, and an entailment checker if statements are verified."""
        return super().required_resources | frozenset[Resource]({"entailment"} if self.verify else ())
