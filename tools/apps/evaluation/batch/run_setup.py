"""From a run's specification to its jobs: questions, corpus, manifest."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hopgraph.state import Context, SettingsError
from hopgraph.tools.apps.evaluation.batch.question_job import QuestionJob, requires_gold
from hopgraph.tools.apps.evaluation.batch.run_corpus import (
    CORPUS,
    corpus_fingerprint,
    detect_gold_key,
    make_corpus,
    require_contexts,
)
from hopgraph.tools.apps.evaluation.batch.run_directory import RunWriter
from hopgraph.tools.apps.evaluation.batch.run_manifest import (
    CorpusSource,
    DatasetFacts,
    RunManifest,
    file_hash,
    frozen_settings,
    library_versions,
    prompt_hashes,
)
from hopgraph.tools.apps.evaluation.batch.run_spec import RunSpec
from hopgraph.tools.apps.evaluation.batch.scores import gold_names
from hopgraph.tools.apps.evaluation.datasets import read_questions
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.gold_texts import add_gold_texts
from hopgraph.tools.apps.evaluation.question_sampling import select_questions
from hopgraph.tools.apps.evaluation.renaming import (
    NAME_MAP,
    Renamer,
    build_renamer,
    read_name_map_seed,
    write_name_map,
)
from hopgraph.tools.retrieval.corpora import CorpusReading, open_corpus
from hopgraph.tools.retrieval.index_builder import Progress
from hopgraph.tools.retrieval.index_manifest import is_index
from hopgraph.tools.retrieval.resolve import resolve_retriever


@dataclass(frozen=True)
class PreparedRun:
    """A run that can start."""

    manifest: RunManifest
    questions: list[EvalQuestion]
    methods: dict[str, Context]
    """With their retriever."""


def prepare_run(spec: RunSpec, progress: Progress | None = None) -> PreparedRun:
    """Read the questions, make or open the corpus, and make the manifest. Blocks.

    Raises:
        SettingsError: no corpus for a data set without contexts, no gold passages for a method that is given
            them, or renaming in a corpus that is not the data set's.
        CorpusError: the data set or the corpus cannot be read.
    """
    questions = select_questions(read_questions(spec.dataset, spec.format_name), spec.sample)
    if not questions:
        raise SettingsError(f"{spec.dataset}: no questions to ask")
    _check_same_names(spec)
    questions = list(add_gold_texts(spec.dataset, questions))
    renaming = _make_renamer(spec, questions)
    retriever_spec, recorded = make_corpus(spec, questions, renaming, progress)
    retriever = resolve_retriever(retriever_spec)
    questions = [renaming.question(each) for each in questions] if renaming else questions
    if not spec.keep_contexts:
        questions = [_with_gold_only(each) for each in questions]
    methods = {name: each.model_copy(update={"retriever": retriever_spec}) for name, each in spec.methods.items()}
    _check_gold_passages(methods, questions)
    manifest = RunManifest(
        dataset=DatasetFacts(
            name=spec.dataset.name,
            sha256=file_hash(spec.dataset),
            sample=str(spec.sample),
            questions=len(questions),
            ids=_hash([each.id for each in questions]),
            renamed=spec.rename,
        ),
        corpus=CorpusSource(
            retriever=recorded,
            fingerprint=corpus_fingerprint(retriever_spec),
            gold_by=detect_gold_key(spec, retriever, questions),
        ),
        repeats=spec.repeats,
        methods={name: frozen_settings(each) for name, each in methods.items()},
        prompts={name: prompt_hashes(each) for name, each in methods.items()},
        libraries=library_versions(),
    )
    return PreparedRun(manifest, questions, methods)


def list_jobs(prepared: PreparedRun, directory: RunWriter, *, keep_traces: bool) -> Iterator[QuestionJob]:
    """Yield each question for each method, the methods of a question together, so that partial results compare."""
    gold_by = prepared.manifest.corpus.gold_by
    for repeat in range(prepared.manifest.repeats):
        methods = [_for_repeat(settings, directory, repeat) for settings in prepared.methods.values()]
        for question in prepared.questions:
            for settings in methods:
                yield QuestionJob(question, settings, repeat, keep_traces, not gold_names(question, gold_by))


def _for_repeat(settings: Context, directory: RunWriter, repeat: int) -> Context:
    """Give each repeat replies and a seed of its own."""
    seed = None if settings.seed is None else settings.seed + repeat
    return settings.model_copy(update={"cache_dir": directory.cache(repeat), "seed": seed})


def _make_renamer(spec: RunSpec, questions: Sequence[EvalQuestion]) -> Renamer | None:
    """Make the map of names, and write it to the run's folder; None where nothing is renamed."""
    if spec.rename is None:
        return None
    if spec.corpus is not None:
        raise SettingsError("--rename renames the passages that come with the data set; leave --corpus out")
    require_contexts(spec, questions, ", which --rename needs; choose another data set")
    renaming = build_renamer(open_corpus(spec.dataset, None).records(CorpusReading()), spec.rename)
    if not is_index(spec.out / CORPUS):
        spec.out.mkdir(parents=True, exist_ok=True)
        write_name_map(spec.out / NAME_MAP, renaming)
    return renaming


def _check_same_names(spec: RunSpec) -> None:
    """Refuse to ask with some names in a corpus with others, which an unfinished setup may have left."""
    seed = read_name_map_seed(spec.out / NAME_MAP)
    if is_index(spec.out / CORPUS) and seed != spec.rename:
        had = "not renamed" if seed is None else f"renamed with the seed {seed}"
        raise SettingsError(f"the passages in {spec.out} are {had}; use the same --rename, or choose another --out")


def _with_gold_only(question: EvalQuestion) -> EvalQuestion:
    """Drop the contexts that are no longer needed."""
    return replace(question, contexts=tuple(each for each in question.contexts if each.id in question.gold))


def _check_gold_passages(methods: Mapping[str, Context], questions: Sequence[EvalQuestion]) -> None:
    for name in methods:
        if requires_gold(name) and (without := next((each for each in questions if not each.contexts), None)):
            raise SettingsError(
                f"method {name!r} is given the gold passages, but the data set has none "
                f"for {without.id!r}; leave it out"
            )


def _hash(ids: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(ids).encode("utf-8", "surrogatepass")).hexdigest()
