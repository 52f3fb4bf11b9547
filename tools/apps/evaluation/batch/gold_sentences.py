"""Which of the gold sentences an answer's citations quote."""

from collections.abc import Iterator, Sequence

from hopgraph.state import Citation
from hopgraph.tools.apps.evaluation.batch.run_manifest import GoldBy
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.metrics import PRECISION, RECALL


def sentence_scores(citations: Sequence[Citation], question: EvalQuestion, gold_by: GoldBy) -> dict[str, float]:
    """Score quotes against the supporting sentences (METHODS, Metrics; HotpotQA's supporting facts).

    A quote and a gold sentence of the same passage are the same when one of them lies within the other, white
    space apart: the data sets and we do not always part sentences in the same places. A quote over two gold
    sentences finds both.

    Returns:
        `sentence_precision` and `sentence_recall`, each from 0 to 1, 0 without quotes; empty where the data set
        tells no sentences, or the corpus does not know the gold passages.
    """
    if not question.sentences or gold_by == "none":
        return {}
    gold = [str(number) for number in range(len(question.sentences))]
    cited = [name for each in citations if each["kind"] == "passage" for name in _quoted(each, question, gold_by)]
    return {"sentence_precision": PRECISION(cited, gold), "sentence_recall": RECALL(cited, gold)}


def _quoted(citation: Citation, question: EvalQuestion, gold_by: GoldBy) -> Iterator[str]:
    """Name the gold sentences that a quote holds by their numbers; a quote that holds none by itself."""
    quote = " ".join(citation["quote"].split())
    titles = {each.id: each.title for each in question.contexts}
    found = False
    for number, sentence in enumerate(question.sentences):
        text = " ".join(sentence.text.split())
        if gold_by == "ids":
            same = sentence.passage_id == citation["passage_id"]
        else:
            same = titles.get(sentence.passage_id) == citation["title"]
        if same and quote and text and (quote in text or text in quote):
            found = True
            yield str(number)
    if not found:
        yield f"{citation['passage_id']}\n{quote}"
