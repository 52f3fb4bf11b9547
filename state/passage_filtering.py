"""Settings of every method that reranks passages, and of those that cut them down (MIGRES and ALCE's baselines)."""

from typing import Any, Literal, Self

from typing_extensions import override

from hopgraph.state.context import Context, method_setting


class RankedContext(Context):
    """How many reranked passages the model is shown."""

    resources = ("retriever", "reranker")

    passages_per_extraction: int = method_setting(
        5, "k: passages shown to the model at most in one prompt", ge=1, le=50
    )


class FilterContext(RankedContext):
    """Which passages and sentences are relevant enough."""

    threshold: float | None = method_setting(
        None,
        "δ: a passage or sentence with a lower reranker score is dropped, on the reranker's raw scale; none: the "
        "reranker's own value, if it has one (see `hopgraph calibrate`)",
        allow_inf_nan=False,
    )
    threshold_for: str | None = method_setting(
        None,
        "the kind of reranker that δ was found for, as bge; with one of another kind its own calibrated value is "
        "taken; none: δ holds for any",
    )

    @property
    def filters_sentences(self) -> bool:
        """Whether the sentence filter cuts passages down to their relevant sentences."""
        return True

    @classmethod
    @override
    def preset(cls, family: str, **settings: Any) -> Self:
        """Make the paper's settings for a family of data sets, with some replaced; SettingsError where there is none.

        The paper's δ is on the scale of bge-reranker-base; a δ of the caller's holds for any reranker.
        """
        own = {"threshold_for": None} if "threshold" in settings else {}
        return super().preset(family, **{**own, **settings})


class KnowledgeContext(FilterContext):
    """How retrieved passages become what the model is shown."""

    compression: Literal["sentences", "none", "summary", "snippet"] = method_setting(
        "sentences",
        "how passages are cut down: sentence filter, not at all, or one model call per passage that summarises it or "
        "copies a snippet (Table 5)",
    )

    @property
    @override
    def filters_sentences(self) -> bool:
        """Whether passages are cut down to their relevant sentences, not as a whole or by the model."""
        return self.compression == "sentences"
