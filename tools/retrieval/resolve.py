"""Resolve a retriever's spec to the retriever."""

import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from threading import Lock

from langchain_core.retrievers import BaseRetriever

from hopgraph.state import SettingsError, SpecError
from hopgraph.tools.retrieval.corpora import CorpusReading, open_corpus
from hopgraph.tools.retrieval.engines.engine import VALID_ENGINE_SPECS, is_engine
from hopgraph.tools.retrieval.index import index_in_memory, open_index
from hopgraph.tools.retrieval.index_folder import INDEX_KINDS, BuildId, build_id, open_one_build
from hopgraph.tools.retrieval.index_manifest import COLBERT
from hopgraph.tools.retrieval.linked_index import LinkedIndex, with_links
from hopgraph.tools.retrieval.links import find_links
from hopgraph.tools.retrieval.passage_retriever import Bm25Retriever

SAMPLE = "sample"
RETRIEVER_SPECS = (
    "sample (the bundled corpus), bm25:DIR or DIR (a folder made by `hopgraph index SOURCE --out DIR`), "
    "faiss:DIR and hybrid:DIR (built with --dense), colbert:DIR (built with --colbert), web:serper, web:wikipedia, "
    f"web:community:CLASS, {VALID_ENGINE_SPECS}"
)

_SPEC = re.compile(r"[A-Za-z][\w+-]+:")  # the start of a spec; a single letter would be a drive
_MAX_OPEN = 64
_opened: dict[str, tuple[BuildId, BaseRetriever]] = {}
"""Least recently used first, dropped when there are too many."""
_opening = Lock()
_opening_vectors = Lock()  # loading a model takes seconds and must not block other indexes


def resolve_retriever(spec: str) -> BaseRetriever:
    """Open the retriever that a spec names; returns the same object until its index is replaced.

    Opens files, so call it in a thread. SpecError, which says what to do, for an unknown spec, or a missing key or
    package; CorpusError if the index is missing, damaged, or made by another version.
    """
    spec = spec.strip()
    kind, colon, place = spec.partition(":")
    if kind == "web" and colon:
        from hopgraph.tools.retrieval.web.resolve import resolve_web

        return resolve_web(spec)
    is_folder = colon and kind in INDEX_KINDS
    if is_folder and not place.partition("?")[0]:
        raise SpecError(f"retriever {spec!r}: the folder's name is missing; write {kind}:DIR; valid: {RETRIEVER_SPECS}")
    if is_engine(spec) or (is_folder and kind != "bm25"):
        return _open_with_model(spec)
    with _opening:
        if spec == SAMPLE:
            return _open_once(SAMPLE, (), lambda: Bm25Retriever(index=_sample()))
        folder = Path(place if is_folder else spec).expanduser()
        if is_folder or (spec and folder.is_dir()):
            key = str(folder.resolve())
            return _open_once(key, build_id(folder), lambda: open_one_build(folder, lambda: _open_bm25(folder)))
    what = f"there is no such folder and no retriever of kind {kind!r}" if colon else "unknown"
    raise SpecError(f"retriever {spec!r}: {what}; valid: {RETRIEVER_SPECS}")


def corpus_spec(given: str) -> str:
    """Return the retriever's spec of a corpus that a user names: `bm25:FOLDER` for a folder; a spec stays as it is."""
    if not given.strip():
        raise SettingsError("the corpus is empty; name a folder made by `hopgraph index`, or leave it out")
    is_spec = (given == SAMPLE or _SPEC.match(given)) and not Path(given).is_dir()
    return given if is_spec else f"bm25:{given}"


def close_index(folder: Path) -> None:
    """Close a BM25 index before its folder is deleted, which frees its memory and its files."""
    with _opening:
        _opened.pop(str(folder.resolve()), None)


def _open_with_model(spec: str) -> BaseRetriever:
    """Open a retriever that needs an embedding model or an engine, importing its packages only now."""
    with _opening_vectors:
        if is_engine(spec):
            from hopgraph.tools.retrieval.engines.engine_index import resolve_engine

            return _open_once(spec, (), lambda: resolve_engine(spec))
        folder = Path(spec.partition(":")[2].partition("?")[0]).expanduser()
        if spec.startswith("colbert:"):
            from hopgraph.tools.retrieval.late_interaction import FACTS, open_late_interaction

            build = build_id(folder) + build_id(folder / COLBERT, FACTS)
            return _open_once(spec, build, lambda: open_one_build(folder, lambda: open_late_interaction(spec)))
        from hopgraph.tools.retrieval.dense import open_dense_retriever

        return _open_once(spec, build_id(folder), lambda: open_one_build(folder, lambda: open_dense_retriever(spec)))


def _open_once(key: str, build: BuildId, make: Callable[[], BaseRetriever]) -> BaseRetriever:
    """Return the open retriever of `key`; open it again if its index was replaced."""
    entry = _opened.pop(key, None)
    if entry is None or entry[0] != build:
        entry = build, make()
    _opened[key] = entry
    while len(_opened) > _MAX_OPEN:
        _opened.pop(next(iter(_opened)), None)
    return entry[1]


def _open_bm25(folder: Path) -> Bm25Retriever:
    index = open_index(folder)
    return Bm25Retriever(index=with_links(index, folder, index.passages))


def _sample() -> LinkedIndex:
    with resources.as_file(resources.files("hopgraph.tools.retrieval.sample") / "corpus.jsonl") as path:
        index = index_in_memory(open_corpus(path, "beir").records(CorpusReading()), SAMPLE)
    return LinkedIndex(index, find_links(index.passages), index.passages, index.bm25.ranks)
