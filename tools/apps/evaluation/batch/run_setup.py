"""Prepare a run from its specification: questions, corpus (the data set's, the user's, or both), manifest and jobs."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from hopgraph.graphs import METHODS
from hopgraph.state import Context, SettingsError
from hopgraph.state.baselines import SamplingContext
from hopgraph.tools.apps.evaluation.batch.gold_match import GoldMatch, match_gold
from hopgraph.tools.apps.evaluation.batch.question_job import QuestionJob, is_external, requires_gold
from hopgraph.tools.apps.evaluation.batch.run_directory import (
    SIMULATED_MODELS,
    CorpusSource,
    DatasetInfo,
    OutcomeKey,
    RunManifest,
    RunWriter,
    describe_commit,
    file_hash,
    frozen_settings,
    prompt_hashes,
)
from hopgraph.tools.apps.evaluation.batch.scores import gold_names
from hopgraph.tools.apps.evaluation.datasets import QuestionSample, add_gold_texts, read_questions, select_questions
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.renaming import NAME_MAP, Renamer, read_name_map_seed, write_name_map
from hopgraph.tools.io.guarded_files import make_cache, make_private, open_private
from hopgraph.tools.io.user_folders import user_folder
from hopgraph.tools.retrieval import build_index, open_index, resolve_retriever
from hopgraph.tools.retrieval.corpora import CorpusReading, SourceRecord, open_corpus
from hopgraph.tools.retrieval.index_folder import is_index
from hopgraph.tools.retrieval.index_manifest import corpus_fingerprint
from hopgraph.tools.retrieval.passage_store import StoredPassage
from hopgraph.tools.retrieval.staging import Progress

CORPUS = "corpus"
"""The folder in a run with the index of the data set's own contexts."""
CONTEXTS = "contexts"
"""Their name in a manifest."""
_LOCAL_MODELS = (*SIMULATED_MODELS, "gguf:", "student:")
_SEEDS_PER_REPEAT = 1_000
"""Exceeds the samples of a method, which use the seeds after its own, so that no two samples of a run share a seed."""


@dataclass(frozen=True)
class RunSpec:
    """The data, methods and model of a run."""

    dataset: Path
    methods: Mapping[str, Context]
    """Settings by method; their retriever is set by the run."""
    out: Path
    sample: QuestionSample = field(default_factory=QuestionSample)
    format_name: str | None = None
    corpus: str | None = None
    """A retriever's spec; None for the pooled contexts of the data set."""
    rename: int | None = None
    """Seed for renaming people, places and works; None if they are not renamed."""
    add_contexts: bool = False
    """Add the data set's contexts to the corpus: MIGRES's oracle setting."""
    repeats: int = 1
    keep_contexts: bool = False
    """Store all passages that come with a question in the run, not only the gold ones."""
    skip_invalid: bool = False
    all_methods: bool = False
    """Whether the methods are `all`, so that those whose requirements the questions do not meet are left out."""
    name: str = ""
    """Names of its data set, model and point in a study, which are also its folder's name."""
    label: str = ""
    """The data set's name in a study."""
    model_label: str = ""
    """The model's name in a study."""


class PreparedRun(NamedTuple):
    """A run that is ready to start."""

    manifest: RunManifest
    questions: list[EvalQuestion]
    methods: dict[str, Context]
    """With the run's retriever."""
    skipped: dict[str, CorpusReading]
    """Records skipped while reading the questions and building the corpus."""
    gold: GoldMatch


