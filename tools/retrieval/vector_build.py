"""The dense part of a build: choose model and kind before anything is read, then embed and store."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from langchain_core.embeddings import Embeddings

from hopgraph.state import SettingsError
from hopgraph.tools.retrieval.dense import load_query_model
from hopgraph.tools.retrieval.embeddings import EmbeddingModel, resolve_embeddings
from hopgraph.tools.retrieval.faiss_store import IVFPQ_FROM, build_store, choose_kind
from hopgraph.tools.retrieval.index_manifest import DenseFacts, Manifest
from hopgraph.tools.retrieval.passage_store import PassageFile
from hopgraph.tools.retrieval.progress import Progress
from hopgraph.tools.retrieval.shards import embed_passages
from hopgraph.tools.scoring.weights import require


@dataclass(frozen=True)
class VectorPlan:
    """How the vectors of an index will be made."""

    model: EmbeddingModel
    kind: str | None
    """The requested kind of FAISS index."""
    old: DenseFacts | None = None
    """Of the index that is added to, if it has vectors."""
    old_passages: int = 0
    """How many vectors it has."""

    def build(self, goal: Path, folder: Path, progress: Progress) -> tuple[DenseFacts, int]:
        """Embed the passages of `folder`, which will become `goal`, that have no vector yet; write its FAISS file.

        Returns what the manifest says of the vectors, and how many an interrupted build had embedded.
        """
        passages = PassageFile(folder)
        shards = embed_passages(goal, self.model, passages, self.old_passages, partial(progress, "embed"))
        kind = self.old.kind if self.old else choose_kind(len(passages), self.kind)
        build_store(folder, kind, shards, partial(progress, "faiss"), extends=goal if self.old else None)
        return self.old or DenseFacts(kind=kind, embedding=shards.facts), shards.reused


def plan_vectors(
    dense: str | Embeddings | None, kind: str | None, goal: Path, old: Manifest | None
) -> VectorPlan | None:
    """Load the model and check the request, before anything is read; None for an index without vectors.

    `old` is the manifest of the index that is added to: without `dense` its model is used, if it has one.

    Raises:
        SettingsError: an unknown kind, another one than the index has, or a kind without a model.
        SpecError: the model cannot be loaded, or FAISS is not installed.
        CorpusError: another model than the one of the index that is added to.
    """
    choose_kind(IVFPQ_FROM, kind)  # refuses an unknown one
    have = old.dense if old else None
    if dense is None and have is None:
        if kind is not None:
            raise SettingsError("a FAISS index needs an embedding model: add --dense SPEC")
        return None
    require("faiss")
    if old and have:
        if kind not in (None, have.kind):
            raise SettingsError(f"{goal} stays {have.kind} when passages are added; build it anew for {kind}")
        return VectorPlan(load_query_model(goal, have, dense), have.kind, have, old.corpus.passages)
    model = resolve_embeddings(dense or "")
    model.facts()  # a server that does not answer fails now
    return VectorPlan(model, kind)
