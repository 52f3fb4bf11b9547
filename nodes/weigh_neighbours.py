"""Decide by the nearest training questions whether to retrieve."""

import asyncio

from langgraph.runtime import Runtime

from hopgraph.nodes.core.step_events import emit
from hopgraph.state import MethodState, SettingsError, Update
from hopgraph.state.baselines import MAKE_LABELS, SkrKnnContext
from hopgraph.state.events import RetrievalDecided
from hopgraph.tools.resources import describe_settings
from hopgraph.tools.retrieval.labeled_questions import find_nearest, read_labels


async def weigh_neighbours(state: MethodState, runtime: Runtime[SkrKnnContext]) -> Update:
    """Let the k labelled questions that are nearest vote against the share of the labels (SKR).

    Writes `needs_retrieval`: False where the share of neighbours that retrieval harms is at least their share of the
    whole file, and one of them is. A SettingsError names labels, or an embedding model, that cannot be used.
    """
    harmed, share = await asyncio.to_thread(_harmed_shares, state["question"], runtime.context)
    needed = not harmed or harmed < share
    emit(runtime, RetrievalDecided(share=1 - harmed, needed=needed))
    return {"needs_retrieval": needed}


def _harmed_shares(question: str, settings: SkrKnnContext) -> tuple[float, float]:
    """Return which share of the neighbours, and of all labels, retrieval harms."""
    from hopgraph.tools.retrieval.index_manifest import corpus_fingerprint  # here in the thread, as it brings NumPy

    if settings.labels is None:
        raise SettingsError(settings.lacks)
    labeled = read_labels(settings.labels)
    corpus = corpus_fingerprint(settings.retriever) if isinstance(settings.retriever, str) else ""
    for name, here in (("model", describe_settings(settings)[0]), ("corpus", corpus)):
        if here and (others := {getattr(each, name) for each in labeled} - {"", here}):
            made = f"made with the {name} {min(others)}, and this run has {here}"
            raise SettingsError(f"labels {settings.labels}: {made}; {MAKE_LABELS}")
    near = find_nearest(question, labeled, settings.neighbours, settings.embedding)
    harmed, every = (sum(each.label == "harms" for each in questions) / len(questions) for questions in (near, labeled))
    return harmed, every
