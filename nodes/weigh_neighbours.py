"""Decide by the nearest training questions whether to retrieve."""

import asyncio
from collections import Counter
from collections.abc import Mapping

from langgraph.runtime import Runtime

from hopgraph.nodes.core.step_events import emit
from hopgraph.state import MethodState, SettingsError, Update
from hopgraph.state.baselines import MAKE_LABELS, SkrKnnContext
from hopgraph.state.events import RetrievalDecided
from hopgraph.tools.resources import describe_settings
from hopgraph.tools.retrieval.labeled_questions import find_nearest, read_labels


async def weigh_neighbours(state: MethodState, runtime: Runtime[SkrKnnContext]) -> Update:
    """Let the k labelled questions that are nearest vote (SKR).

    Where retrieval helps at least as many of all labelled questions as it harms, they must say clearly that it helps;
    else, that it harms: by a majority of the margin that the authors' code has, the difference of all labels scaled
    to k. Writes `needs_retrieval`. A SettingsError names labels, or an embedding model, that cannot be used.
    """
    votes, needed = await asyncio.to_thread(_vote, state["question"], runtime.context)
    emit(runtime, RetrievalDecided(share=votes["helps"] / votes.total(), needed=needed))
    return {"needs_retrieval": needed}


def needs_retrieval(votes: Mapping[str, int], labels: Mapping[str, int]) -> bool:
    """Decide by the labels `helps` and `harms` of the k neighbours, and by all labels, `same` among them.

    Without a clear majority the side that all labels do not lean to is taken, as in the authors' code.
    """
    lead, total = labels["helps"] - labels["harms"], labels["helps"] + labels["harms"] + labels["same"]
    margin = abs(lead) * sum(votes.values()) // total
    ahead = votes["helps"] - votes["harms"]
    return ahead > 0 and ahead >= margin if lead >= 0 else not (ahead < 0 and -ahead >= margin)


def _vote(question: str, settings: SkrKnnContext) -> tuple[Counter[str], bool]:
    """Count the labels of the neighbours, and decide."""
    from hopgraph.tools.retrieval.index_manifest import corpus_fingerprint  # here in the thread, as it brings NumPy

    if settings.labels is None:
        raise SettingsError(settings.lacks)
    labeled = read_labels(settings.labels)
    corpus = corpus_fingerprint(settings.retriever) if isinstance(settings.retriever, str) else ""
    for name, here in (("model", describe_settings(settings)[0]), ("corpus", corpus)):
        if here and (others := {getattr(each, name) for each in labeled} - {"", here}):
            made = f"made with the {name} {min(others)}, and this run has {here}"
            raise SettingsError(f"labels {settings.labels}: {made}; {MAKE_LABELS}")
    deciding = [each for each in labeled if each.label != "same"]
    near = find_nearest(question, deciding, settings.neighbours, settings.embedding)
    votes = Counter[str](each.label for each in near)
    return votes, needs_retrieval(votes, Counter(each.label for each in labeled))