def prepare_run(spec: RunSpec, progress: Progress | None = None, alike: PreparedRun | None = None) -> PreparedRun:
    """Read the questions, build or open the corpus, and create the manifest. Blocks.

    The gold passages found for a run `alike`, with the same questions, are reused if the corpus is the same.

    SettingsError: no corpus for a data set without contexts, no gold passages for a method that requires them, or
    renaming with a separate corpus. CorpusError: the data set or the corpus cannot be read.
    """
    skipped = {"questions": CorpusReading(spec.skip_invalid), "corpus": CorpusReading(spec.skip_invalid)}
    questions = select_questions(read_questions(spec.dataset, spec.format_name, skipped["questions"]), spec.sample)
    if not questions:
        raise SettingsError(f"{spec.dataset}: no questions to ask")
    questions = add_gold_texts(spec.dataset, questions, skipped["questions"])
    _check_corpus(spec, questions)
    methods = _answerable(spec, questions, skipped["questions"].notes)
    renaming = None if spec.rename is None else _make_renamer(spec, spec.rename)
    retriever_spec, recorded = _make_corpus(spec, renaming, skipped["corpus"], progress)
    if renaming:
        questions = [renaming.question(each) for each in questions]
    if not spec.keep_contexts:
        questions = [
            replace(each, contexts=tuple(own for own in each.contexts if own.id in each.gold)) for each in questions
        ]
    fingerprint = corpus_fingerprint(retriever_spec)
    if alike and alike.manifest.corpus.fingerprint == fingerprint:
        gold = alike.gold
    else:
        gold = match_gold(questions, resolve_retriever(retriever_spec), retriever_spec)
    questions = gold.questions
    methods = {name: each.model_copy(update={"retriever": retriever_spec}) for name, each in methods.items()}
    ids = "\n".join(each.id for each in questions)
    manifest = RunManifest(
        dataset=DatasetInfo(
            name=spec.dataset.name,
            sha256=file_hash(spec.dataset),
            sample=str(spec.sample),
            questions=len(questions),
            ids=hashlib.sha256(ids.encode("utf-8", "surrogatepass")).hexdigest(),
            renamed=spec.rename,
            label=spec.label,
        ),
        corpus=CorpusSource(
            retriever=recorded,
            fingerprint=fingerprint,
            gold_by=gold.by,
            gold_found=gold.found,
            gold_sought=gold.sought,
        ),
        repeats=spec.repeats,
        model_label=spec.model_label,
        methods={name: frozen_settings(each) for name, each in methods.items()},
        prompts={name: prompt_hashes(each) for name, each in methods.items()},
        code={name: file_hash(Path(METHODS[name].file)) for name in methods if is_external(name)},
        commit=describe_commit(),
    )
    return PreparedRun(manifest, questions, methods, skipped, gold)


def list_jobs(
    prepared: PreparedRun,
    directory: RunWriter,
    *,
    keep_traces: bool,
    retry_failed: bool,
    fresh: bool = False,
    replies_of: Mapping[str, Context] | None = None,
) -> list[QuestionJob]:
    """List unfinished jobs, and with `retry_failed` failed ones, question by question so that methods stay comparable.

    With `fresh` no replies are shared with other runs. With `replies_of`, other settings of the same methods, replies
    are cached where theirs are.
    """
    gold_by = prepared.manifest.corpus.gold_by
    jobs: list[QuestionJob] = []
    for repeat in range(prepared.manifest.repeats):
        methods = [
            each.model_copy(
                update={
                    "cache_dir": _reply_folder((replies_of or prepared.methods)[name], directory, repeat, fresh=fresh),
                    "seed": (each.seed or 0) + repeat * _SEEDS_PER_REPEAT if repeat else each.seed,
                }
            )
            for name, each in prepared.methods.items()
        ]
        for question in prepared.questions:
            for settings in methods:
                failed = directory.finished.get(OutcomeKey(settings.method, question.id, repeat))
                if failed is None or (failed and retry_failed):
                    jobs.append(QuestionJob(question, settings, repeat, keep_traces, not gold_names(question, gold_by)))
    return jobs


def _reply_folder(settings: Context, directory: RunWriter, repeat: int, *, fresh: bool) -> str:
    """Return a repeat's reply cache: the one shared by the user's runs if possible, else the run's own."""
    if fresh or not shares_replies(settings):
        return directory.cache(repeat)
    shared = Path(settings.cache_dir).expanduser() if settings.cache_dir else shared_replies()
    if not settings.cache_dir:
        try:
            make_cache(shared)
        except OSError:  # the user has no home folder
            return directory.cache(repeat)
    return str((shared / str(repeat)).resolve())


def shares_replies(settings: Context) -> bool:
    """Return whether cached replies may be shared: not those of model objects and local models, which may change."""
    models = [settings.model, *settings.models.values()]
    return all(isinstance(each, str) and not each.startswith(_LOCAL_MODELS) for each in models)


def shared_replies() -> Path:
    """Return the default reply cache shared by a user's runs."""
    return user_folder("cache") / "replies"


def find_greedy_methods(methods: Mapping[str, Context]) -> list[str]:
    """Return the methods whose repeats would be nearly identical: temperature 0 and no sampling."""
    return [
        name
        for name, each in methods.items()
        if each.temperature == 0 and not (isinstance(each, SamplingContext) and each.samples > 1)
    ]


