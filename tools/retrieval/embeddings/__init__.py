"""Embedding models: from texts to vectors."""

from hopgraph.tools.retrieval.embeddings.embedding_model import EmbeddingFacts, EmbeddingModel
from hopgraph.tools.retrieval.embeddings.resolve import VALID_SPECS, resolve_embeddings

__all__ = ["VALID_SPECS", "EmbeddingFacts", "EmbeddingModel", "resolve_embeddings"]
