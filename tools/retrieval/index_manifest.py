"""The manifest of an index: what it was built from and how; checked whenever the index is opened."""

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from tokenize import TokenError
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import AliasChoices, BaseModel, Field, JsonValue, ValidationError

from hopgraph.state import CorpusError, SettingsError, SpecError
from hopgraph.state.errors import format_error
from hopgraph.tools.io.guarded_files import read_source
from hopgraph.tools.retrieval.embeddings.embedding_model import EmbeddingInfo
from hopgraph.tools.retrieval.index_folder import INDEX_MANIFEST, is_index
from hopgraph.tools.retrieval.staging import recover_stages
from hopgraph.tools.text import Analyzer, get_analyzer

COLBERT = "colbert"
"""Folder of the token vectors, which are added to a complete index."""
REBUILD = "rebuild the index with `hopgraph index --replace`"
DAMAGE = (OSError, ValueError, TypeError, AttributeError, LookupError, EOFError, SyntaxError, TokenError)
"""Exceptions that libraries raise for a damaged file."""
_LIBRARIES = ("hopgraph", "bm25s", "numpy", "PyStemmer")

InfoT = TypeVar("InfoT", bound=BaseModel)


class CorpusInfo(BaseModel, frozen=True, extra="forbid"):
    """The source of an index."""

    source: str
    """Name of the file or folder."""
    format: str
    passages: int = Field(ge=1)
    skipped: int = Field(ge=0)
    fingerprint: str
    """SHA-256 over the stored passages, in order; for a corpus in an engine, over its files' hashes."""


K1, B = 0.9, 0.4
"""The parameters of BM25."""


class Bm25Info(BaseModel, frozen=True, extra="forbid"):
    """How passages are scored."""

    method: Literal["lucene"] = "lucene"
    k1: float = K1
    b: float = B
    fields: tuple[str, ...] = ("title", "text")
    """Fields of a passage that are searched, joined by spaces."""
    terms: int = Field(ge=1)


class DenseInfo(BaseModel, frozen=True, extra="forbid"):
    """How passages are found by vectors."""

    kind: Literal["flat", "hnsw", "ivfpq"]
    embedding: EmbeddingInfo


class Manifest(BaseModel, frozen=True, extra="forbid"):
    """Everything needed to read an index."""

    kind: Literal["hopgraph-index"]
    format_version: Literal[1]
    """Increased whenever an older hopgraph could not read, or would misread, a new index."""
    corpus: CorpusInfo
    analyzer: dict[str, JsonValue] = Field(validation_alias=AliasChoices("analyzer", "analyser"))  # its former key
    bm25: Bm25Info
    dense: DenseInfo | None = None
    libraries: dict[str, str]
    """The versions that built it, for information."""
    files: dict[str, int]
    """Size in bytes of each file of the index, to detect damage when it is opened."""


def write_manifest(folder: Path, corpus: CorpusInfo, terms: int, analyzer: Analyzer, dense: DenseInfo | None) -> None:
    """Write the manifest of an index whose other files are complete."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / INDEX_MANIFEST)
    manifest = Manifest(
        kind="hopgraph-index",
        format_version=1,
        corpus=corpus,
        analyzer=analyzer.describe(),
        bm25=Bm25Info(terms=terms),
        dense=dense,
        libraries={name: version(name) for name in _LIBRARIES},
        files={path.relative_to(folder).as_posix(): path.stat().st_size for path in files},
    )
    text = manifest.model_dump_json(indent=2, exclude=None if dense else {"dense"})
    (folder / INDEX_MANIFEST).write_text(text + "\n", encoding="utf-8")


def corpus_fingerprint(retriever: str) -> str:
    """Return the fingerprint of the passages that a retriever's spec searches; empty if unknown."""
    kind, _, place = retriever.partition(":")
    folder = Path(place.partition("?")[0]).expanduser()
    return read_manifest(folder).corpus.fingerprint if kind in {"bm25", "faiss", "hybrid"} and is_index(folder) else ""


def read_manifest(folder: Path) -> Manifest:
    """Read and check the manifest of an index.

    CorpusError if there is none, it is damaged or of another format version, or a file is missing or has another size.
    """
    path = folder / INDEX_MANIFEST
    try:
        if not folder.exists():
            recover_stages(folder.absolute())
        manifest = read_info(Manifest, folder, INDEX_MANIFEST)
    except FileNotFoundError:
        if not folder.exists():
            raise CorpusError(f"{folder}: no such index; `hopgraph index SOURCE --out {folder}` builds one") from None
        advice = f"if it has documents, `hopgraph index {folder} --out {folder}_index` builds one"
        raise CorpusError(f"{folder}: not an index: it has no manifest.json; {advice}") from None
    except NotADirectoryError:
        raise CorpusError(f"{folder} is a file; an index is a folder made by `hopgraph index`") from None
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror or error}") from None
    for name, size in manifest.files.items():
        file = folder / name
        found = file.stat().st_size if file.is_file() else None
        if found != size:
            raise damaged(file, "it is missing" if found is None else f"it has {found} bytes instead of {size}")
    return manifest


def read_info(kind: type[InfoT], folder: Path, name: str) -> InfoT:
    """Read and parse a JSON file of an index, as `parse_info` does; OSError if it cannot be read."""
    return parse_info(kind, read_source(folder / name), str(folder / name))


def parse_info(kind: type[InfoT], content: bytes | str, place: str, remedy: str = REBUILD) -> InfoT:
    """Parse the info stored with a corpus at `place`; CorpusError if it is damaged or of another version."""
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        reason = format_error(error, whole="content", got=True)
        raise CorpusError(f"{place}: damaged, or of another version of hopgraph ({reason}); {remedy}") from None


def damaged(place: Path | str, reason: object) -> CorpusError:
    """Return the error for an index, or a file of one, that cannot be used."""
    return CorpusError(f"{place}: damaged ({' '.join(str(reason).split())}); {REBUILD}")


def map_array(path: Path, length: int | None = None) -> NDArray[Any]:
    """Map a one-dimensional array into memory; CorpusError if it is missing, damaged or of another length."""
    try:
        array = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
        if array.ndim != 1 or length not in (None, len(array)):
            raise ValueError(f"it has the shape {array.shape}")
        return array
    except DAMAGE as error:
        raise damaged(path, error) from None


def load_analyzer(place: Path | str, recorded: Mapping[str, JsonValue], remedy: str = REBUILD) -> Analyzer:
    """Return the analyzer that a corpus was built with, for its queries; `place` and `remedy` are for messages.

    CorpusError if this hopgraph does not have it, has another version of it, or lacks its package.
    """
    try:
        analyzer = get_analyzer(str(recorded.get("language")))
        ours = analyzer.describe()
    except SettingsError as error:
        hint = "" if isinstance(error, SpecError) else f"; {remedy}"
        raise CorpusError(f"{place}: its analyzer cannot be loaded: {error}{hint}") from None
    names = sorted(name for name in ours.keys() | recorded.keys() if ours.get(name) != recorded.get(name))
    if names:
        what = f"built with another version of the analyzer ({', '.join(names)}), which would miss passages"
        raise CorpusError(f"{place}: {what}; {remedy}")
    return analyzer
