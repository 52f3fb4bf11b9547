"""The corpus of a run: the contexts of the data set, renamed or as they are, an index of the user's, or both."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Protocol

from langchain_core.retrievers import BaseRetriever

from hopgraph.state import SettingsError
from hopgraph.tools.apps.evaluation.batch.run_manifest import GoldBy
from hopgraph.tools.apps.evaluation.batch.run_spec import RunSpec
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.renaming import Renamer, rename_records
from hopgraph.tools.retrieval import build_index, open_index
from hopgraph.tools.retrieval.corpora import CorpusReading, open_corpus
from hopgraph.tools.retrieval.index_builder import Progress
from hopgraph.tools.retrieval.index_manifest import is_index, read_manifest

CORPUS = "corpus"
"""The folder of a run that holds the index of the data set's own contexts."""
SOURCE = "corpus.jsonl"
"""The file from which that index is built where it differs from the data set; deleted afterwards."""
CONTEXTS = "contexts"
"""What a manifest calls them."""
_PROBES = 20
_PROBE_LENGTH = 300


def require_contexts(spec: RunSpec, questions: Sequence[EvalQuestion], what_to_do: str) -> None:
    """Refuse a data set without passages; `what_to_do` ends the sentence.

    Raises:
        SettingsError: there are none.
    """
    if not spec.dataset.is_dir() and not questions[0].contexts:
        raise SettingsError(f"{spec.dataset.name} has no passages of its own{what_to_do}")


def make_corpus(
    spec: RunSpec, questions: Sequence[EvalQuestion], renaming: Renamer | None, progress: Progress | None
) -> tuple[str, str]:
    """Make the corpus where there is none yet; return the retriever's spec and its name in the manifest.

    Raises:
        SettingsError: the data set has no passages and no corpus is named, or nothing can be added to that corpus.
        CorpusError: the data set or the corpus cannot be read.
    """
    own = spec.out / CORPUS
    if spec.corpus is None:
        require_contexts(spec, questions, "; name a corpus with --corpus")
        if not is_index(own):
            if renaming:
                records = rename_records(renaming, open_corpus(spec.dataset, None).records(CorpusReading()))
                _build_from(records, own, progress)
            else:
                build_index(spec.dataset, own, progress=progress)
        return f"bm25:{own}", CONTEXTS
    if not spec.add_contexts:
        return spec.corpus, spec.corpus
    if not is_index(own):
        _build_from(_corpus_and_contexts(spec), own, progress)
    return f"bm25:{own}", f"{spec.corpus} + {CONTEXTS}"


class _Titled(Protocol):
    """A passage, of an index or of a corpus."""

    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def text(self) -> str: ...


def _corpus_and_contexts(spec: RunSpec) -> Iterator[_Titled]:
    """Chain the passages of a local index and the contexts of the data set."""
    kind, _, folder = str(spec.corpus).partition(":")
    if kind != "bm25":
        raise SettingsError(f"--add-contexts adds to a local index (bm25:DIR), not to {spec.corpus!r}")
    stored = open_index(Path(folder)).passages
    yield from (stored[number] for number in range(len(stored)))
    yield from open_corpus(spec.dataset, None).records(CorpusReading())


def _build_from(passages: Iterable[_Titled], own: Path, progress: Progress | None) -> None:
    """Index passages; of several with the same id the first is kept."""
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


def corpus_fingerprint(retriever: str) -> str:
    """Return the fingerprint of a local index's corpus; empty for any other retriever."""
    kind, _, folder = retriever.partition(":")
    path = Path(folder).expanduser()
    return read_manifest(path).corpus.fingerprint if kind in {"bm25", "faiss", "hybrid"} and is_index(path) else ""


def detect_gold_key(spec: RunSpec, retriever: BaseRetriever, questions: Sequence[EvalQuestion]) -> GoldBy:
    """Detect whether the corpus has the gold passages under the data set's ids, else under their titles."""
    if spec.corpus is None or spec.add_contexts:
        return "ids"
    gold = (each for question in questions for each in question.contexts)
    for passage in islice(gold, _PROBES):
        found = retriever.invoke(f"{passage.title} {passage.text}"[:_PROBE_LENGTH])
        if passage.id in {document.id for document in found}:
            return "ids"
    return "titles" if any(question.gold_titles for question in questions) else "none"
