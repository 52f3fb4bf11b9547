"""`hopgraph index`: build a searchable index of a corpus, or fill a search engine with it."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hopgraph.state import CorpusError, HopgraphError
from hopgraph.tools.apps.cli.commands import IndexOptions
from hopgraph.tools.apps.cli.console import console_on, print_line, print_note, show_progress
from hopgraph.tools.apps.cli.folder_watch import kept_index, watch
from hopgraph.tools.io.guarded_files import make_private
from hopgraph.tools.retrieval import FileChanges, IndexReport, build_index, update_index
from hopgraph.tools.retrieval.corpora import Corpus, CorpusReading, open_corpus
from hopgraph.tools.retrieval.corpora.chunking import ChunkOptions
from hopgraph.tools.retrieval.corpora.formats import TEXT
from hopgraph.tools.retrieval.corpora.source_records import Problem
from hopgraph.tools.retrieval.dense import find_kept_vectors
from hopgraph.tools.retrieval.engines.fill import FillReport, index_into
from hopgraph.tools.retrieval.index_manifest import read_manifest
from hopgraph.tools.retrieval.index_sources import read_sources
from hopgraph.tools.retrieval.late_interaction import add_late_interaction, load_late_interaction
from hopgraph.tools.retrieval.passage_metadata import describe_location, find_location
from hopgraph.tools.retrieval.staging import STAGES
from hopgraph.tools.text.sanitize import pluralize, sanitize_line, truncate_line

_MAX_LISTED = 20  # maximum files named per kind of change
_SKIPPED = ("invalid file or record", "invalid files or records")
_EMPTY = "a file has no text"


def run_index(options: IndexOptions) -> None:
    """Run the command and print the result; skipped invalid records are named on standard error."""
    console = console_on()
    if options.show:
        _print_passages(console, _open(options), options.show)
        return
    _index(console, options)
    if options.watch:
        print_note(f"Watching {options.source}; stop with Ctrl-C.", "bold")
        with suppress(KeyboardInterrupt):
            for _ in watch(options.source.expanduser()):
                try:
                    _update(options)
                except HopgraphError as error:  # a file may be half written; the next change completes it
                    print_note(str(error))


def index_documents(source: Path) -> Path:
    """Index documents in the user's cache, or update their index; print the changes and return the index."""
    index = kept_index(source)
    make_private(index.parent)  # other users of this machine may not be allowed to read the documents
    _update(IndexOptions(source=source, out=index, skip_invalid=True))
    return index


def _update(options: IndexOptions) -> None:
    """Update an index; print what was read, or nothing if nothing has changed."""
    report, _, lines = _build(options, _given(options))
    if report.changes is None or report.changes:
        for line in lines:
            print_note(line, "dim")
        _print_notes(report)


def _index(console: Console, options: IndexOptions) -> None:
    given = _given(options)
    if options.to:
        with show_progress({"read": "sending", "save": "making searchable"}) as progress:
            given |= {"language": options.language or "en", "progress": progress}
            report = index_into(options.to, options.source, **given)
        corpus, lines = report.target, _fill_summary(report)
    else:
        report, corpus, lines = _build(options, given)
    if options.dry_run and report.changes is not None:
        _print_changes(console, report.changes)
        if report.format == TEXT:
            reading, changes = CorpusReading(skip_invalid=True), report.changes
            now = _open(options)
            _print_kinds(console, now, _read_files(now, (*changes.added, *changes.changed), reading))
            first, skipped = (*report.first_skipped, *reading.first_skipped), report.skipped + reading.skipped
            _print_notes(replace(report, notes=tuple(reading.notes), skipped=skipped, first_skipped=first))
        return
    for line in lines:
        print_line(console, line)
    if report.format == TEXT and isinstance(report, IndexReport):
        sources = read_sources(report.path, read_manifest(report.path))
        read = (
            _count_file(each.name, each.passages, each.skipped, each.problems)
            for source in sources
            for each in source.files
        )
        _print_kinds(console, _open(options), read)
    print_line(console, f'Use it:  hopgraph ask "…" --corpus {shlex.quote(corpus)}', "dim")
    _print_notes(report)


