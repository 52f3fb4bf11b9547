"""Building and updating an index on disk: passages, the scores of the numbered terms, then the vectors.

Every change makes a complete index beside the old one, which it then replaces in one step. What has not changed is
copied, so that an updated index is the same as one rebuilt from the same files.
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
    hash_files,
    plan_copies,
    plan_reading,
    plan_update,
    read_sources,
    recall_problems,
    with_own_chunking,
)
from hopgraph.tools.retrieval.index_writer import IndexReport, IndexWriter
from hopgraph.tools.retrieval.links import FOLDER as LINKS
from hopgraph.tools.retrieval.passage_store import OFFSETS, PASSAGES
from hopgraph.tools.retrieval.staging import Progress, ignore_progress, recover_stages, stage_folder
from hopgraph.tools.text import get_analyser
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
    """Index a file or folder in one of the formats of `corpora` into the folder `out`, missing, empty, or an index.

    An existing index is replaced once the new one is complete. What `exclude` names in a folder is left out, as
    `.gitignore` would. A None stands for the detected `format`; for the `language` that each document is surely in,
    else English; for passages of about 100 words (`chunking`); for no embedding model (`dense`; an interrupted build
    keeps its vectors beside `out`, for the next one); for the kind of `faiss` index that fits the number of passages.
    Memory: each passage's id, 16 bytes per occurrence of a term; never the texts.

    Raises:
        SettingsError: an unknown format, language or model, or a missing package.
        ModelError: the embedding model failed.
        BadRecordError: a record that is unreadable, blank, or repeats an id; with `skip_invalid` it is counted instead.
        CorpusError: a source without passages or of no known format, or a place that cannot be written.
    """
    analyser = get_analyser(language or AUTO_LANGUAGE)
    corpus = open_corpus(source.expanduser(), format, follow_links=follow_links, chunking=chunking, exclude=exclude)
    goal = _check_place(out.expanduser())
    vectors = plan_vectors(dense, faiss, goal, None)
    writer = IndexWriter(goal, corpus, analyser, vectors, CorpusReading(skip_invalid), progress or ignore_progress)
    return _replace(writer, [plan_reading(corpus, goal, hash_files(corpus))])


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
    """Bring the index `out` up to date with a file or folder that it was made from; build it if there is none.

    Only files whose content, or whose way of reading, has changed are read; only passages with a new text are embedded,
    by the model that the index names unless `dense` is given, or all if it has no vectors. Without `chunking` documents
    are cut as those of the index are; vectors of `--colbert` are updated by the model that made them. Passages of files
    that are gone are removed, unless `keep_deleted`, and so are those whose ids are in `delete`, whatever file they are
    of. The passages of other sources stay. An index is only given a source that it has not yet with `add`; then a
    passage that is there word for word is left out. All others are as in `build_index`. Nothing is written where
    nothing changes, nor with `dry_run`, whose report has the changes that there would be.

    The errors are those of `build_index`; also a CorpusError for an index that was not made from this source, unless
    `add`, and a SettingsError for one of another language or kind of vectors.
    """
    analyser = get_analyser(language or AUTO_LANGUAGE)
    goal = _check_place(out.expanduser())
    corpus = open_corpus(source.expanduser(), format, follow_links=follow_links, chunking=chunking, exclude=exclude)
    old = read_manifest(goal) if add or is_index(goal) else None
    if old:
        had = old.analyser.get("language")
        if language is not None and analyser.language != had:
            raise SettingsError(f"{goal} is in the language {had!r}; leave --language out, or rebuild it: --replace")
        analyser = get_analyser(str(had))
    if old and chunking is None:
        corpus = with_own_chunking(corpus, goal, read_sources(goal, old))
    vectors = plan_vectors(dense, faiss, goal, old)
    plans, changes = plan_update(corpus, goal, old, add=add, keep_deleted=keep_deleted)
    reading = CorpusReading(skip_invalid)
    recall_problems(reading, corpus, goal, plans)
    is_outdated = not (goal / LINKS).is_dir() or (old and old.analyser != analyser.describe())
    if dry_run or (old and not (changes or delete or is_outdated or (vectors and not vectors.old))):
        count, terms, have = (old.corpus.passages, old.bm25.terms, old.dense) if old else (0, 0, None)
        skipped = reading.skipped, tuple(reading.first_skipped)
        report = IndexReport(goal, corpus.format, count, terms, corpus.left_out, *skipped, before=count, dense=have)
        return replace(report, changes=changes)
    writer = IndexWriter(goal, corpus, analyser, vectors, reading, progress or ignore_progress, old, frozenset(delete))
    return replace(_replace(writer, plans), changes=changes if old else None)


def delete_passages(out: Path, ids: Collection[str], *, progress: Progress | None = None) -> int:
    """Delete passages from the index in the folder `out`; return how many there were of these ids.

    Other ids are ignored. A deleted passage comes back when its file changes and the index is updated. Nothing is
    embedded, and no model is loaded. CorpusError for no index, a damaged one, a place that cannot be written, or where
    no passage would be left.
    """
    goal = _check_place(out.expanduser())
    old = read_manifest(goal)
    vectors = VectorPlan(old.dense.embedding, old=old.dense) if old.dense else None
    if not ids:
        return 0
    analyser, reading = get_analyser(str(old.analyser.get("language"))), CorpusReading()
    writer = IndexWriter(goal, None, analyser, vectors, reading, progress or ignore_progress, old, frozenset(ids))
    return old.corpus.passages - _replace(writer, plan_copies(read_sources(goal, old))).passages


def _replace(writer: IndexWriter, plans: list[SourcePlan]) -> IndexReport:
    """Write an index beside its place and put it there."""
    started, goal = time.perf_counter(), writer.goal
    try:
        with stage_folder(goal) as folder:
            if writer.old and read_manifest(goal) != writer.old:
                raise CorpusError(f"{goal}: another build changed it in the meantime; start again")
            report = writer.write(folder, plans)
        if writer.vectors:
            for kept in find_kept_vectors(goal):
                shutil.rmtree(kept, ignore_errors=True)
    except OSError as error:
        raise _unwritable(goal, error) from None
    return replace(report, seconds=time.perf_counter() - started)


def _check_place(out: Path) -> Path:
    """Return the place with its links followed; refuse one where something other than an index is."""
    try:
        goal = out.resolve()
        nearest = next(path for path in (goal, *goal.parents) if path.exists())
        if not nearest.is_dir():
            raise CorpusError(f"{out}: {nearest} is a file; choose another place for the index")
        recover_stages(goal)  # an old index that a killed build had moved aside
        recover_stages(goal / COLBERT)  # clears away what a killed encoding left in the index
        names = {path.name for path in goal.iterdir()} if goal.exists() else set[str]()
    except OSError as error:
        raise _unwritable(out, error) from None
    if names and (not is_index(goal) or not names <= _OWN_FILES):
        others = ", ".join(sorted(names - _OWN_FILES)[:3]) or f"no {INDEX_MANIFEST}"
        raise CorpusError(
            f"{out} has files that do not belong to an index ({others}); choose another folder, or remove them"
        )
    return goal


def _unwritable(out: Path, error: OSError) -> CorpusError:
    return CorpusError(f"{out}: the index cannot be written: {error.strerror or error}")
