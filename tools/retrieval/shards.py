"""The vectors of a corpus on their way into an index: files beside it, which a build that was killed leaves behind.

Embedding is by far the longest part of a build, so its result is stored in `.NAME.vectors-MODEL` beside the
index: one file for every SHARD passages, named by what it was made from and moved into place in one step. The
next build takes what fits and embeds the rest. A complete build removes them.
"""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from glob import escape
from hashlib import sha256
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from hopgraph.state import CorpusError
from hopgraph.tools.io.guarded_files import open_inside, read_source, refuse_links
from hopgraph.tools.retrieval.embeddings import EmbeddingFacts, EmbeddingModel
from hopgraph.tools.retrieval.embeddings.embedding_model import Matrix
from hopgraph.tools.retrieval.index import searchable_text
from hopgraph.tools.retrieval.passage_store import PassageStore

SHARD = 4096
"""Passages per file: what a killed build loses at most."""
_STEP = 256
"""Passages between progress reports."""
_FACTS = "model.json"


@dataclass(frozen=True)
class Shards:
    """Vectors of some passages, in order."""

    paths: list[Path]
    count: int
    reused: int
    """How many of them an earlier build had embedded."""
    facts: EmbeddingFacts

    def take(self, first: int, count: int) -> Matrix:
        """Return `count` of them, from the `first` on."""
        parts = [np.empty((0, self.facts.dimension), dtype=np.float32)]
        for number in range(first // SHARD, -(-(first + count) // SHARD)):
            start = number * SHARD
            vectors = np.load(self.paths[number], mmap_mode="r", allow_pickle=False)
            parts.append(vectors[max(0, first - start) : first + count - start])
        return np.concatenate(parts)

    def sample(self, most: int) -> Matrix:
        """Return at most so many of them, evenly spread over the corpus."""
        rows = np.unique(np.linspace(0, self.count - 1, min(most, self.count)).astype(np.int64))
        parts: list[Matrix] = []
        for number, path in enumerate(self.paths):
            inside = rows[(rows >= number * SHARD) & (rows < (number + 1) * SHARD)] - number * SHARD
            parts.append(np.load(path, mmap_mode="r", allow_pickle=False)[inside])
        return np.concatenate(parts)


def embed_passages(
    goal: Path, model: EmbeddingModel, passages: PassageStore, rows: Sequence[int], progress: Callable[[int, int], None]
) -> Shards:
    """Embed the passages of some rows, except those that a killed build of the same index embedded with the same model.

    The builder of the index `goal` holds its lock. `progress` is called with how many are embedded, and of how many;
    first with how many are taken over, unless it is all of them.
    """
    folder, facts = _begin(goal, model)
    total = len(rows)
    paths: list[Path] = []
    done = reused = 0
    for start in range(0, total, SHARD):
        texts = [searchable_text(passages[row]) for row in rows[start : start + SHARD]]
        path = folder / f"{sha256(chr(0).join(texts).encode()).hexdigest()}.npy"
        if _fits(path, len(texts), facts.dimension):
            reused += len(texts)
        else:
            parts: list[Matrix] = []
            for step in range(0, len(texts), _STEP):
                progress(done + step, total)
                parts.append(model.passages(texts[step : step + _STEP]))
            unfinished = path.with_suffix(".unfinished.npy")
            with open_inside(folder, unfinished.name, "wb") as file:
                np.save(file, np.concatenate(parts), allow_pickle=False)
            unfinished.replace(path)
        done += len(texts)
        paths.append(path)
    progress(total, total)
    return Shards(paths, total, reused, facts)


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


def _fits(path: Path, count: int, dimension: int) -> bool:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False).shape == (count, dimension)
    except (OSError, ValueError):  # not there, or damaged
        return False


def remove_shards(goal: Path) -> None:
    """Remove the vectors beside an index, once it is complete."""
    for folder in find_shards(goal):
        shutil.rmtree(folder, ignore_errors=True)


def find_shards(goal: Path) -> list[Path]:
    """List the folders with vectors that builds of this index have left behind."""
    return [path for path in goal.parent.glob(f"{escape(_prefix(goal))}*") if path.is_dir()]


def _prefix(goal: Path) -> str:
    return f".{goal.name}.vectors-"
