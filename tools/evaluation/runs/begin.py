"""From what somebody wants to measure to the jobs of a run: questions, corpus, manifest."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Protocol

from langchain_core.retrievers import BaseRetriever

from hopgraph.state import Context, SettingsError
from hopgraph.tools.corpora import Reading, open_corpus
from hopgraph.tools.evaluation.datasets import read_questions
from hopgraph.tools.evaluation.questions import ContextPassage, EvalQuestion
from hopgraph.tools.evaluation.renaming import (
    RENAMING,
    Renaming,
    read_renaming,
    renamed_records,
    renaming_seed,
    write_renaming,
)
from hopgraph.tools.evaluation.runs.answer import Job, takes_gold
from hopgraph.tools.evaluation.runs.directory import RunWriter
from hopgraph.tools.evaluation.runs.manifest import (
    CorpusSource,
    DatasetFacts,
    GoldBy,
    RunManifest,
    file_hash,
    frozen_settings,
    library_versions,
    prompt_hashes,
)
from hopgraph.tools.evaluation.runs.scores import gold_names
from hopgraph.tools.evaluation.sampling import Sample, choose
from hopgraph.tools.retrieval import build_index, open_index
from hopgraph.tools.retrieval.build import Progress
from hopgraph.tools.retrieval.manifest import is_index, read_manifest
from hopgraph.tools.retrieval.resolve import resolve_retriever

CORPUS = "corpus"
"""The folder of a run that holds the index of the data set's own contexts."""
SOURCE = "corpus.jsonl"
"""The file from which that index is built, where it is more or other than the data set; then it goes."""
CONTEXTS = "contexts"
"""What a manifest calls them."""
_PROBES = 20
_PROBE_LENGTH = 300


@dataclass(frozen=True)
class Wanted:
    """What somebody wants to measure."""

    dataset: Path
    methods: Mapping[str, Context]
    """Settings by method; their retriever is set by the run."""
    out: Path
    sample: Sample = field(default_factory=Sample)
    format_name: str | None = None
    corpus: str | None = None
    """A retriever's spec; None for the pooled contexts of the data set."""
    rename: int | None = None
    """The seed with which people, places and works are renamed; None: they are not."""
    add_contexts: bool = False
    """Add the data set's contexts to the corpus: MIGRES's oracle setting."""
    repeats: int = 1
    keep_traces: bool = True


@dataclass(frozen=True)
class Prepared:
    """A run that can begin."""

    manifest: RunManifest
    questions: list[EvalQuestion]
    methods: dict[str, Context]
    """With their retriever."""


def prepare_run(wanted: Wanted, progress: Progress | None = None) -> Prepared:
    """Read the questions, make or open the corpus, and write down what shapes the results. Blocks.

    Raises:
        SettingsError: no corpus for a data set without contexts, no gold passages for a method that is given
            them, or renaming in somebody else's corpus.
        CorpusError: the data set or the corpus cannot be read.
    """
    questions = choose(read_questions(wanted.dataset, wanted.format_name), wanted.sample)
    if not questions:
        raise SettingsError(f"{wanted.dataset}: no questions to ask")
    _refuse_other_names(wanted)
    questions = list(_with_gold_texts(wanted, questions))
    renaming = _renaming(wanted, questions)
    spec, recorded = _corpus(wanted, questions, renaming, progress)
    retriever = resolve_retriever(spec)
    questions = [_with_gold_only(renaming.question(each) if renaming else each) for each in questions]
    methods = {name: each.model_copy(update={"retriever": spec}) for name, each in wanted.methods.items()}
    _refuse_missing_gold(methods, questions)
    manifest = RunManifest(
        dataset=DatasetFacts(
            name=wanted.dataset.name,
            sha256=file_hash(wanted.dataset),
            sample=str(wanted.sample),
            questions=len(questions),
            ids=_hash([each.id for each in questions]),
            renamed=wanted.rename,
        ),
        corpus=CorpusSource(
            retriever=recorded, fingerprint=_fingerprint(spec), gold_by=_gold_by(wanted, retriever, questions)
        ),
        repeats=wanted.repeats,
        methods={name: frozen_settings(each) for name, each in methods.items()},
        prompts={name: prompt_hashes(each) for name, each in methods.items()},
        libraries=library_versions(),
    )
    return Prepared(manifest, questions, methods)


def jobs_of(prepared: Prepared, directory: RunWriter, *, keep_traces: bool) -> Iterator[Job]:
    """List every question for every method, all methods of a question together, so that partial results compare."""
    gold_by = prepared.manifest.corpus.gold_by
    for repeat in range(prepared.manifest.repeats):
        methods = [_for_repeat(settings, directory, repeat) for settings in prepared.methods.values()]
        for question in prepared.questions:
            for settings in methods:
                yield Job(question, settings, repeat, keep_traces, not gold_names(question, gold_by))


def _for_repeat(settings: Context, directory: RunWriter, repeat: int) -> Context:
    """Give each repeat replies and a seed of its own."""
    seed = None if settings.seed is None else settings.seed + repeat
    return settings.model_copy(update={"cache_dir": directory.cache(repeat), "seed": seed})


