"""From what somebody wants to measure to the jobs of a run: questions, corpus, manifest."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from langchain_core.retrievers import BaseRetriever

from hopgraph.state import Context, SettingsError
from hopgraph.tools.corpora import Reading, open_corpus
from hopgraph.tools.evaluation.datasets import read_questions
from hopgraph.tools.evaluation.questions import ContextPassage, EvalQuestion
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
from hopgraph.tools.evaluation.sampling import Sample, choose
from hopgraph.tools.retrieval import build_index, open_index
from hopgraph.tools.retrieval.build import Progress
from hopgraph.tools.retrieval.manifest import is_index, read_manifest
from hopgraph.tools.retrieval.resolve import resolve_retriever

CORPUS = "corpus"
"""The folder of a run that holds the index of the data set's own contexts."""
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
        SettingsError: no corpus for a data set without contexts, or no gold passages for a method that is
            given them.
        CorpusError: the data set or the corpus cannot be read.
    """
    questions = choose(read_questions(wanted.dataset, wanted.format_name), wanted.sample)
    if not questions:
        raise SettingsError(f"{wanted.dataset}: no questions to ask")
    spec, recorded = _corpus(wanted, questions, progress)
    retriever = resolve_retriever(spec)
    questions = [_with_gold_only(each) for each in _with_gold_texts(wanted, questions)]
    methods = {name: each.model_copy(update={"retriever": spec}) for name, each in wanted.methods.items()}
    _refuse_missing_gold(methods, questions)
    manifest = RunManifest(
        dataset=DatasetFacts(
            name=wanted.dataset.name,
            sha256=file_hash(wanted.dataset),
            sample=str(wanted.sample),
            questions=len(questions),
            ids=_hash([each.id for each in questions]),
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
    by_entailment = prepared.manifest.corpus.gold_by == "none"
    for repeat in range(prepared.manifest.repeats):
        methods = [_for_repeat(settings, directory, repeat) for settings in prepared.methods.values()]
        for question in prepared.questions:
            for settings in methods:
                yield Job(question, settings, repeat, keep_traces, by_entailment or not question.gold_titles)


def _for_repeat(settings: Context, directory: RunWriter, repeat: int) -> Context:
    """Give each repeat replies and a seed of its own."""
    seed = None if settings.seed is None else settings.seed + repeat
    return settings.model_copy(update={"cache_dir": directory.cache(repeat), "seed": seed})


def _corpus(wanted: Wanted, questions: Sequence[EvalQuestion], progress: Progress | None) -> tuple[str, str]:
    """Return the retriever's spec, and what the manifest calls it."""
    own = wanted.out / CORPUS
    if wanted.corpus is None:
        if not wanted.dataset.is_dir() and not questions[0].contexts:
            raise SettingsError(f"{wanted.dataset.name} has no passages of its own; name a corpus with --corpus")
        if not is_index(own):
            build_index(wanted.dataset, own, progress=progress)
        return f"bm25:{own}", CONTEXTS
    if not wanted.add_contexts:
        return wanted.corpus, wanted.corpus
    if not is_index(own):
        _build_united(wanted, own, progress)
    return f"bm25:{own}", f"{wanted.corpus} + {CONTEXTS}"


def _build_united(wanted: Wanted, own: Path, progress: Progress | None) -> None:
    """Index the passages of a local index together with the contexts of the data set."""
    kind, _, folder = str(wanted.corpus).partition(":")
    if kind != "bm25":
        raise SettingsError(f"--add-contexts adds to a local index (bm25:DIR), not to {wanted.corpus!r}")
    own.parent.mkdir(parents=True, exist_ok=True)
    united = own.parent / "corpus.jsonl"
    seen: set[str] = set()
    with united.open("w", encoding="utf-8") as file:
        stored = open_index(Path(folder)).passages
        for number in range(len(stored)):
            passage = stored[number]
            seen.add(passage.id)
            file.write(json.dumps({"_id": passage.id, "title": passage.title, "text": passage.text}) + "\n")
        for record in open_corpus(wanted.dataset, None).records(Reading()):
            if record.id not in seen:
                file.write(json.dumps({"_id": record.id, "title": record.title, "text": record.text}) + "\n")
    build_index(united, own, format="beir", progress=progress)
    united.unlink()


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
