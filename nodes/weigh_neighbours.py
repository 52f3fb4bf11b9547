"""Decide by the nearest training questions whether to retrieve."""

import asyncio
from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.core.step_events import emit
from hopgraph.state import MethodState, SettingsError
from hopgraph.state.baselines import MAKE_LABELS, SkrKnnContext
from hopgraph.state.events import NeighboursWeighed
from hopgraph.tools.resources import describe_settings
from hopgraph.tools.retrieval.labeled_questions import LabeledQuestion, find_nearest, read_labels


async def weigh_neighbours(state: MethodState, runtime: Runtime[SkrKnnContext]) -> Mapping[str, Any]:
    """Let the k labelled questions that are nearest vote against the share of the labels (SKR); no call.

    Writes `retrieves`: False where the share of neighbours that retrieval harms is at least their share of the whole
    file, and one of them is.

    Raises:
        SettingsError: no file of labels, an unreadable one, or one of another model or corpus.
        SpecError: the embedding model cannot be loaded.
    """
    neighbours, share = await asyncio.to_thread(_nearest, state["question"], runtime.context)
    harmed = sum(each.label == "harms" for each in neighbours)
    retrieves = not harmed or harmed / len(neighbours) < share
    shown, labels = [each.question for each in neighbours], [str(each.label) for each in neighbours]
    emit(runtime, NeighboursWeighed(questions=shown, labels=labels, harmed_share=share, retrieves=retrieves))
    return {"retrieves": retrieves}


def _nearest(question: str, settings: SkrKnnContext) -> tuple[list[LabeledQuestion], float]:
    """Find the neighbours, and the share of the labels that say that retrieval harms."""
    from hopgraph.tools.retrieval.index_manifest import corpus_fingerprint  # here in the thread, as it brings NumPy

    if settings.labels is None:
        raise SettingsError(settings.lacks)
    labeled = read_labels(settings.labels)
    corpus = corpus_fingerprint(settings.retriever) if isinstance(settings.retriever, str) else ""
    for name, here in (("model", describe_settings(settings)[0]), ("corpus", corpus)):
        if here and (others := {getattr(each, name) for each in labeled} - {"", here}):
            made = f"made with the {name} {min(others)}, and this run has {here}"
            raise SettingsError(f"labels {settings.labels}: {made}; {MAKE_LABELS}")
    share = sum(each.label == "harms" for each in labeled) / len(labeled)
    return find_nearest(question, settings.labels, settings.neighbours, settings.embedding), share
