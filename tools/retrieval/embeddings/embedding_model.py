"""An embedding model: texts to vectors, with the prefixes and the scaling that it was trained for."""

import base64
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from hopgraph.state import CorpusError, ModelError
from hopgraph.tools.io.background import run_in_background


class Prefixes(NamedTuple):
    """The texts that a model was trained to see before a query and before a passage; empty for none."""

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
"""From the models' cards, first match. All others (GTE, all-MiniLM, Contriever, …) have none."""


def prefixes_by_name(name: str) -> Prefixes:
    """Look a model up by the last part of its name or path, e.g. `intfloat/e5-base-v2` or `models/bge-small-en`."""
    last = name.rstrip("/\\").replace("\\", "/").rpartition("/")[2].lower()
    return next((prefixes for pattern, prefixes in _BY_NAME if pattern.search(last)), Prefixes())


Vector = NDArray[np.float32]
"""One vector of shape (dimension,)."""
Matrix = NDArray[np.float32]
"""Vectors of shape (texts, dimension)."""

PROBE = "In 1886 the Statue of Liberty, a gift of the people of France, was dedicated in New York Harbor."
"""Embedded when an index is built and when it is opened: its vector identifies the model."""
_SAME_COSINE = 0.995
"""Cosine of two probes above which they count as one model's. bf16 and fp16 stay above 0.999 of fp32."""
_SAME_LENGTH = 0.02  # relative difference of two probes' lengths up to which they count as one model's
_TOO_LARGE = 1e15  # what no number of a vector reaches; squares of more overflow


class Text(NamedTuple):
    """A text to embed."""

    text: str
    prefix: str
    is_query: bool


Encoder = Callable[[Sequence[Text]], Awaitable[Sequence[Vector]]]
"""Returns one vector per text, in order; awaited on any event loop."""


class EmbeddingInfo(BaseModel, frozen=True, extra="forbid"):
    """An index's record of the model that made its vectors."""

    model: str
    """Its spec, without the options that only say where it runs."""
    dimension: int = Field(ge=1)
    normalise: bool
    """True if vectors are scaled to length 1, so that their inner product is the cosine."""
    query_prefix: str = ""
    passage_prefix: str = ""
    probe: str
    """The vector of PROBE as a passage: little-endian float16 in base64."""


def to_vector(numbers: Any) -> Vector:
    """Make a vector; a number that it cannot hold becomes infinite, which `EmbeddingModel` refuses."""
    with np.errstate(over="ignore"):
        return np.asarray(numbers, dtype=np.float32)


@dataclass
class EmbeddingModel:
    """Makes the vectors of an index and of its queries, and can be compared with the index's record."""

    spec: str
    encoder: Encoder
    normalise: bool
    query_prefix: str = ""
    passage_prefix: str = ""

    def passages(self, texts: Sequence[str]) -> Matrix:
        """Embed passages, one row per text, (0, 0) for none; ModelError for unusable vectors. Belongs in a thread."""
        items = [Text(text, self.passage_prefix, is_query=False) for text in texts]
        return run_in_background(self._encode(items))

    async def aquery(self, text: str) -> Vector:
        """Embed a query without blocking the event loop; concurrent ones go in one batch."""
        return (await self._encode([Text(text, self.query_prefix, is_query=True)]))[0]

    @cached_property
    def facts(self) -> EmbeddingInfo:
        """The description of the model; embeds the probe the first time, so it belongs in a thread."""
        probe = self.passages([PROBE])[0]
        return EmbeddingInfo(
            model=self.spec,
            dimension=len(probe),
            normalise=self.normalise,
            query_prefix=self.query_prefix,
            passage_prefix=self.passage_prefix,
            probe=base64.b64encode(probe.astype("<f2").tobytes()).decode(),
        )

    def with_recorded_settings(self, facts: EmbeddingInfo, *, keep_query_prefix: bool = False) -> "EmbeddingModel":
        """Return this model with the prefixes and the scaling that an index was built with."""
        query_prefix = self.query_prefix if keep_query_prefix else facts.query_prefix
        return replace(self, normalise=facts.normalise, query_prefix=query_prefix, passage_prefix=facts.passage_prefix)

    def check(self, facts: EmbeddingInfo, place: str) -> None:
        """Refuse the index at `place` (CorpusError) if another model made it; embeds, so it belongs in a thread."""
        mine = self.with_recorded_settings(facts).passages([PROBE])[0]
        if len(mine) != facts.dimension:
            raise CorpusError(
                f"{place}: its vectors have {facts.dimension} numbers, those of {self.spec!r} have {len(mine)}; "
                f"use the model that it was built with ({facts.model!r})"
            )
        theirs = np.frombuffer(base64.b64decode(facts.probe), "<f2").astype(np.float32)
        lengths = float(np.linalg.norm(mine)), float(np.linalg.norm(theirs))
        cosine = float(mine @ theirs) / max(lengths[0] * lengths[1], 1e-12)
        if cosine < _SAME_COSINE or abs(lengths[0] / max(lengths[1], 1e-12) - 1) > _SAME_LENGTH:
            raise CorpusError(
                f"{place}: built with another model than {self.spec!r} (a sample sentence's vectors have a cosine of "
                f"{cosine:.3f}); use the one that it was built with ({facts.model!r}), or build the index again"
            )

    async def _encode(self, texts: Sequence[Text]) -> Matrix:
        vectors, count = await self.encoder(texts), len(texts)
        if count == 0:
            return np.empty((0, 0), dtype=np.float32)
        widths = {vector.size if vector.ndim == 1 else 0 for vector in vectors}
        if len(vectors) != count or len(widths) != 1 or 0 in widths:
            raise ModelError(f"{self.spec}: gave {len(vectors)} vectors of {sorted(widths)} numbers for {count} texts")
        matrix = np.stack(vectors).astype(np.float32)
        if not (np.abs(matrix) < _TOO_LARGE).all():
            raise ModelError(f"{self.spec}: gave a vector that is not finite; try another precision (?dtype=fp32)")
        if self.normalise:
            matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
        return matrix
