"""Calibrate a reranker's relevance threshold on training questions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, inf

from langchain_core.retrievers import BaseRetriever

from hopgraph.state import CorpusError, Reranker, SettingsError
from hopgraph.tools.scoring.pair_scorers import check_scores

QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
_PASSAGES = 50


@dataclass(frozen=True, slots=True)
class ThresholdCalibration:
    """A calibrated threshold and its effect."""

    threshold: float
    """δ: passages with at least this score are kept."""
    kept: float
    """Share of the questions that keep at least one passage at δ."""
    questions: int
    without_passages: int
    """Questions for which the retriever found nothing; they count as keeping none."""
    quantiles: dict[float, float]
    """Quantiles of the best score per question that has passages, by the shares in QUANTILES."""


def calibrate(
    questions: Sequence[str],
    retriever: BaseRetriever,
    reranker: Reranker,
    *,
    keep: float = 0.8,
    progress: Callable[[int], None] = lambda _: None,
) -> ThresholdCalibration:
    """Find the largest δ for which more than `keep` of the training questions keep at least one passage.

    Each question is the query; its top 50 passages are reranked as title, line break, text, and the best score counts
    (MIGRES, Appendix B and Table 11). δ is the best score of some question; with ties the share kept can be well above
    `keep`. `progress` is called with the number of questions done. SettingsError: no questions, or `keep` outside
    [0, 1). CorpusError: too many questions found no passages to keep the share.
    """
    if not questions:
        raise SettingsError("calibration needs at least one question; the data set has none")
    if not 0 <= keep < 1:
        raise SettingsError(f"keep is {keep}; it must be at least 0 and below 1")
    best: list[float] = []
    for number, question in enumerate(questions, 1):
        documents = retriever.invoke(question, k=_PASSAGES)[:_PASSAGES]
        pairs = [(question, f"{each.metadata.get('title', '')}\n{each.page_content}") for each in documents]
        best.append(max(check_scores(reranker.name, reranker.score(pairs), len(pairs)), default=-inf))
        progress(number)
    ranked = sorted(best, reverse=True)
    found = [score for score in ranked if score > -inf]
    # Exact decimal arithmetic: 0.29 of 100 questions is 29.
    needed = floor(Fraction(str(keep)) * len(ranked)) + 1
    if needed > len(found):
        raise CorpusError(
            f"only {len(found)} of {len(ranked)} questions found any passage, so no threshold keeps more than "
            f"{keep:.0%} of them; use the corpus that belongs to these questions"
        )
    threshold = ranked[needed - 1]
    return ThresholdCalibration(
        threshold=threshold,
        kept=sum(score >= threshold for score in ranked) / len(ranked),
        questions=len(ranked),
        without_passages=len(ranked) - len(found),
        quantiles={share: found[::-1][round(share * (len(found) - 1))] for share in QUANTILES},
    )
