"""Build and update an index on disk: its passages, their BM25 scores, then vectors.

Every change writes a complete index beside the old one and then replaces it in one step. Unchanged parts are copied, so
that an updated index is identical to one rebuilt from the same files.
"""

import shutil
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from langchain_core.embeddings import Embeddings

from hopgraph.state import CorpusError, SettingsError
from hopgraph.tools.retrieval.corpora import CorpusReading, open_corpus
from hopgraph.tools.retrieval.corpora.chunking import ChunkOptions
from hopgraph.tools.retrieval.dense import VectorPlan, find_kept_vectors, plan_vectors
from hopgraph.tools.retrieval.faiss_store import FOLDER as FAISS
from hopgraph.tools.retrieval.index import FOLDER, RANKS
from hopgraph.tools.retrieval.index_folder import INDEX_MANIFEST, is_index
from hopgraph.tools.retrieval.index_manifest import COLBERT, read_manifest
from hopgraph.tools.retrieval.index_sources import (
    SOURCES,
    SourcePlan,
    count_copied_problems,
    hash_files,
    plan_copies,
    plan_reading,
    plan_update,
    read_sources,
    with_recorded_chunking,
)
from hopgraph.tools.retrieval.index_writer import IndexReport, IndexWriter
from hopgraph.tools.retrieval.links import FOLDER as LINKS
from hopgraph.tools.retrieval.passage_store import OFFSETS, PASSAGES
from hopgraph.tools.retrieval.staging import Progress, ignore_progress, recover_stages, stage_folder
from hopgraph.tools.text import get_analyzer
from hopgraph.tools.text.languages import AUTO_LANGUAGE

_OWN_FILES = frozenset({INDEX_MANIFEST, PASSAGES, OFFSETS, SOURCES, FOLDER, RANKS, FAISS, COLBERT, LINKS})


def build_index(
    source: Path,
    out: Path,
    *,
    format: str | None = None,  # noqa: A002 - the name of the command line's option
    skip_invalid: bool = False,
    follow_links: bool = False,
    exclude: Sequence[str] = (),
    language: str | None = None,
    chunking: ChunkOptions | None = None,
    dense: str | Embeddings | None = None,
    faiss: str | None = None,
    progress: Progress | None = None,
) -> IndexReport:
    """Index a file or folder, in one of the formats of `corpora`, into the folder `out`: missing, empty, or an index.

    An existing index is replaced once the new one is complete. `exclude` has patterns of files to leave out, as in
    `.gitignore`. By default the `format` is detected, and the `language` of each document, else English; passages have
    about 100 words (`chunking`); there are no vectors (`dense`; an interrupted build keeps them beside `out` for the
    next one); and the kind of `faiss` index fits the number of passages. Memory: each passage's id, 16 bytes per
    occurrence of a term; never the texts.

    Raises:
        SettingsError: an unknown format, language or model, or a missing package.
        ModelError: the embedding model failed.
        BadRecordError: a record that is unreadable, blank, or repeats an id; with `skip_invalid` it is counted instead.
        CorpusError: a source without passages or of unknown format, or a folder that cannot be written.
    """
    analyzer = get_analyzer(language or AUTO_LANGUAGE)
    corpus = open_corpus(source.expanduser(), format, follow_links=follow_links, chunking=chunking, exclude=exclude)
    target = _check_target(out.expanduser())
    vectors = plan_vectors(dense, faiss, target, None)
    writer = IndexWriter(target, corpus, analyzer, vectors, CorpusReading(skip_invalid), progress or ignore_progress)
    return _replace(writer, [plan_reading(corpus, target, hash_files(corpus))])