def _check_corpus(spec: RunSpec, questions: Sequence[EvalQuestion]) -> None:
    """Refuse a corpus renamed differently, left by an unfinished setup, and questions without passages."""
    seed = read_name_map_seed(spec.out / NAME_MAP)
    if is_index(spec.out / CORPUS) and seed != spec.rename:
        had = "not renamed" if seed is None else f"renamed with the seed {seed}"
        raise SettingsError(f"the passages in {spec.out} are {had}; use the same --rename, or choose another --out")
    if spec.rename is not None and spec.corpus is not None:
        raise SettingsError("--rename renames the passages that come with the data set; leave --corpus out")
    if spec.corpus is None and not spec.dataset.is_dir() and not questions[0].contexts:
        needed = ", which --rename needs; choose another data set"
        advice = "; name a corpus with --corpus" if spec.rename is None else needed
        raise SettingsError(f"{spec.dataset.name} has no passages{advice}")


def _answerable(spec: RunSpec, questions: Sequence[EvalQuestion], notes: list[str]) -> dict[str, Context]:
    """Return the methods; if they are `all`, without one that requires gold passages if a question has none."""
    methods = dict(spec.methods)
    without_gold = (each.id for each in questions if not any(own.id in each.gold for own in each.contexts))
    if (name := next(filter(requires_gold, methods), None)) and (missing := next(without_gold, None)) is not None:
        problem = f"{name} needs gold passages, and the data set has none for the question {missing!r}"
        if not spec.all_methods:
            raise SettingsError(f"{problem}; leave it out")
        notes.append(f"Left out: {problem}.")
        del methods[name]
    return methods


def _make_renamer(spec: RunSpec, seed: int) -> Renamer:
    renaming = Renamer(open_corpus(spec.dataset, follow_links=True).records(CorpusReading(spec.skip_invalid)), seed)
    if not is_index(spec.out / CORPUS):
        make_private(spec.out)
        write_name_map(spec.out / NAME_MAP, renaming)
    return renaming


def _make_corpus(
    spec: RunSpec, renaming: Renamer | None, reading: CorpusReading, progress: Progress | None
) -> tuple[str, str]:
    """Build the corpus if it does not exist yet; return the retriever's spec and its name in the manifest."""
    own = spec.out / CORPUS
    if spec.corpus and not spec.add_contexts:
        return spec.corpus, spec.corpus
    if not is_index(own):
        make_private(spec.out)
        if spec.corpus or renaming:
            _build_from(_passages(spec, renaming, reading), own, progress)
        else:
            built = build_index(spec.dataset, own, follow_links=True, skip_invalid=spec.skip_invalid, progress=progress)
            reading.skipped, reading.first_skipped = built.skipped, [*built.first_skipped]
    return f"bm25:{own}", f"{spec.corpus} + {CONTEXTS}" if spec.corpus else CONTEXTS


def _passages(
    spec: RunSpec, renaming: Renamer | None, reading: CorpusReading
) -> Iterator[StoredPassage | SourceRecord]:
    """Yield the passages of a local index, if one is named, then the contexts of the data set."""
    if spec.corpus:
        kind, _, folder = spec.corpus.partition(":")
        if kind != "bm25":
            raise SettingsError(f"--add-contexts adds to a local index (bm25:DIR), not to {spec.corpus!r}")
        stored = open_index(Path(folder)).passages
        yield from (stored[number] for number in range(len(stored)))
    records = open_corpus(spec.dataset, follow_links=True).records(reading)
    yield from map(renaming.record, records) if renaming else records


def share_corpus(made: Path, own: Path) -> None:
    """Link or copy the corpus that another run has built, if any, into a run."""
    if made == own or not is_index(made / CORPUS) or is_index(own / CORPUS):
        return

    def link(source: str, target: str) -> None:
        try:
            os.link(source, target)
        except OSError:
            shutil.copy2(source, target)

    make_private(own)
    if (made / NAME_MAP).exists():
        shutil.copy2(made / NAME_MAP, own / NAME_MAP)
    partial_copy = own / f".{CORPUS}.half"
    shutil.rmtree(partial_copy, ignore_errors=True)
    shutil.copytree(made / CORPUS, partial_copy, copy_function=link)
    partial_copy.rename(own / CORPUS)


def _build_from(passages: Iterable[StoredPassage | SourceRecord], own: Path, progress: Progress | None) -> None:
    """Index passages, keeping the first of several with the same id."""
    source = own.parent / "corpus.jsonl"
    seen: set[str] = set()
    with open_private(source, "wb") as file:
        for each in passages:
            if each.id not in seen:
                seen.add(each.id)
                record = {"_id": each.id, "title": each.title, "text": each.text, "metadata": dict(each.metadata)}
                file.write(f"{json.dumps(record)}\n".encode("ascii"))
    build_index(source, own, format="beir", progress=progress)
    source.unlink()