def _given(options: IndexOptions) -> dict[str, Any]:
    """Return the arguments common to building, updating and filling."""
    same = ("skip_invalid", "follow_links", "language", "dense")
    given: dict[str, Any] = {name: getattr(options, name) for name in same} | {"format": options.format_name}
    given["exclude"] = options.exclude or []
    given["chunking"] = _chunking(options)
    if not options.replace:
        given |= {"keep_deleted": options.keep_deleted, "dry_run": options.dry_run}
    return given


def _print_notes(report: IndexReport | FillReport) -> None:
    """Report what was left out, read in an unusual way, or skipped."""
    if report.left_out:
        print_note(report.left_out)
    for note in report.notes[:_MAX_LISTED]:
        print_note(note)
    if (unlisted := len(report.notes) - _MAX_LISTED) > 0:
        print_note(f"{unlisted:,} more notes on files")
    for problem in report.first_skipped:
        print_note(f"skipped {problem}")
    if (unnamed := report.skipped - len(report.first_skipped)) > 0:
        print_note(f"skipped {unnamed:,} more")


class _Kind(NamedTuple):
    """Files with one suffix."""

    suffix: str
    files: int
    passages: int
    skipped: int
    why: str
    """Why the first one was skipped, or that it is empty."""


def _print_kinds(console: Console, corpus: Corpus, read: Iterable[_Kind]) -> None:
    """Print a table of the kinds of files, with those that cannot be read."""
    kinds = dict[str, _Kind]()
    for each in (*read, *(_Kind(suffix, count, 0, count, "not read") for suffix, count in corpus.unread.items())):
        old = kinds.get(each.suffix, _Kind(each.suffix, 0, 0, 0, ""))
        files, passages, skipped = (mine + other for mine, other in zip(old[1:4], each[1:4], strict=True))
        kinds[each.suffix] = _Kind(each.suffix, files, passages, skipped, old.why or each.why)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("kind", "files", "passages", "skipped", "why"):
        table.add_column(column, justify="left" if column in ("kind", "why") else "right", no_wrap=column == "kind")
    for each in sorted(kinds.values(), key=lambda each: -each.files):
        counts = (f"{count:,}" for count in each[1:4])
        table.add_row(Text(sanitize_line(each.suffix)), *counts, Text(truncate_line(each.why, 100)))
    if kinds:
        console.print(table)


def _count_file(name: str, passages: int, skipped: int, problems: Sequence[Problem] | None) -> _Kind:
    why = problems[0][1] if problems else "" if passages else _EMPTY
    return _Kind(Path(name).suffix.lower() or "no suffix", 1, passages, skipped, why)


def _read_files(corpus: Corpus, names: Iterable[str], reading: CorpusReading) -> Iterator[_Kind]:
    """Read files of a corpus for a dry run, and count their passages."""
    named = {corpus.name_of(file): file for file in corpus.files}
    files = [named[name] for name in names if name in named]
    passages = Counter(record.file for record in replace(corpus, files=tuple(files)).records(reading))
    for file in files:
        skipped = reading.skipped_in[file]
        yield _count_file(file.name, passages[file], skipped, reading.problems_in[file] if skipped else ())


def _chunking(options: IndexOptions) -> ChunkOptions | None:
    """Return the chunk options; None if nothing is set, so that an updated index keeps its own."""
    given: dict[str, Any] = {"words": options.chunk_words, "overlap": options.overlap, "ocr": options.ocr}
    chosen = {name: value for name, value in given.items() if value is not None}
    return ChunkOptions(**chosen) if chosen else None


def _open(options: IndexOptions) -> Corpus:
    source, follow, exclude = options.source.expanduser(), options.follow_links, options.exclude or ()
    return open_corpus(source, options.format_name, follow_links=follow, chunking=_chunking(options), exclude=exclude)