def update_index(
    source: Path,
    out: Path,
    *,
    format: str | None = None,  # noqa: A002 - the name of the command line's option
    skip_invalid: bool = False,
    follow_links: bool = False,
    exclude: Sequence[str] = (),
    language: str | None = None,
    chunking: ChunkOptions | None = None,
    dense: str | Embeddings | None = None,
    faiss: str | None = None,
    add: bool = False,
    keep_deleted: bool = False,
    delete: Collection[str] = (),
    dry_run: bool = False,
    progress: Progress | None = None,
) -> IndexReport:
    """Update the index `out` from a file or folder that it was built from; build it if there is none.

    Only files whose content or reading options have changed are read, and only passages with a new text are embedded,
    by the index's model, of which `dense` may be another copy; an index without vectors gets them for all. Without
    `chunking`, documents are chunked as before; `--colbert` vectors are updated by the model that made them. Passages
    of deleted files are removed, unless `keep_deleted`, as are those with ids in `delete`, from any file. Passages of
    other sources stay. A new source needs `add`; passages that the index already has word for word are left out. The
    other arguments are as in `build_index`. With `dry_run`, or if nothing changes, nothing is written, and the report
    has the changes.

    The errors are those of `build_index`; also CorpusError for an index that was not built from this source, unless
    `add`, and SettingsError for another language or kind of vectors.
    """
    analyzer = get_analyzer(language or AUTO_LANGUAGE)
    target = _check_target(out.expanduser())
    corpus = open_corpus(source.expanduser(), format, follow_links=follow_links, chunking=chunking, exclude=exclude)
    old = read_manifest(target) if add or is_index(target) else None
    if old:
        had = old.analyzer.get("language")
        if language is not None and analyzer.language != had:
            raise SettingsError(f"{target} is in the language {had!r}; leave --language out, or rebuild it: --replace")
        analyzer = get_analyzer(str(had))
    if old and chunking is None:
        corpus = with_recorded_chunking(corpus, target, read_sources(target, old))
    vectors = plan_vectors(dense, faiss, target, old)
    plans, changes = plan_update(corpus, target, old, add=add, keep_deleted=keep_deleted)
    reading = CorpusReading(skip_invalid)
    count_copied_problems(reading, corpus, target, plans)
    is_outdated = not (target / LINKS).is_dir() or (old and old.analyzer != analyzer.describe())
    if dry_run or (old and not (changes or delete or is_outdated or (vectors and not vectors.old))):
        count, terms, have = (old.corpus.passages, old.bm25.terms, old.dense) if old else (0, 0, None)
        skipped = reading.skipped, tuple(reading.first_skipped)
        report = IndexReport(target, corpus.format, count, terms, corpus.left_out, *skipped, before=count, dense=have)
        return replace(report, changes=changes)
    writer = IndexWriter(
        target, corpus, analyzer, vectors, reading, progress or ignore_progress, old, frozenset(delete)
    )
    return replace(_replace(writer, plans), changes=changes if old else None)


def delete_passages(out: Path, ids: Collection[str], *, progress: Progress | None = None) -> int:
    """Delete passages from the index in the folder `out`; return how many of these ids it had.

    A deleted passage comes back when its file changes and the index is updated. No model is loaded. CorpusError if
    there is no index, it is damaged or cannot be written, or no passage would be left.
    """
    target = _check_target(out.expanduser())
    old = read_manifest(target)
    vectors = VectorPlan(old.dense.embedding, old=old.dense) if old.dense else None
    if not ids:
        return 0
    analyzer, reading = get_analyzer(str(old.analyzer.get("language"))), CorpusReading()
    writer = IndexWriter(target, None, analyzer, vectors, reading, progress or ignore_progress, old, frozenset(ids))
    return old.corpus.passages - _replace(writer, plan_copies(read_sources(target, old))).passages


def _replace(writer: IndexWriter, plans: list[SourcePlan]) -> IndexReport:
    """Write the new index beside the old one, and replace it."""
    started, target = time.perf_counter(), writer.target
    try:
        with stage_folder(target) as folder:
            if writer.old and read_manifest(target) != writer.old:
                raise CorpusError(f"{target}: another build changed it in the meantime; start again")
            report = writer.write(folder, plans)
        if writer.vectors:
            for kept in find_kept_vectors(target):
                shutil.rmtree(kept, ignore_errors=True)
    except OSError as error:
        raise _unwritable(target, error) from None
    return replace(report, seconds=time.perf_counter() - started)


def _check_target(out: Path) -> Path:
    """Return the resolved folder; CorpusError if it has something other than an index."""
    try:
        target = out.resolve()
        nearest = next(path for path in (target, *target.parents) if path.exists())
        if not nearest.is_dir():
            raise CorpusError(f"{out}: {nearest} is a file; choose another folder for the index")
        recover_stages(target)  # restores an index that a killed build had moved aside
        recover_stages(target / COLBERT)  # removes what a killed encoding left
        names = {path.name for path in target.iterdir()} if target.exists() else set[str]()
    except OSError as error:
        raise _unwritable(out, error) from None
    if names and (not is_index(target) or not names <= _OWN_FILES):
        others = ", ".join(sorted(names - _OWN_FILES)[:3]) or f"no {INDEX_MANIFEST}"
        raise CorpusError(
            f"{out} has files that do not belong to an index ({others}); choose another folder, or remove them"
        )
    return target


def _unwritable(out: Path, error: OSError) -> CorpusError:
    return CorpusError(f"{out}: the index cannot be written: {error.strerror or error}")
