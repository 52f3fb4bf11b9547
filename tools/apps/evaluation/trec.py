"""What methods retrieved, in the formats of the TREC tools: a run file for each method, and the qrels."""

import re
from collections.abc import Iterator
from urllib.parse import quote

from hopgraph.state import RunError
from hopgraph.tools.apps.evaluation.batch.run_manifest import GoldBy
from hopgraph.tools.apps.evaluation.batch.scores import gold_names, retrieved_names
from hopgraph.tools.apps.evaluation.comparison import Comparison, ScoredMethod

_UNSAFE = re.compile(r"[\s%]")


def format_trec_files(comparison: Comparison) -> dict[str, str]:
    """Write the first repeat of every method as a TREC run, and the gold passages as qrels.

    Ids are as in the corpus, titles where gold passages are known by title; white space and `%` in them are
    percent-encoded, since the formats separate fields by spaces. Scores only encode the rank.

    Returns file name → content: `METHOD.run` (`/` in a name becomes `-`) and `qrels`. RunError: gold passages are
    unknown, or known in two ways, or passages were renamed in some of the runs.
    """
    gold_by = comparison.methods[0].reader.manifest.corpus.gold_by
    if any(method.reader.manifest.corpus.gold_by != gold_by for method in comparison.methods):
        raise RunError("some of these runs have gold passages by id, others by title; write each --trec by itself")
    if len({method.renaming for method in comparison.methods}) > 1:
        raise RunError("some of these runs have other names in their passages; write each --trec by itself")
    relevant = "".join(
        f"{safe_id(question.id)} 0 {safe_id(name)} 1\n"
        for question in comparison.questions.values()
        for name in dict.fromkeys(gold_names(question, gold_by))
    )
    if not relevant:
        raise RunError("no TREC files: the data set has no gold passages, or the corpus does not have them")
    runs = {
        f"{method.name.replace('/', '-')}.run": "".join(_run_lines(method, gold_by)) for method in comparison.methods
    }
    return {**runs, "qrels": relevant}


def safe_id(name: str) -> str:
    """Write an id as one field; equal only for equal ids, and never empty."""
    return _UNSAFE.sub(lambda found: quote(found[0], safe=""), name) or "%"


def _run_lines(method: ScoredMethod, gold_by: GoldBy) -> Iterator[str]:
    for outcome in method.reader.latest(method.method).values():
        if outcome["repeat"] or outcome["id"] not in method.rows:
            continue
        names = list(dict.fromkeys(retrieved_names(outcome, gold_by)))
        for rank, name in enumerate(names, start=1):
            yield (
                f"{safe_id(outcome['id'])} Q0 {safe_id(name)} {rank} {len(names) - rank + 1} {safe_id(method.name)}\n"
            )
