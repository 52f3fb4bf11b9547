"""Training questions labelled by whether retrieval helps to answer them (SKR), and those nearest to a question.

    {"model": "openai:NAME", "corpus": "SHA-256 of the passages, or empty"}
    {"question": "…", "label": "helps"}

The first line says what the labels were made with; `hopgraph build skr_knn` writes the file.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import BaseModel, ValidationError

from hopgraph.state import SettingsError
from hopgraph.state.errors import describe_problem
from hopgraph.tools.text.comparison import lexical_similarity

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEXICAL = "lexical"
"""The setting for similarity by shared words, in place of an embedding model."""


class LabelOrigin(BaseModel, frozen=True, extra="forbid"):
    """What the labels of a file were made with; empty where that is not known, and then not checked."""

    model: str = ""
    """Its spec, without keys."""
    corpus: str = ""
    """The fingerprint of the corpus."""


class LabeledQuestion(BaseModel, frozen=True, extra="forbid"):
    """A training question that was answered right in one way alone."""

    question: str
    label: Literal["helps", "harms"]
    """Of retrieval: it was needed for the right answer, or the answer was right only without it."""


class LabelFile(NamedTuple):
    """The labels of one model on one corpus."""

    origin: LabelOrigin
    questions: tuple[LabeledQuestion, ...]
    """Never empty."""

    def check(self, model: str, corpus: str, path: str) -> None:
        """Refuse labels that were made with another model or corpus than a run has: they say nothing about it."""
        for what, had, has in (("model", self.origin.model, model), ("corpus", self.origin.corpus, corpus)):
            if had and has and had != has:
                raise SettingsError(
                    f"labels {path}: they were made with the {what} {had}, and this run has {has}; make its own with "
                    "`hopgraph build skr_knn`"
                )


class Neighbour(NamedTuple):
    """A labelled question near the one that is asked."""

    labeled: LabeledQuestion
    similarity: float
    """The cosine, of vectors or of counts of words."""


def read_labels(path: str) -> LabelFile:
    """Read a file of labels; again only where it has changed.

    Raises:
        SettingsError: it cannot be read, has no question, or a line of it does not fit, by file and line.
    """
    try:
        return _parsed(path, Path(path).expanduser().stat().st_mtime_ns)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise SettingsError(f"labels {path}: cannot be read: {reason}") from None


@lru_cache(maxsize=8)
def _parsed(path: str, _modified: int) -> LabelFile:
    first, *lines = Path(path).expanduser().read_text(encoding="utf-8-sig").splitlines() or [""]
    kinds: list[type[BaseModel]] = [LabelOrigin, *([LabeledQuestion] * len(lines))]
    found: list[Any] = []
    for number, (kind, line) in enumerate(zip(kinds, (first, *lines), strict=True), 1):
        try:
            found.append(kind.model_validate_json(line))
        except ValidationError as error:
            raise SettingsError(f"labels {path}:{number}: {describe_problem(error)}") from None
    if not lines:
        raise SettingsError(f"labels {path}: no question is labelled; make it again with `hopgraph build skr_knn`")
    return LabelFile(found[0], tuple(found[1:]))


def find_nearest(question: str, path: str, count: int, embedding: str = LEXICAL) -> list[Neighbour]:
    """Find the labelled questions that are nearest to a question, the nearest first, of equals the first in the file.

    Fewer than `count` where the file has no more. Blocks: it may load a model. Raises what `read_labels` does;
    SpecError: the embedding model cannot be loaded.
    """
    labeled = read_labels(path).questions
    texts = [each.question for each in labeled]
    measure: Callable[[str, Sequence[str]], Sequence[float]]
    measure = _shared_words if embedding == LEXICAL else lambda asked, of: _cosines(asked, of, embedding)
    found = [Neighbour(each, float(near)) for each, near in zip(labeled, measure(question, texts), strict=True)]
    return sorted(found, key=lambda each: -each.similarity)[:count]


def _shared_words(question: str, texts: Sequence[str]) -> list[float]:
    return [lexical_similarity(question, each) for each in texts]


def _cosines(question: str, texts: Sequence[str], embedding: str) -> list[float]:
    return (_unit_vectors(tuple(texts), embedding) @ _unit_vectors((question,), embedding)[0]).tolist()


@lru_cache(maxsize=64)
def _unit_vectors(texts: tuple[str, ...], embedding: str) -> "NDArray[Any]":
    import numpy as np  # here, as it comes with the first retriever

    from hopgraph.tools.retrieval.embeddings import resolve_embeddings

    vectors = resolve_embeddings(embedding).passages(texts)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
