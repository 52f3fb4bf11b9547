"""Decide by the nearest training questions whether to retrieve."""

import asyncio
from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.core.step_events import emit
from hopgraph.state import MethodState, SettingsError
from hopgraph.state.baselines import SkrKnnContext
from hopgraph.state.events import NeighboursWeighed
from hopgraph.tools.models import model_name
from hopgraph.tools.resources import find_model_spec
from hopgraph.tools.retrieval.labeled_questions import LabelFile, Neighbour, find_nearest, read_labels


async def weigh_neighbours(state: MethodState, runtime: Runtime[SkrKnnContext]) -> Mapping[str, Any]:
    """Let the k labelled questions that are nearest vote against the share of the labels (SKR); no call.

    Writes `retrieves`: False where the share of neighbours that retrieval harms is at least their share of the whole
    file, and one of them is.

    Raises:
        SettingsError: no file of labels, an unreadable one, or one of another model or corpus.
        SpecError: the embedding model cannot be loaded.
    """
    settings = runtime.context
    if settings.labels is None:
        raise SettingsError(settings.lacks)
    file, neighbours = await asyncio.to_thread(_nearest, state["question"], settings, settings.labels)
    harmed = [each.labeled.label == "harms" for each in neighbours]
    share = sum(each.label == "harms" for each in file.questions) / len(file.questions)
    retrieves = not any(harmed) or sum(harmed) / len(harmed) < share
    emit(
        runtime,
        NeighboursWeighed(
            questions=[each.labeled.question for each in neighbours],
            labels=[each.labeled.label for each in neighbours],
            similarities=[round(each.similarity, 6) for each in neighbours],
            harmed_share=round(share, 6),
            retrieves=retrieves,
        ),
    )
    return {"retrieves": retrieves}


def _nearest(question: str, settings: SkrKnnContext, path: str) -> tuple[LabelFile, list[Neighbour]]:
    from hopgraph.tools.retrieval.index_manifest import corpus_fingerprint  # here in the thread, as it brings NumPy

    file = read_labels(path)
    model = model_name(find_model_spec(settings, f"{settings.method}/{settings.steps[0]}"))
    retriever = settings.retriever
    file.check(model, corpus_fingerprint(retriever) if isinstance(retriever, str) else "", path)
    return file, find_nearest(question, path, settings.neighbours, settings.embedding)
