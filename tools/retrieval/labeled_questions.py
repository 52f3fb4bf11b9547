"""Training questions labeled by whether retrieval helps to answer them (SKR), as JSON lines.

    {"question": "…", "label": "helps", "model": "openai:NAME", "corpus": "SHA-256 of the passages"}

`hopgraph build skr_knn` writes them.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ValidationError

from hopgraph.state import SettingsError
from hopgraph.state.baselines import MAKE_LABELS
from hopgraph.state.errors import format_error
from hopgraph.tools.text.comparison import lexical_similarity

if TYPE_CHECKING:
    from numpy.typing import NDArray


class LabeledQuestion(BaseModel, frozen=True, extra="forbid"):
    """A training question that was answered with and without passages."""

    question: str
    label: Literal["helps", "harms", "same"]
    """Whether retrieval led to the right answer, prevented it, or made no difference."""
    model: str = ""
    """The spec, without keys, of the model that answered; empty to skip the check."""
    corpus: str = ""
    """The fingerprint of the passages; empty to skip the check."""


def read_labels(path: str) -> list[LabeledQuestion]:
    """Read a file of labels; SettingsError, with the line, if one is invalid or all of them are `same`."""
    found: list[LabeledQuestion] = []
    try:
        for line in Path(path).expanduser().read_text(encoding="utf-8-sig").splitlines():
            found.append(LabeledQuestion.model_validate_json(line))  # noqa: PERF401 - their number gives the line
    except ValidationError as error:
        raise SettingsError(f"labels {path}:{len(found) + 1}: {format_error(error)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"labels {path}: cannot be read: {getattr(error, 'strerror', 'not UTF-8')}") from None
    if all(each.label == "same" for each in found):
        raise SettingsError(f"labels {path}: no question says that retrieval helps or harms; {MAKE_LABELS}")
    return found


def find_nearest(
    question: str, labeled: Sequence[LabeledQuestion], count: int, embedding: str
) -> list[LabeledQuestion]:
    """Return the labeled questions most similar to a question, best first, ties in file order.

    `embedding` is `lexical` (shared words) or an embedding model's spec. Blocks, since it may load a model; SpecError
    if the model cannot be loaded.
    """
    texts = tuple(each.question for each in labeled)
    if embedding == "lexical":
        similarities = [lexical_similarity(question, each) for each in texts]
    else:
        similarities = (_unit_vectors(texts, embedding) @ _unit_vectors((question,), embedding)[0]).tolist()
    order = sorted(range(len(labeled)), key=lambda index: -similarities[index])
    return [labeled[index] for index in order[:count]]


@lru_cache(maxsize=64)
def _unit_vectors(texts: tuple[str, ...], embedding: str) -> "NDArray[Any]":
    import numpy as np

    from hopgraph.tools.retrieval.embeddings.resolve import resolve_embeddings

    vectors = resolve_embeddings(embedding).passages(texts)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
