"""What is lost when people, places and works are renamed: the part of the scores that was memory."""

from hopgraph.tools.apps.evaluation.batch.question_job import takes_gold
from hopgraph.tools.apps.evaluation.comparison import Comparison, Scored
from hopgraph.tools.apps.evaluation.report.cells import Cell, Table, difference_cell, name_cell, share_cell

_NOTE = (
    "F1 in percent on the same questions, as they are and with other names. What a method that answers from memory "
    "loses was memory, and its score under other names is what can be guessed; what a method that searches keeps "
    "comes from the passages. p by the paired permutation test, corrected for the number of methods (Holm)."
)


def renamed_table(comparison: Comparison) -> Table:
    """Put each method of a renamed run beside the same method of a plain run; without rows where there is no pair."""
    pairs = [(plain, each) for each in comparison.methods if (plain := _plain(comparison, each))]
    found = {each.name: each for each in comparison.paired("f1", pairs)}
    rows = [
        [
            name_cell(renamed),
            _source(comparison, renamed),
            share_cell(comparison, plain, "f1"),
            share_cell(comparison, renamed, "f1"),
            difference_cell(found[renamed.name]),
            Cell(found[renamed.name].p_holm, f"{found[renamed.name].p_holm:.4f}"),
        ]
        for plain, renamed in pairs
        if renamed.name in found
    ]
    columns = ["method", "answers from", "F1 plain", "F1 renamed", "difference", "p"]
    return Table("With other names", _NOTE, columns, rows)


def _plain(comparison: Comparison, renamed: Scored) -> Scored | None:
    """Find the same method with the names as they are; the first one where there are several."""
    if renamed.renaming is None:
        return None
    return next((each for each in comparison.methods if each.method == renamed.method and each.renaming is None), None)


def _source(comparison: Comparison, method: Scored) -> Cell:
    """Tell what a method answers from; memory where it neither searches nor is given passages."""
    searches = comparison.mean(method, "retrievals")
    text = "" if searches is None else "passages" if searches or takes_gold(method.method) else "memory"
    return Cell(text or None, text)
