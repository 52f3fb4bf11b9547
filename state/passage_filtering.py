"""Settings of every method that reranks passages, and of those that cut them down (MIGRES and ALCE's baselines)."""

from typing import Any, Literal, Self

from typing_extensions import override

from hopgraph.state.context import Context, method_setting


class RankedContext(Context):
    """Settings for the number of reranked passages shown to the model."""

    resources = ("retriever", "reranker")

    context_passages: int = method_setting(5, "k: maximum passages shown to the model in one prompt", ge=1, le=50)


class FilterContext(RankedContext):
    """Thresholds for relevant passages and sentences."""

    threshold: float | None = method_setting(
        None,
        "δ: passages and sentences with a lower reranker score are dropped; on the reranker's raw scale. "
        "Default: the reranker's calibrated value, if it has one (see `hopgraph calibrate`)",
        allow_inf_nan=False,
    )
    threshold_reranker: str | None = method_setting(
        None,
        "kind of reranker that δ was calibrated for, e.g. bge; rerankers of other kinds use their own "
        "calibrated value. Default: δ applies to any reranker",
    )

    @property
    def filters_sentences(self) -> bool:
        """Return whether the sentence filter cuts passages down to their relevant sentences."""
        return True

    @classmethod
    @override
    def preset(cls, family: str, **settings: Any) -> Self:
        """Return the paper's settings for a family of data sets, with overrides; SettingsError if there are none.

        The paper's δ is on the scale of bge-reranker-base; a δ set by the caller applies to any reranker.
        """
        own = {"threshold_reranker": None} if "threshold" in settings else {}
        return super().preset(family, **{**own, **settings})


class KnowledgeContext(FilterContext):
    """Settings that turn retrieved passages into the model's context."""

    compression: Literal["sentences", "none", "summary", "snippet"] = method_setting(
        "sentences",
        "how passages are compressed: by the sentence filter, not at all, or by one model call per passage "
        "that summarizes it or copies a snippet (Table 5)",
    )

    @property
    @override
    def filters_sentences(self) -> bool:
        """Return whether passages are cut to their relevant sentences, not kept whole or compressed by the model."""
        return self.compression == "sentences"
