"""An embedding model, with the prefixes and the normalization that it was trained with."""

import base64
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import AliasChoices, BaseModel, Field

from hopgraph.state import CorpusError, ModelError
from hopgraph.tools.io.background import run_in_background


class Prefixes(NamedTuple):
    """Texts that a model expects before a query and before a passage; empty if it expects none."""

    query: str = ""
    passage: str = ""


_WEB_SEARCH = "Given a web search query, retrieve relevant passages that answer the query"
_BY_NAME: tuple[tuple[re.Pattern[str], Prefixes], ...] = (
    (re.compile(r"e5-mistral|e5-.*instruct"), Prefixes(f"Instruct: {_WEB_SEARCH}\nQuery: ")),
    (re.compile(r"(^|[-_])e5([-_]|$)"), Prefixes("query: ", "passage: ")),
    (re.compile(r"bge-m3"), Prefixes()),
    (re.compile(r"bge-.*zh"), Prefixes("为这个句子生成表示以用于检索相关文章：")),  # noqa: RUF001 - as the model's card has it
    (re.compile(r"(^|[-_])bge-"), Prefixes("Represent this sentence for searching relevant passages: ")),
    (re.compile(r"nomic-embed"), Prefixes("search_query: ", "search_document: ")),
)
"""From the models' cards; the first match counts. Others (GTE, all-MiniLM, Contriever, …) have no prefixes."""


def prefixes_by_name(name: str) -> Prefixes:
    """Return a model's prefixes by the last part of its name or path, e.g. `intfloat/e5-base-v2`."""
    last = name.rstrip("/\\").replace("\\", "/").rpartition("/")[2].lower()
    return next((prefixes for pattern, prefixes in _BY_NAME if pattern.search(last)), Prefixes())


Vector = NDArray[np.float32]
"""One vector of shape (dimension,)."""
Matrix = NDArray[np.float32]
"""Vectors of shape (texts, dimension)."""

PROBE = "In 1886 the Statue of Liberty, a gift of the people of France, was dedicated in New York Harbor."
"""Embedded when an index is built and when it is opened: its vector identifies the model."""
_SAME_COSINE = 0.995
"""Minimum cosine of two probes of the same model. bf16 and fp16 stay above 0.999 of fp32."""
_SAME_LENGTH = 0.02  # maximum relative difference in length of two probes of the same model
_TOO_LARGE = 1e15  # limit of a vector's numbers; squares of larger ones overflow


class Text(NamedTuple):
    """A text to embed."""

    text: str
    prefix: str
    is_query: bool


Encoder = Callable[[Sequence[Text]], Awaitable[Sequence[Vector]]]
"""Returns one vector per text, in order; may be awaited on any event loop."""


class EmbeddingInfo(BaseModel, frozen=True, extra="forbid"):
    """An index's record of its embedding model."""

    model: str
    """Its spec, without options that only say where it runs."""
    dimension: int = Field(ge=1)
    normalize: bool = Field(validation_alias=AliasChoices("normalize", "normalise"))  # its former key
    """True if vectors are scaled to length 1, so that their inner product is the cosine."""
    query_prefix: str = ""
    passage_prefix: str = ""
    probe: str
    """The vector of PROBE as a passage: little-endian float16 in base64."""


def to_vector(numbers: Any) -> Vector:
    """Convert numbers to a vector; those out of range become infinite, which `EmbeddingModel` rejects."""
    with np.errstate(over="ignore"):
        return np.asarray(numbers, dtype=np.float32)


@dataclass
class EmbeddingModel:
    """Embeds the passages of an index and its queries, and can be checked against the index's record."""

    spec: str
    encoder: Encoder
    normalize: bool
    query_prefix: str = ""
    passage_prefix: str = ""

    def passages(self, texts: Sequence[str]) -> Matrix:
        """Embed passages, one row per text, of shape (0, 0) for none; blocks. ModelError for unusable vectors."""
        items = [Text(text, self.passage_prefix, is_query=False) for text in texts]
        return run_in_background(self._encode(items))

    async def aquery(self, text: str) -> Vector:
        """Embed a query without blocking the event loop; concurrent queries share a batch."""
        return (await self._encode([Text(text, self.query_prefix, is_query=True)]))[0]

    @cached_property
    def info(self) -> EmbeddingInfo:
        """The model's record for an index; the first use embeds the probe, which blocks."""
        probe = self.passages([PROBE])[0]
        return EmbeddingInfo(
            model=self.spec,
            dimension=len(probe),
            normalize=self.normalize,
            query_prefix=self.query_prefix,
            passage_prefix=self.passage_prefix,
            probe=base64.b64encode(probe.astype("<f2").tobytes()).decode(),
        )

    def with_recorded_settings(self, info: EmbeddingInfo, *, keep_query_prefix: bool = False) -> "EmbeddingModel":
        """Return this model with the prefixes and the normalization of an index."""
        query_prefix = self.query_prefix if keep_query_prefix else info.query_prefix
        return replace(self, normalize=info.normalize, query_prefix=query_prefix, passage_prefix=info.passage_prefix)

    def check(self, info: EmbeddingInfo, place: str) -> None:
        """Raise CorpusError if another model made the index at `place`; embeds the probe, so it blocks."""
        mine = self.with_recorded_settings(info).passages([PROBE])[0]
        if len(mine) != info.dimension:
            raise CorpusError(
                f"{place}: its vectors have {info.dimension} dimensions, those of {self.spec!r} have {len(mine)}; "
                f"use the model that it was built with ({info.model!r})"
            )
        theirs = np.frombuffer(base64.b64decode(info.probe), "<f2").astype(np.float32)
        lengths = float(np.linalg.norm(mine)), float(np.linalg.norm(theirs))
        cosine = float(mine @ theirs) / max(lengths[0] * lengths[1], 1e-12)
        if cosine < _SAME_COSINE or abs(lengths[0] / max(lengths[1], 1e-12) - 1) > _SAME_LENGTH:
            raise CorpusError(
                f"{place}: not built with {self.spec!r} (a sample sentence's vectors have a cosine of {cosine:.3f}); "
                f"use the model that it was built with ({info.model!r}), or rebuild the index"
            )

    async def _encode(self, texts: Sequence[Text]) -> Matrix:
        vectors, count = await self.encoder(texts), len(texts)
        if count == 0:
            return np.empty((0, 0), dtype=np.float32)
        sizes = {vector.size if vector.ndim == 1 else 0 for vector in vectors}
        if len(vectors) != count or len(sizes) != 1 or 0 in sizes:
            raise ModelError(f"{self.spec}: returned {len(vectors)} vectors of sizes {sorted(sizes)} for {count} texts")
        matrix = np.stack(vectors).astype(np.float32)
        if not (np.abs(matrix) < _TOO_LARGE).all():
            raise ModelError(f"{self.spec}: returned a non-finite vector; try another precision (?dtype=fp32)")
        if self.normalize:
            matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
        return matrix
