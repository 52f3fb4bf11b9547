"""Training questions labelled by whether retrieval helps to answer them (SKR), one JSON object on each line.

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
    """Of retrieval: the right answer needed it, or was given only without it, or it made no difference."""
    model: str = ""
    """The spec, without keys, of the model that answered; empty: it is not checked."""
    corpus: str = ""
    """The fingerprint of the passages; empty: it is not checked."""


def read_labels(path: str) -> list[LabeledQuestion]:
    """Read a file of labels, in its order; SettingsError, with the line, where one does not fit, or none decides."""
    found: list[LabeledQuestion] = []
    try:
        for line in Path(path).expanduser().read_text(encoding="utf-8-sig").splitlines():
            found.append(LabeledQuestion.model_validate_json(line))  # noqa: PERF401 - their number names the line
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
    """Find the labelled questions that are nearest to a question, the nearest first, of equals the first of them.

    `embedding` is `lexical` (shared words) or an embedding model's spec. Fewer than `count` where there are no more.
    Blocks: it may load a model. SpecError: the model cannot be loaded.
    """
    texts = tuple(each.question for each in labeled)
    if embedding == "lexical":
        near = [lexical_similarity(question, each) for each in texts]
    else:
        near = (_unit_vectors(texts, embedding) @ _unit_vectors((question,), embedding)[0]).tolist()
    return [labeled[place] for place in sorted(range(len(near)), key=lambda place: -near[place])[:count]]


@lru_cache(maxsize=64)
def _unit_vectors(texts: tuple[str, ...], embedding: str) -> "NDArray[Any]":
    import numpy as np  # here, as it comes with the first retriever

    from hopgraph.tools.retrieval.embeddings.resolve import resolve_embeddings

    vectors = resolve_embeddings(embedding).passages(texts)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
