"""`hopgraph calibrate`: find a reranker's relevance threshold δ on training questions."""

import math
from dataclasses import asdict

from rich.text import Text

from hopgraph.tools.apps.cli.commands import CalibrateOptions
from hopgraph.tools.apps.cli.console import console_on, print_hanging, print_json, print_skipped, show_progress
from hopgraph.tools.apps.cli.settings_options import corpus_spec
from hopgraph.tools.apps.evaluation.datasets import read_questions
from hopgraph.tools.apps.evaluation.threshold_calibration import calibrate
from hopgraph.tools.retrieval import resolve_retriever
from hopgraph.tools.retrieval.corpora import CorpusReading
from hopgraph.tools.scoring.resolve import resolve_reranker
from hopgraph.tools.text.sanitize import sanitize_line


def run_calibrate(options: CalibrateOptions) -> None:
    """Find δ and print how to use it."""
    scorer, retriever = resolve_reranker(options.reranker), resolve_retriever(corpus_spec(options.corpus))
    reading = CorpusReading(options.skip_bad)
    questions = [each.question for each in read_questions(options.dataset.expanduser(), reading=reading)]
    print_skipped("questions", reading.skipped, reading.first_skipped)
    with show_progress({"rerank": "scoring questions"}) as progress:
        count = len(questions)
        found = calibrate(
            questions, retriever, scorer, keep=options.keep, progress=lambda done: progress("rerank", done, count)
        )
    if options.as_json:
        given = {"dataset": str(options.dataset), "corpus": options.corpus, "reranker": scorer.name}
        print_json({**given, "keep": options.keep, **asdict(found)})
        return
    quantiles = " · ".join(f"{share:.0%}: {score:.3f}" for share, score in found.quantiles.items())
    without = f" ({found.without_passages} found no passage)" if found.without_passages else ""
    kept = f"{found.kept:.1%} of {found.questions:,} questions keep a passage{without}"
    name = sanitize_line(scorer.name)
    # Rounded down: a δ just above the one that was found would drop the question that it comes from.
    threshold = f"{math.floor(found.threshold * 10_000) / 10_000:.4f}"
    rows = {
        f"δ = {threshold}": f"for the reranker {name}",
        "kept": kept,
        "best scores": quantiles,
        "use it": f"hopgraph ask … --set reranker={name} --set threshold={threshold}",
    }
    for label, text in rows.items():
        print_hanging(console_on(), Text(label, "bold" if label.startswith("δ") else ""), Text(text), indent=14)
