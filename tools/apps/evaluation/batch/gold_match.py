"""Find a data set's gold passages in a corpus, by id, title or text, before any model call."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

from langchain_core.retrievers import BaseRetriever

from hopgraph.tools.apps.evaluation.batch.run_directory import GOLD_EXPECTED, GoldBy
from hopgraph.tools.apps.evaluation.eval_questions import ContextPassage, EvalQuestion
from hopgraph.tools.retrieval import open_index
from hopgraph.tools.retrieval.index_folder import index_folder
from hopgraph.tools.retrieval.passage_retriever import IndexRetriever
from hopgraph.tools.retrieval.passage_store import StoredPassage

_MAX_QUERY = 300  # characters


class GoldMatch(NamedTuple):
    """How gold passages are recognized in a corpus."""

    by: GoldBy
    questions: list[EvalQuestion]
    """The questions, with the corpus's ids if passages were matched by text."""
    found: int | None = None
    """Number of gold passages in the corpus; None if unknown."""
    sought: int | None = None


@dataclass
class _Gold:
    """Gold passages, and which of them were seen; texts are compared ignoring white space and case."""

    ids: Collection[str]
    titles: Collection[str]
    texts: Mapping[str, str]
    """Text → the data set's id."""
    seen_ids: set[str] = field(default_factory=set[str])
    seen_titles: set[str] = field(default_factory=set[str])
    by_text: dict[str, str] = field(default_factory=dict[str, str])
    """The data set's id → the corpus's."""

    def look_through(self, passages: Iterable[StoredPassage]) -> None:
        """Record the gold passages among these, until all ids are found."""
        for passage in passages:
            if passage.id in self.ids:
                self.seen_ids.add(passage.id)
                if len(self.seen_ids) == len(self.ids):
                    return
            if passage.title in self.titles:
                self.seen_titles.add(passage.title)
            if self.texts and (name := self.texts.get(_fold(passage.text))) is not None:
                self.by_text.setdefault(name, passage.id)

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """Return (seen, total) by ids, titles and texts, without those of which the gold passages have none."""
        counts = {
            "ids": (len(self.seen_ids), len(self.ids)),
            "titles": (len(self.seen_titles), len(self.titles)),
            "texts": (len(self.by_text), len(self.texts)),
        }
        return {kind: count for kind, count in counts.items() if count[1]}

    @property
    def best(self) -> str:
        """The first of ids, titles and texts with enough matches, else the one with most; empty without matches."""
        shares = {kind: found / sought for kind, (found, sought) in self.counts.items()}
        enough = (kind for kind, share in shares.items() if share >= GOLD_EXPECTED)
        most = max(shares, key=lambda kind: shares[kind], default="")
        return next(enough, most if shares.get(most) else "")

    def match(self, questions: list[EvalQuestion]) -> GoldMatch:
        if not self.best:
            found = max((sought for _, sought in self.counts.values()), default=0)
            return GoldMatch("none", questions, *((0, found) if found else ()))
        if self.best == "texts":
            questions = [_with_ids(each, self.by_text) for each in questions]
        return GoldMatch("titles" if self.best == "titles" else "ids", questions, *self.counts[self.best])


def match_gold(
    questions: Sequence[EvalQuestion],
    retriever: BaseRetriever,
    spec: str,
    *,
    most_read: int = 1_000_000,
    most_searches: int = 300,
) -> GoldMatch:
    """Match gold passages by id, else title, else text: the first that finds enough in the corpus, else the best.

    A local index of at most `most_read` passages is scanned; others are searched for at most `most_searches` passages.
    On the web, which cannot be checked, they are matched by title. Blocks.
    """
    ids: Collection[str] = dict.fromkeys(name for each in questions for name in each.gold)
    titles: Collection[str] = dict.fromkeys(title for each in questions for title in each.gold_titles)
    own = {each.id: each for question in questions for each in question.contexts if each.id in question.gold}
    if not isinstance(retriever, IndexRetriever):
        return GoldMatch("titles" if titles else "none", [*questions])
    folder = index_folder(spec)
    passages = open_index(folder).passages if folder else None
    if passages is not None and len(passages) > most_read and (own or titles):
        passages = None
    if passages is not None:
        gold = _Gold(ids, frozenset(titles), _texts(own.values()))
        gold.look_through(passages)
        return gold.match([*questions])
    chosen = [*islice(own.values(), most_searches)]
    gold = _search_for(retriever, chosen, [] if own else [*islice(titles, most_searches)])
    if gold.best == "texts" and len(chosen) < len(own):  # every passage needs its corpus id
        gold = _search_for(retriever, [*own.values()])
    return gold.match([*questions])


def _texts(passages: Iterable[ContextPassage]) -> dict[str, str]:
    return {_fold(each.text): each.id for each in passages if each.text}


def _search_for(retriever: BaseRetriever, passages: Sequence[ContextPassage], titles: Sequence[str] = ()) -> _Gold:
    """Search for passages by title and text, and for further titles."""
    ids, named = frozenset(each.id for each in passages), frozenset([*titles, *(each.title for each in passages)])
    gold = _Gold(ids, named, _texts(passages))
    queries = (*(f"{each.title} {each.text}"[:_MAX_QUERY] for each in passages), *titles)
    found = (each for query in queries for each in retriever.invoke(query))
    gold.look_through(
        StoredPassage(each.id or "", str(each.metadata.get("title", "")), each.page_content, {}) for each in found
    )
    return gold


def _fold(text: str) -> str:
    return "".join(text.casefold().split())


def _with_ids(question: EvalQuestion, ids: Mapping[str, str]) -> EvalQuestion:
    """Return a question with the corpus's ids for its passages."""
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
