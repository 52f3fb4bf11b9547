"""From a run's specification to its jobs: questions, corpus (the data set's own, the user's, or both), manifest."""

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
from hopgraph.tools.apps.evaluation.batch.question_job import QuestionJob, is_of_others, requires_gold
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
"""The folder of a run that holds the index of the data set's own contexts."""
CONTEXTS = "contexts"
"""Their name in a manifest."""
_LOCAL_MODELS = (*SIMULATED_MODELS, "gguf:", "student:")
_SEEDS_PER_REPEAT = 1_000
"""More than a method has samples, which use the seeds after its own: no two samples of a run share one."""


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
    """The seed with which people, places and works are renamed; None: they are not renamed."""
    add_contexts: bool = False
    """Add the data set's contexts to the corpus: MIGRES's oracle setting."""
    repeats: int = 1
    keep_contexts: bool = False
    """Store all passages that come with a question in the run, not only the gold ones."""
    skip_invalid: bool = False
    all_methods: bool = False
    """The methods are `all`: those whose requirements the questions do not meet are left out."""
    name: str = ""
    """Data set, model and point of a study, as far as they have names: its folder's name."""
    label: str = ""
    """The data set's name in a study."""
    model_label: str = ""
    """The model's name in a study."""


class PreparedRun(NamedTuple):
    """A run that can start."""

    manifest: RunManifest
    questions: list[EvalQuestion]
    methods: dict[str, Context]
    """With their retriever."""
    skipped: dict[str, CorpusReading]
    """Which records were skipped while reading the questions and building the corpus."""
    gold: GoldMatch


def prepare_run(spec: RunSpec, progress: Progress | None = None, alike: PreparedRun | None = None) -> PreparedRun:
    """Read the questions, build or open the corpus, and make the manifest. Blocks.

    Gold passages are not looked for again in the corpus of a run `alike`, which has the same questions.

    SettingsError: no corpus for a data set without contexts, no gold passages for a method that is given them, or
    renaming in a corpus that is not the data set's. CorpusError: the data set or the corpus cannot be
    read.
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
        code={name: file_hash(Path(METHODS[name].file)) for name in methods if is_of_others(name)},
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
    """List what is not finished, and with `retry_failed` what failed, question by question so that results compare.

    With `fresh` no reply of another run is taken, and none is left to one. Replies are kept where those of
    `replies_of` are, other settings of the same methods.
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
    """Return the folder of a repeat's replies: one that the user's runs share, else the run's own.

    Without `shares_replies`, or a folder of the user's that can be written, the run's own.
    """
    if fresh or not shares_replies(settings):
        return directory.cache(repeat)
    shared = Path(settings.cache_dir).expanduser() if settings.cache_dir else shared_replies()
    if not settings.cache_dir:
        try:
            make_cache(shared)
        except OSError:  # a user without a home
            return directory.cache(repeat)
    return str((shared / str(repeat)).resolve())


def shares_replies(settings: Context) -> bool:
    """Return whether cached replies may be reused: not those of objects and local models, which may change."""
    models = [settings.model, *settings.models.values()]
    return all(isinstance(each, str) and not each.startswith(_LOCAL_MODELS) for each in models)


def shared_replies() -> Path:
    """Return the reply folder that a user's runs share, unless the setting `cache_dir` names another."""
    return user_folder("cache") / "replies"


def find_greedy_methods(methods: Mapping[str, Context]) -> list[str]:
    """Name the methods whose repeats would be nearly equal: they ask at temperature 0 and draw no samples."""
    return [
        name
        for name, each in methods.items()
        if each.temperature == 0 and not (isinstance(each, SamplingContext) and each.samples > 1)
    ]


def _check_corpus(spec: RunSpec, questions: Sequence[EvalQuestion]) -> None:
    """Refuse a corpus with other names, which an unfinished setup may have left, and questions without passages."""
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
    """Return the methods, of `all` without one that is given the gold passages where a question has none."""
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
    """Make the corpus if there is none yet; return the retriever's spec and its name in the manifest."""
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
    """Chain the passages of a local index, if one is named, and the contexts of the data set."""
    if spec.corpus:
        kind, _, folder = spec.corpus.partition(":")
        if kind != "bm25":
            raise SettingsError(f"--add-contexts adds to a local index (bm25:DIR), not to {spec.corpus!r}")
        stored = open_index(Path(folder)).passages
        yield from (stored[number] for number in range(len(stored)))
    records = open_corpus(spec.dataset, follow_links=True).records(reading)
    yield from map(renaming.record, records) if renaming else records


def share_corpus(made: Path, own: Path) -> None:
    """Give a run the corpus that another has, if any, without building or, with hard links, storing it again."""
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
    """Index passages; of several with the same id the first is kept."""
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
