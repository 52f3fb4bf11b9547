"""State and settings of the baselines that write first, and revise what they wrote by what is retrieved for it."""

from typing import ClassVar, Literal

from hopgraph.state.baselines import PartsState, SamplesState, SamplingContext
from hopgraph.state.context import Context, StepNodes, method_setting
from hopgraph.state.hops import HopsContext
from hopgraph.state.migres import MigresState
from hopgraph.state.schemas import MethodState


class ItrgState(MethodState):
    """The shared keys and the document."""

    document: str
    """The current text; empty until the model has written one."""
    round_before: list[str]
    """Ids of the passages that the last round found."""


class ItrgContext(Context):
    """The settings of ITRG; rounds and passages are the paper's, and so is the better mode."""

    method = "itrg"
    steps = ("rewrite_passage", "answer")
    step_nodes: ClassVar[StepNodes] = {"rewrite_passage": ("write",), "answer": ("read",)}

    iterations: int = method_setting(
        5, "T: rounds of retrieving and rewriting the document, after the first search", ge=1, le=20
    )
    mode: Literal["refine", "refresh"] = method_setting(
        "refresh",
        "refresh: rewrite the document from all passages of the round; refine: update it with the passages "
        "that the previous round did not find",
    )


class EditingState(SamplesState, PartsState):
    """The shared keys, the samples, and a rationale's sentences as `claims` on their verifying questions."""


class VerifyAndEditContext(SamplingContext):
    """The settings of Verify-and-Edit; number and temperature of the samples, and the sentences, are the paper's."""

    method = "verify_and_edit"
    steps = ("answer_step_by_step", "verifying_questions", "answer_in_a_sentence", "answer")
    step_nodes: ClassVar[StepNodes] = {
        "answer_step_by_step": ("sample",),
        "verifying_questions": ("ask",),
        "answer_in_a_sentence": ("edit",),
    }

    resources = ("retriever", "reranker")

    nearest_sentences: int = method_setting(
        3, "passage sentences shown when a sentence is edited: those nearest to its question", ge=1, le=50
    )
    max_sentences: int = method_setting(10, "maximum sentences of the rationale that are verified", ge=1, le=50)


class VtgState(MigresState):
    """The shared keys; in `evidence` the sentences that hold, in `drafts` the one that is written, if any."""

    sentence: int
    """The place of that sentence in the text, from 1."""
    attempts: int
    """Number of attempts at this sentence."""
    rejected: list[str]
    """Sentences that nothing supports, in their order."""


class VtgContext(Context):
    """The settings of VTG; its limits are ours."""

    method = "vtg"
    steps = ("next_sentence", "verifying_questions", "final_answer")
    step_nodes: ClassVar[StepNodes] = {
        "next_sentence": ("write",),
        "verifying_questions": ("ask",),
        "final_answer": ("answer",),
    }
    resources = ("retriever", "entailment")

    max_sentences: int = method_setting(6, "maximum sentences of the text", ge=1, le=50)
    max_rewrites: int = method_setting(2, "n: rewrites of an unsupported sentence before it is left out", ge=0, le=10)
    max_queries: int = method_setting(3, "maximum queries for an unsupported sentence", ge=1, le=10)


class SearchainState(PartsState):
    """The shared keys, and the nodes of the chain as `sub_questions` with the model's answers as `claims`."""

    rounds: int


class SearchainContext(HopsContext):
    """The settings of SearChain; the rounds are the paper's."""

    method = "searchain"
    steps = ("write_chain", "read_link", "answer")
    step_nodes: ClassVar[StepNodes] = {"write_chain": ("chain",), "read_link": ("check",)}

    max_rounds: int = method_setting(5, "maximum chains written", ge=1, le=20)
    min_confidence: int = method_setting(
        4, "minimum confidence (1 to 5) at which the reader corrects the model's answer", ge=1, le=5
    )
