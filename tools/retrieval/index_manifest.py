"""The manifest of an index: what it was made from and how, checked whenever it is opened."""

import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from hopgraph.state import CorpusError, SettingsError, SpecError
from hopgraph.tools.retrieval.embeddings import EmbeddingFacts
from hopgraph.tools.text import Analyser, get_analyser

MANIFEST = "manifest.json"
COLBERT = "colbert"
"""The folder of the token vectors, which are added to a complete index."""
KIND = "hopgraph-index"
FORMAT_VERSION = 1
"""Grows whenever an older hopgraph could not read, or would misread, a new index."""
_LIBRARIES = ("hopgraph", "bm25s", "numpy", "PyStemmer")


class CorpusFacts(BaseModel):
    """What an index was made from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    """The file or folder, by name."""
    format: str
    passages: int = Field(ge=1)
    skipped: int = Field(ge=0)
    """Bad records that were passed over."""
    fingerprint: str
    """SHA-256 over the passages as they are stored, in order."""


class Bm25Facts(BaseModel):
    """How passages are scored."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: Literal["lucene"] = "lucene"
    k1: float = 0.9
    b: float = 0.4
    fields: tuple[str, ...] = ("title", "text")
    """What of a passage is searched, joined by spaces."""
    terms: int = Field(ge=1)


class DenseFacts(BaseModel):
    """How passages are found by their vectors."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["flat", "hnsw", "ivfpq"]
    """Of FAISS index."""
    embedding: EmbeddingFacts


class Manifest(BaseModel):
    """Everything that a reader of an index must know."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["hopgraph-index"] = KIND
    format_version: Literal[1] = FORMAT_VERSION
    corpus: CorpusFacts
    analyser: dict[str, JsonValue]
    bm25: Bm25Facts
    dense: DenseFacts | None = None
    """None: an index without vectors."""
    libraries: dict[str, str]
    """The versions that made it, for people."""
    files: dict[str, int]
    """Bytes of each file of the index, so that a damaged one is noticed when it is opened."""


def library_versions() -> dict[str, str]:
    """Return the versions of what an index depends on."""
    return {name: version(name) for name in _LIBRARIES}


def write_manifest(
    folder: Path, corpus: CorpusFacts, bm25: Bm25Facts, analyser: Analyser, dense: DenseFacts | None = None
) -> None:
    """Write the manifest of an index whose other files are complete.

    Raises:
        OSError: the file cannot be written.
    """
    manifest = Manifest(
        corpus=corpus,
        analyser=analyser.describe(),
        bm25=bm25,
        dense=dense,
        libraries=library_versions(),
        files={name: (folder / name).stat().st_size for name in file_names(folder)},
    )
    text = manifest.model_dump_json(indent=2, exclude=None if dense else {"dense"})
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")


def file_names(folder: Path) -> list[str]:
    """List the files of an index but its manifest, as paths within it, sorted."""
    files = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in files if name != MANIFEST)


def is_index(folder: Path) -> bool:
    """Whether a folder has the manifest of an index, of any version."""
    try:
        return _parse(folder).get("kind") == KIND
    except (OSError, ValueError, RecursionError):
        return False


def read_manifest(folder: Path) -> Manifest:
    """Read and check the manifest of an index.

    Raises:
        CorpusError: no index, a corrupt manifest, another format version, or a file of the index that is
            missing or of another size than when it was built.
    """
    content = _content(folder)
    found = content.get("format_version")
    if found != FORMAT_VERSION:
        raise CorpusError(
            f"{folder}: an index of format version {found!r}, this hopgraph reads version {FORMAT_VERSION}; "
            "build it again with `hopgraph index`"
        )
    try:
        manifest = Manifest.model_validate_json(json.dumps(content))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise _corrupt(folder, f"{place}: {first['msg']}") from None
    _check_files(folder, manifest)
    return manifest


def _content(folder: Path) -> dict[str, JsonValue]:
    try:
        content = _parse(folder)
    except FileNotFoundError:
        what = "not an index: it has no manifest.json" if folder.exists() else "no such index"
        raise CorpusError(f"{folder}: {what}; build one with `hopgraph index SOURCE --out {folder}`") from None
    except NotADirectoryError:
        raise CorpusError(f"{folder} is a file; an index is a folder made by `hopgraph index`") from None
    except OSError as error:
        raise CorpusError(f"{folder / MANIFEST}: cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise _corrupt(folder, str(error)) from None
    if content.get("kind") != KIND:
        raise _corrupt(folder, f"its kind is not {KIND!r}")
    return content


def _parse(folder: Path) -> dict[str, JsonValue]:
    content: JsonValue = json.loads((folder / MANIFEST).read_bytes())
    if not isinstance(content, dict):
        raise ValueError("not an object")
    return content


def _corrupt(folder: Path, reason: str) -> CorpusError:
    return CorpusError(f"{folder / MANIFEST} is corrupt: {reason}; build the index again with `hopgraph index`")


def load_analyser(
    place: Path | str, recorded: Mapping[str, JsonValue], remedy: str = "build it again with `hopgraph index`"
) -> Analyser:
    """Return the analyser that an index or a collection was built with, for its queries.

    Args:
        place: where the corpus is, for messages.
        recorded: `Analyser.describe` as it was stored.
        remedy: what to do about another version.

    Raises:
        CorpusError: this hopgraph has no such analyser, or another version of it, or lacks its package.
    """
    try:
        analyser = get_analyser(str(recorded.get("language")))
        ours = analyser.describe()
    except SettingsError as error:
        hint = "" if isinstance(error, SpecError) else f"; {remedy}"
        raise CorpusError(f"{place}: its analyser cannot be loaded: {error}{hint}") from None
    names = sorted(name for name in ours.keys() | recorded.keys() if ours.get(name) != recorded.get(name))
    if names:
        raise CorpusError(
            f"{place}: built with another version of the analyser ({', '.join(names)}), which would miss "
            f"passages; {remedy}"
        )
    return analyser


def _check_files(folder: Path, manifest: Manifest) -> None:
    for name, size in manifest.files.items():
        path = folder / name
        found = path.stat().st_size if path.is_file() else None
        if found != size:
            what = "is missing" if found is None else f"has {found} bytes instead of {size}"
            raise CorpusError(f"{path} {what}; build the index again with `hopgraph index`")
