"""The vectors of a corpus on their way into an index: a file beside it, which a build that was killed leaves behind.

Embedding is by far the longest part of a build, so its result is stored in `.NAME.vectors-MODEL` beside the
index as it comes, in a file named by the passages that it is made from. The next build of the same passages takes what
is there and embeds the rest. A complete build removes it.
"""

import shutil
from collections.abc import Callable
from glob import escape
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from hopgraph.state import CorpusError
from hopgraph.tools.io.guarded_files import open_inside, read_source, refuse_links
from hopgraph.tools.retrieval.embeddings import EmbeddingFacts, EmbeddingModel
from hopgraph.tools.retrieval.embeddings.embedding_model import Matrix
from hopgraph.tools.retrieval.index import searchable_text
from hopgraph.tools.retrieval.passage_store import PassageStore

STEP = 256
"""Passages that are embedded at once: what a killed build loses at most."""
_FACTS = "model.json"


def embed_passages(
    goal: Path,
    model: EmbeddingModel,
    passages: PassageStore,
    rows: NDArray[np.int64],
    fingerprint: str,
    progress: Callable[[int, int], None],
) -> tuple[Matrix, int, EmbeddingFacts]:
    """Embed the passages of some rows, except those that a killed build embedded of the same ones with the same model.

    The builder of the index `goal` holds its lock. `fingerprint` is that of all passages. `progress` is called with how
    many are embedded, and of how many; first with how many are taken over, unless it is all of them.

    Returns:
        The vectors, mapped into memory; how many of them were there already; and the facts of the model.
    """
    folder, facts = _begin(goal, model)
    total = len(rows)
    name = f"{sha256(fingerprint.encode() + rows.tobytes()).hexdigest()}.f32"
    with open_inside(folder, name, "ab") as file:
        reused = min(file.tell() // (4 * facts.dimension), total)
        file.truncate(reused * 4 * facts.dimension)
        for start in range(reused, total, STEP):
            progress(start, total)
            texts = [searchable_text(passages[row]) for row in rows[start : start + STEP].tolist()]
            file.write(model.passages(texts).tobytes())
            file.flush()
    progress(total, total)
    if not total:  # nothing that could be mapped
        return np.empty((0, facts.dimension), dtype=np.float32), 0, facts
    return np.memmap(folder / name, dtype=np.float32, mode="r", shape=(total, facts.dimension)), reused, facts


def _begin(goal: Path, model: EmbeddingModel) -> tuple[Path, EmbeddingFacts]:
    """Make the folder, or reuse that of a killed build if the model is still the same."""
    mine = model.facts
    key = sha256(mine.model_dump_json(exclude={"probe"}).encode()).hexdigest()[:12]
    folder = goal.parent / f"{_prefix(goal)}{key}"
    try:
        refuse_links(folder)
        kept = EmbeddingFacts.model_validate_json(read_source(folder / _FACTS))
        model.check(kept, str(folder))
    except (FileNotFoundError, ValidationError, CorpusError):  # none, a partial one, or other weights under this name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / _FACTS).write_text(mine.model_dump_json() + "\n", encoding="utf-8")
        return folder, mine
    return folder, kept


def remove_kept_vectors(goal: Path) -> None:
    """Remove the vectors beside an index, once it is complete."""
    for folder in find_kept_vectors(goal):
        shutil.rmtree(folder, ignore_errors=True)


def find_kept_vectors(goal: Path) -> list[Path]:
    """List the folders with vectors that builds of this index have left behind."""
    return [path for path in goal.parent.glob(f"{escape(_prefix(goal))}*") if path.is_dir()]


def _prefix(goal: Path) -> str:
    return f".{goal.name}.vectors-"
