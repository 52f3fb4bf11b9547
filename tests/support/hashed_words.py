"""An embedding model without weights: a bag of words hashed into a short unit vector."""

import zlib

import numpy as np
from langchain_core.embeddings import Embeddings


class HashedWords(Embeddings):
    """Gives similar vectors to texts with common words, deterministically."""

    def __init__(self, dimension: int = 32) -> None:
        self.dimension = dimension
        self.texts = 0
        """How many documents were embedded."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.texts += len(texts)
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        vector = np.zeros(self.dimension)
        for word in text.lower().split():
            number = zlib.crc32(word.encode())
            vector[number % self.dimension] += 1 if number & 1 << 20 else -1
        return (vector / max(float(np.linalg.norm(vector)), 1e-9)).tolist()
