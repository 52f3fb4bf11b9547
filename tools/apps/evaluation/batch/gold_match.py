"""Which of the gold passages a corpus has, by id, title or text: told before anything is asked of a model."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from langchain_core.retrievers import BaseRetriever

from hopgraph.tools.apps.evaluation.batch.run_directory import GOLD_EXPECTED, GoldBy
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.retrieval import open_index
from hopgraph.tools.retrieval.index_folder import is_index
from hopgraph.tools.retrieval.passage_retriever import IndexRetriever
from hopgraph.tools.retrieval.passage_store import StoredPassage

_INDEXES = ("bm25", "faiss", "hybrid", "colbert")
"""The kinds of retrievers that search a folder of this machine."""
_MOST_SEARCHES = 300
_LONGEST_QUERY = 300  # characters


class GoldMatch(NamedTuple):
    """How gold passages are recognized in a corpus."""

    by: GoldBy
    questions: list[EvalQuestion]
    """With the ids of the corpus where they were matched by text."""
    found: int | None = None
    """How many of the gold passages the corpus has; None where it cannot be told."""
    sought: int | None = None


@dataclass
class _Gold:
    """Gold passages by their names, and what was seen of them; texts are compared without white space and case."""

    ids: Collection[str]
    titles: Collection[str]
    texts: Mapping[str, str]
    """Text → the data set's id."""
    seen_ids: set[str] = field(default_factory=set[str])
    seen_titles: set[str] = field(default_factory=set[str])
    by_text: dict[str, str] = field(default_factory=dict[str, str])
    """The data set's id → the corpus's."""

    def look_through(self, passages: Iterable[StoredPassage]) -> None:
        """Note which gold passages are among these, up to where all ids are."""
        for passage in passages:
            if passage.id in self.ids:
                self.seen_ids.add(passage.id)
                if len(self.seen_ids) == len(self.ids):
                    return
            if passage.title in self.titles:
                self.seen_titles.add(passage.title)
            if self.texts and (name := self.texts.get(_fold(passage.text))) is not None:
                self.by_text.setdefault(name, passage.id)

    def choose(self, questions: list[EvalQuestion]) -> GoldMatch:
        """Take ids, titles or texts, the first of them by which enough was seen, else by which the most."""
        counts: dict[str, tuple[int, int]] = {
            "ids": (len(self.seen_ids), len(self.ids)),
            "titles": (len(self.seen_titles), len(self.titles)),
            "texts": (len(self.by_text), len(self.texts)),
        }
        shares = {kind: found / sought for kind, (found, sought) in counts.items() if sought}
        if not shares:
            return GoldMatch("none", questions)
        enough = (kind for kind, share in shares.items() if share >= GOLD_EXPECTED)
        best = next(enough, max(shares, key=lambda kind: shares[kind]))
        if not shares[best]:
            return GoldMatch("none", questions, 0, max(sought for _, sought in counts.values()))
        if best == "texts":
            questions = [_with_ids(each, self.by_text) for each in questions]
        return GoldMatch("titles" if best == "titles" else "ids", questions, *counts[best])


def match_gold(questions: Sequence[EvalQuestion], retriever: BaseRetriever, spec: str) -> GoldMatch:
    """Match gold passages by id if the corpus has enough of them so, else by title, else by text, else by the best.

    An index of this machine is read through; another one is searched for at most 300 passages. What the web has, no
    search tells: there they are taken by title. Blocks.
    """
    ids: Collection[str] = dict.fromkeys(name for each in questions for name in each.gold)
    titles: Collection[str] = dict.fromkeys(title for each in questions for title in each.gold_titles)
    own = {each.id: each for question in questions for each in question.contexts if each.id in question.gold}
    if not isinstance(retriever, IndexRetriever):
        return GoldMatch("titles" if titles else "none", [*questions])
    folder = _index_folder(spec)
    if not folder:
        own = dict(islice(own.items(), _MOST_SEARCHES))
        titles = {each.title for each in own.values()} if own else [*islice(titles, _MOST_SEARCHES)]
        ids = own
    gold = _Gold(ids, frozenset(titles), {_fold(each.text): name for name, each in own.items() if each.text})
    if folder:
        gold.look_through(open_index(folder).passages)
    else:
        queries = [f"{each.title} {each.text}"[:_LONGEST_QUERY] for each in own.values()] or titles
        gold.look_through(_search(retriever, queries))
    return gold.choose([*questions])


def _index_folder(spec: str) -> Path | None:
    kind, colon, place = spec.partition(":")
    folder = Path(place.partition("?")[0] if colon and kind in _INDEXES else spec).expanduser()
    return folder if is_index(folder) else None


def _search(retriever: BaseRetriever, queries: Iterable[str]) -> Iterator[StoredPassage]:
    for query in queries:
        for each in retriever.invoke(query):
            yield StoredPassage(each.id or "", str(each.metadata.get("title", "")), each.page_content, {})


def _fold(text: str) -> str:
    return "".join(text.casefold().split())


def _with_ids(question: EvalQuestion, ids: Mapping[str, str]) -> EvalQuestion:
    """Give a question's passages the ids of the corpus, which has the same texts."""
    return replace(
        question,
        gold=tuple(ids.get(name, name) for name in question.gold),
        sentences=tuple(
            each._replace(passage_id=ids.get(each.passage_id, each.passage_id)) for each in question.sentences
        ),
        hops=tuple(
            each._replace(passage_ids=tuple(ids.get(name, name) for name in each.passage_ids)) for each in question.hops
        ),
        contexts=tuple(each._replace(id=ids.get(each.id, each.id)) for each in question.contexts),
    )
