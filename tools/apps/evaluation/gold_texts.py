"""The texts of gold passages that a data set keeps apart from its questions."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from hopgraph.tools.apps.evaluation.eval_questions import ContextPassage, EvalQuestion
from hopgraph.tools.retrieval.corpora import CorpusReading, open_corpus


def add_gold_texts(dataset: Path, questions: Sequence[EvalQuestion]) -> Iterator[EvalQuestion]:
    """Give the questions of a BEIR folder the texts of their gold passages, from its corpus file.

    Returns:
        The questions in their order; as they are where the data set is a file, or has no corpus file. A gold passage
        that the corpus lacks has no text.

    Raises:
        CorpusError, BadRecordError: the corpus file cannot be read.
    """
    corpus = dataset / "corpus.jsonl"
    if not corpus.is_file():
        yield from questions
        return
    needed = {name for question in questions for name in question.gold}
    records = open_corpus(corpus, "beir").records(CorpusReading())
    texts = {each.id: ContextPassage(each.id, each.title, each.text) for each in records if each.id in needed}
    for question in questions:
        yield replace(question, contexts=tuple(texts[name] for name in question.gold if name in texts))