def _renaming(wanted: Wanted, questions: Sequence[EvalQuestion]) -> Renaming | None:
    """Make the map of names, and write it to the run's folder; None where nothing is renamed."""
    if wanted.rename is None:
        return None
    if wanted.corpus is not None:
        raise SettingsError("--rename renames the passages that come with the data set; leave --corpus out")
    _refuse_without_passages(wanted, questions, ", which --rename needs; choose another data set")
    renaming = read_renaming(open_corpus(wanted.dataset, None).records(Reading()), wanted.rename)
    if not is_index(wanted.out / CORPUS):
        wanted.out.mkdir(parents=True, exist_ok=True)
        write_renaming(wanted.out / RENAMING, renaming)
    return renaming


def _refuse_other_names(wanted: Wanted) -> None:
    """Refuse to ask with some names in a corpus with others, as a run that never began may have left it behind."""
    seed = renaming_seed(wanted.out / RENAMING)
    if is_index(wanted.out / CORPUS) and seed != wanted.rename:
        had = "not renamed" if seed is None else f"renamed with the seed {seed}"
        raise SettingsError(f"the passages in {wanted.out} are {had}; give the same again, or choose another --out")


def _refuse_without_passages(wanted: Wanted, questions: Sequence[EvalQuestion], what_to_do: str) -> None:
    if not wanted.dataset.is_dir() and not questions[0].contexts:
        raise SettingsError(f"{wanted.dataset.name} has no passages of its own{what_to_do}")


def _corpus(
    wanted: Wanted, questions: Sequence[EvalQuestion], renaming: Renaming | None, progress: Progress | None
) -> tuple[str, str]:
    """Return the retriever's spec, and what the manifest calls it."""
    own = wanted.out / CORPUS
    if wanted.corpus is None:
        _refuse_without_passages(wanted, questions, "; name a corpus with --corpus")
        if not is_index(own):
            if renaming:
                records = renamed_records(renaming, open_corpus(wanted.dataset, None).records(Reading()))
                _build_from(records, own, progress)
            else:
                build_index(wanted.dataset, own, progress=progress)
        return f"bm25:{own}", CONTEXTS
    if not wanted.add_contexts:
        return wanted.corpus, wanted.corpus
    if not is_index(own):
        _build_from(_united(wanted), own, progress)
    return f"bm25:{own}", f"{wanted.corpus} + {CONTEXTS}"


class _Titled(Protocol):
    """A passage, of an index or of a corpus."""

    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def text(self) -> str: ...


def _united(wanted: Wanted) -> Iterator[_Titled]:
    """Join the passages of a local index and the contexts of the data set."""
    kind, _, folder = str(wanted.corpus).partition(":")
    if kind != "bm25":
        raise SettingsError(f"--add-contexts adds to a local index (bm25:DIR), not to {wanted.corpus!r}")
    stored = open_index(Path(folder)).passages
    yield from (stored[number] for number in range(len(stored)))
    yield from open_corpus(wanted.dataset, None).records(Reading())


def _build_from(passages: Iterable[_Titled], own: Path, progress: Progress | None) -> None:
    """Index passages; of those with one id the first counts."""
    own.parent.mkdir(parents=True, exist_ok=True)
    source = own.parent / SOURCE
    seen: set[str] = set()
    with source.open("w", encoding="ascii") as file:
        for each in passages:
            if each.id not in seen:
                seen.add(each.id)
                file.write(json.dumps({"_id": each.id, "title": each.title, "text": each.text}) + "\n")
    build_index(source, own, format="beir", progress=progress)
    source.unlink()


def _fingerprint(spec: str) -> str:
    kind, _, folder = spec.partition(":")
    path = Path(folder).expanduser()
    return read_manifest(path).corpus.fingerprint if kind in {"bm25", "faiss", "hybrid"} and is_index(path) else ""


def _with_gold_texts(wanted: Wanted, questions: Sequence[EvalQuestion]) -> Iterator[EvalQuestion]:
    """Give the questions of a BEIR folder the texts of their gold passages, from its corpus file."""
    if not (wanted.dataset / "corpus.jsonl").is_file():
        yield from questions
        return
    needed = {name for question in questions for name in question.gold}
    records = open_corpus(wanted.dataset / "corpus.jsonl", "beir").records(Reading())
    texts = {each.id: ContextPassage(each.id, each.title, each.text) for each in records if each.id in needed}
    for question in questions:
        yield replace(question, contexts=tuple(texts[name] for name in question.gold if name in texts))


def _with_gold_only(question: EvalQuestion) -> EvalQuestion:
    """Drop the contexts that nothing needs any more."""
    return replace(question, contexts=tuple(each for each in question.contexts if each.id in question.gold))


def _refuse_missing_gold(methods: Mapping[str, Context], questions: Sequence[EvalQuestion]) -> None:
    for name in methods:
        if takes_gold(name) and (without := next((each for each in questions if not each.contexts), None)):
            raise SettingsError(
                f"method {name!r} is given the gold passages, but the data set has none "
                f"for {without.id!r}; leave it out"
            )


def _gold_by(wanted: Wanted, retriever: BaseRetriever, questions: Sequence[EvalQuestion]) -> GoldBy:
    """Find out whether the corpus knows the gold passages by the data set's ids, else by their titles."""
    if wanted.corpus is None or wanted.add_contexts:
        return "ids"
    gold = (each for question in questions for each in question.contexts)
    for passage in islice(gold, _PROBES):
        found = retriever.invoke(f"{passage.title} {passage.text}"[:_PROBE_LENGTH])
        if passage.id in {document.id for document in found}:
            return "ids"
    return "titles" if any(question.gold_titles for question in questions) else "none"


def _hash(ids: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(ids).encode("utf-8", "surrogatepass")).hexdigest()