def _print_passages(console: Console, corpus: Corpus, file: Path) -> None:
    """Print the passages of one source file, each with its id, title and location."""
    place = file if file in corpus.files else corpus.path / file
    if place not in corpus.files:
        raise CorpusError(f"{file}: not a file that is read from {corpus.path}; {corpus.left_out}".removesuffix("; "))
    reading = CorpusReading(skip_invalid=True)
    for record in replace(corpus, files=(place,)).records(reading):
        origin = find_location(record.metadata)
        where = ", ".join(filter(None, (describe_location(origin), origin.get("section", ""))))
        print_line(console, sanitize_line(f"{record.id}  {record.title}  ({where})"), "bold")
        for line in record.text.split("\n"):
            print_line(console, f"  {sanitize_line(line)}")
    for note in (*reading.notes, *reading.first_skipped):
        print_note(note)


def _build(options: IndexOptions, given: dict[str, Any]) -> tuple[IndexReport, str, list[str]]:
    """Build or update an index; return the result, its name as a corpus, and what to print."""
    out = options.out or Path()
    # A missing model is reported before anything is read.
    model = load_late_interaction(options.colbert) if options.colbert else None
    try:
        with show_progress(STAGES) as progress:
            given |= {"faiss": options.faiss, "progress": progress}
            if options.replace:
                report = build_index(options.source, out, **given)
            else:
                report = update_index(options.source, out, add=options.add, **given)
            vectors = add_late_interaction(report.path, model, progress) if model and not options.dry_run else 0
    except (HopgraphError, KeyboardInterrupt):
        if kept := find_kept_vectors(out.expanduser().resolve()):
            print_note(f"finished embeddings are kept in {kept[0]}; run the same command to resume")
        raise
    lines = [_index_summary(report)]
    if vectors:
        lines.append(f"Added {pluralize(vectors, 'vector')} by {options.colbert}.")
    if report.dense:
        about = report.dense.embedding
        lines.append(f"Vectors of {about.dimension} dimensions by {about.model}, FAISS {report.dense.kind}.")
    return report, f"colbert:{out}" if vectors else f"hybrid:{out}" if report.dense else str(out), lines


def _fill_summary(report: FillReport) -> list[str]:
    before = f" ({report.resumed_at:,} of them by an earlier run)" if report.resumed_at else ""
    sent = f"Sent {pluralize(report.passages, 'passage')}{before} ({report.format} format) in {report.seconds:.1f} s"
    skipped = f"{pluralize(report.skipped, *_SKIPPED)} skipped"
    total = f"{report.target} has {pluralize(report.total, 'passage')} now"
    return [f"{_count_changes(report.changes)}.", f"{sent}; {skipped}. {total}."]


def _index_summary(report: IndexReport) -> str:
    if report.changes is None:
        facts = f"{pluralize(report.terms, 'term')}, {report.format} format"
        done = f"Indexed {pluralize(report.passages, 'passage')} ({facts}) in {report.seconds:.1f} s"
    else:
        passages = f"{pluralize(report.passages, 'passage')}, {report.before:,} before"
        done = f"{_count_changes(report.changes)} ({passages}) in {report.seconds:.1f} s"
    known = f"; {report.known:,} were there already" if report.known else ""
    return f"{done}{known}; {pluralize(report.skipped, *_SKIPPED)} skipped."


def _count_changes(changes: FileChanges) -> str:
    added, changed, gone = map(len, (changes.added, changes.changed, changes.vanished))
    return f"{pluralize(added, 'file')} added, {changed:,} changed, {gone:,} removed, {changes.unchanged:,} unchanged"


def _print_changes(console: Console, changes: FileChanges) -> None:
    print_line(console, f"Dry run: {_count_changes(changes)}.")
    for what, names in (("add", changes.added), ("read again", changes.changed), ("remove", changes.vanished)):
        for name in names[:_MAX_LISTED]:
            print_line(console, f"  {what}: {sanitize_line(name)}")
        if len(names) > _MAX_LISTED:
            print_line(console, f"  {what}: {len(names) - _MAX_LISTED:,} more")
