"""The token vectors of a corpus: half-precision numbers on disk, mapped into memory, and MaxSim over them.

PyLate's own indexes contain a pickled mapping, which is never loaded here. These are plain arrays, two bytes
a number: exact, where PLAID compresses, and so some 25 GB for a million passages of 100 tokens.
"""

from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from hopgraph.state import CorpusError
from hopgraph.tools.io.guarded_files import open_inside
from hopgraph.tools.retrieval.index_manifest import COLBERT, damaged, map_array, parse_facts
from hopgraph.tools.retrieval.late_interaction_model import LateInteractionModel, Vectors

FACTS, _VECTORS, _ENDS = "facts.json", "vectors.f16", "ends.npy"
_TOKENS_AT_ONCE = 1 << 12
"""Tokens scored in one step, so that they and their products stay within the processor's cache."""
_SIGN_AND_REST = np.int32(-0x70002000)
"""The bits of a half-precision number, moved to where single precision has them: 0x8FFFE000."""
_EXPONENTS_APART = np.float32(2.0**112)


class LateInteractionFacts(BaseModel, frozen=True, extra="forbid"):
    """What token vectors were made from, and with which model."""

    kind: Literal["hopgraph-colbert"] = "hopgraph-colbert"
    format_version: Literal[1] = 1
    model: str
    """As it was named."""
    model_fingerprint: str
    dimension: int = Field(ge=1)
    passages: int = Field(ge=1)
    tokens: int = Field(ge=1)
    corpus_fingerprint: str
    """That of the index's passages."""


def uncounted_facts(model: LateInteractionModel, corpus_fingerprint: str) -> LateInteractionFacts:
    """Return the facts of a model's vectors, whose numbers `write_token_vectors` fills in."""
    return LateInteractionFacts(
        model=model.name,
        model_fingerprint=model.fingerprint,
        dimension=model.dimension,
        passages=1,
        tokens=1,
        corpus_fingerprint=corpus_fingerprint,
    )


def write_token_vectors(
    folder: Path, passages: Iterable[Vectors | NDArray[np.float16]], facts: LateInteractionFacts
) -> int:
    """Write each passage's vectors, at least one, as they come; return how many vectors there are.

    Memory grows by eight bytes for each passage.
    """
    ends, tokens = array("q"), 0
    with (folder / _VECTORS).open("wb") as file:
        for vectors in passages:
            vectors.astype(np.float16).tofile(file)
            tokens += len(vectors)
            ends.append(tokens)
    np.save(folder / _ENDS, np.frombuffer(ends, dtype=np.int64), allow_pickle=False)
    facts = facts.model_copy(update={"passages": len(ends), "tokens": tokens})
    (folder / FACTS).write_text(facts.model_dump_json(indent=2) + "\n", encoding="utf-8")
    return tokens


class TokenVectors:
    """What `write_token_vectors` wrote; any number of threads may search it."""

    def __init__(self, folder: Path, facts: LateInteractionFacts) -> None:
        """Map the files into memory; CorpusError where one is missing or does not fit the facts."""
        self._ends = map_array(folder / _ENDS, facts.passages)
        path, wanted = folder / _VECTORS, facts.tokens * facts.dimension * 2
        size = path.stat().st_size if path.is_file() else 0
        if size != wanted:
            raise damaged(folder, f"{_VECTORS} has {size} bytes instead of {wanted}")
        if self._ends[-1] != facts.tokens or self._ends[0] < 1:
            raise damaged(folder, f"{_ENDS} does not fit {FACTS}")
        mapped = np.memmap(path, dtype=np.float16, mode="r", shape=(facts.tokens, facts.dimension))
        self._vectors: NDArray[np.float16] = np.asarray(mapped)

    @property
    def tokens(self) -> int:
        """The number of vectors."""
        return len(self._vectors)

    def of_passage(self, row: int) -> NDArray[np.float16]:
        """Return a passage's vectors."""
        return self._vectors[self._ends[row - 1] if row else 0 : self._ends[row]]

    def score(self, query: Vectors, rows: NDArray[np.int64]) -> Vectors:
        """Score passages by MaxSim, in the order given; empty for none."""
        ends = self._ends[rows]
        lengths = ends - np.where(rows > 0, self._ends[rows - 1], 0)
        totals = np.cumsum(lengths)
        scores = np.empty(len(rows), dtype=np.float32)
        first = scored = 0
        while first < len(rows):
            # Whole passages: at least one, and as many as fit.
            last = max(first + 1, int(np.searchsorted(totals, scored + _TOKENS_AT_ONCE, side="right")))
            some = slice(first, last)
            if np.all(np.diff(rows[some]) == 1):  # one piece of the file, which need not be copied
                vectors = self._vectors[ends[first] - lengths[first] : ends[last - 1]]
            else:
                spans = zip(ends[some].tolist(), lengths[some].tolist(), strict=True)
                vectors = np.concatenate([self._vectors[end - length : end] for end, length in spans])
            scores[some] = _max_sim(query, vectors, totals[some] - lengths[some] - scored)
            first, scored = last, int(totals[last - 1])
        return scores


def _max_sim(query: Vectors, vectors: NDArray[np.float16], starts: NDArray[np.int64]) -> Vectors:
    """Sum over the query's tokens the best product with each passage's; passages begin at `starts`."""
    products = _widened(vectors) @ query.T
    return np.maximum.reduceat(products, starts, axis=0).sum(axis=1)


def _widened(vectors: NDArray[np.float16]) -> Vectors:
    """Turn finite half-precision numbers into single precision, exactly; several times as fast as `astype`."""
    bits = vectors.view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= _SIGN_AND_REST
    wide = bits.view(np.float32)
    wide *= _EXPONENTS_APART
    return wide


def read_late_interaction_facts(folder: Path) -> LateInteractionFacts:
    """Read what the vectors in an index were made from; CorpusError where there are none."""
    path = folder / COLBERT / FACTS
    try:
        with open_inside(folder, f"{COLBERT}/{FACTS}") as file:
            return parse_facts(LateInteractionFacts, file.read(), str(path))
    except FileNotFoundError:
        raise CorpusError(
            f"{folder}: it has no vectors for colbert; build it with `hopgraph index SOURCE --out DIR --colbert MODEL`"
        ) from None
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror or error}") from None
