"""Tables for a paper: scores and costs of methods with one or more models on one or more data sets."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hopgraph.state import SettingsError
from hopgraph.state.errors import did_you_mean
from hopgraph.tools.apps.evaluation.batch.scores import BOUND
from hopgraph.tools.apps.evaluation.comparison import Comparison, Difference, ScoredMethod, correct_together
from hopgraph.tools.apps.evaluation.report.tables import (
    SCORE_NAMES,
    Cell,
    Table,
    cost_cell,
    latency_cells,
    missing_gold,
    number_cell,
    score_cell,
    stand_in_kinds,
    text_cell,
)
from hopgraph.tools.text.sanitize import pluralize

DEFAULT_SCORES = ("em", "f1")
_LEVELS = {0.01: "**", 0.05: "*"}
"""Significance level → mark."""
_ADDRESS = re.compile(r"[?&]base_url=[^&]*")
"""A part of a model's spec that is irrelevant in a paper."""
Columns = Mapping[tuple[str, str], Sequence[Cell]]
"""(Data set, column name) → cell of each row."""


@dataclass(frozen=True)
class PaperRow:
    """A method with a model and settings, on one or more data sets."""

    model: str
    method: str
    name: str
    """The method, with settings that distinguish it from other rows of the same method and model."""
    by_dataset: Mapping[str, ScoredMethod]


def paper_tables(
    comparisons: Mapping[str, Comparison], against: str | None = None, scores: Sequence[str] = DEFAULT_SCORES
) -> list[Table]:
    """Return a table of scores and one of costs for the comparisons of several data sets.

    Marks refer to tests against the method `against` with the same model, by default `default_base`. RunError: a data
    set lacks that method. SettingsError: a score is unknown.
    """
    check_score_names(scores)
    rows = [*paper_rows(comparisons)]
    kinds = " and ".join(filter(None, dict.fromkeys(map(stand_in_kinds, comparisons.values()))))
    label = f" ({kinds}: no language model)" if kinds else ""
    made = _score_table(comparisons, rows, against, scores), _cost_table(comparisons, rows)
    missing = missing_gold(method for comparison in comparisons.values() for method in comparison.methods)
    specs = dict.fromkeys((row.model, each.model_label) for row in rows for each in row.by_dataset.values())
    named = ", ".join(f"{name} is {_ADDRESS.sub('', spec)}" for name, spec in specs if name != spec)
    models = f" Models: {named}." if named else ""
    return [
        replace(each, title=f"{each.title}{label}", note=f"{each.note}{models}{missing}")
        for each in made
        if len(each.columns) > 1
    ]


def check_score_names(scores: Iterable[str]) -> None:
    """Raise SettingsError for an unknown score."""
    for score in scores:
        if score not in SCORE_NAMES:
            raise SettingsError(f"score {score!r:.80} is unknown{did_you_mean(score, SCORE_NAMES)}")


def paper_rows(comparisons: Mapping[str, Comparison]) -> Iterator[PaperRow]:
    """Yield the rows grouped by model; runs with equal settings have separate rows.

    A model has its label in a study, if that is unique.
    """
    found: dict[str, dict[str, list[tuple[str, ScoredMethod]]]] = defaultdict(lambda: defaultdict(list))
    names: dict[str, str] = {}
    for dataset, comparison in comparisons.items():
        for each in comparison.methods:
            found[each.model_label][each.method].append((dataset, each))
            names[each.model_label] = each.reader.manifest.model_label or names.get(each.model_label, "")
    for spec, methods in found.items():
        model = names[spec] if [*names.values()].count(names[spec]) == 1 and names[spec] else spec
        for method, own in methods.items():
            rows: dict[str, dict[str, ScoredMethod]] = defaultdict(dict)
            for dataset, each in own:
                name = f"{method}{_what_differs(each, [other for _, other in own])}"
                rows[each.name if dataset in rows[name] else name][dataset] = each
            yield from (PaperRow(model, method, name, by_dataset) for name, by_dataset in rows.items() if by_dataset)


def _what_differs(method: ScoredMethod, others: Sequence[ScoredMethod]) -> str:
    """Return a method's settings that differ between methods, in brackets; empty if none do."""
    keys = [
        key for key in method.settings if key != "model" and len({repr(each.settings.get(key)) for each in others}) > 1
    ]
    parts = [f"{key}={method.settings[key]}" for key in keys]
    if method.renaming is not None and len({each.renaming for each in others}) > 1:
        parts.append("renamed")
    return f" ({', '.join(parts)})" if parts else ""


def _score_table(
    comparisons: Mapping[str, Comparison], rows: Sequence[PaperRow], against: str | None, scores: Sequence[str]
) -> Table:
    tested = _differences(comparisons, against, scores)
    columns: dict[tuple[str, str], list[Cell]] = {}
    for dataset, comparison in comparisons.items():
        for score in scores:
            of_rows = (row.by_dataset.get(dataset) for row in rows)
            cells = [score_cell(comparison, own, score, 0) if own else text_cell("") for own in of_rows]
            for at, row in enumerate(rows):
                difference = tested.get((dataset, row.by_dataset[dataset].name, score)) if cells[at].text else None
                if difference:
                    mark = next((mark for p, mark in _LEVELS.items() if difference.cluster_p_holm < p), "")
                    cells[at] = replace(cells[at], mark=mark, p=difference.cluster_p_holm)
            for model in dict.fromkeys(row.model for row in rows):
                own = [at for at, row in enumerate(rows) if row.model == model and row.method != BOUND]
                for at, rank in zip(own, _ranks([cells[at] for at in own]), strict=True):
                    cells[at] = replace(cells[at], rank=rank)
            columns[dataset, SCORE_NAMES[score]] = cells
    return _assemble("Comparison of methods", _score_note(comparisons, rows, against, tested), rows, columns)


def _differences(
    comparisons: Mapping[str, Comparison], against: str | None, scores: Sequence[str]
) -> dict[tuple[str, str, str], Difference]:
    """Return (data set, method's name in its comparison, score) → difference, with p-values corrected together."""
    found = {
        (dataset, each.name, each.score): each
        for dataset, comparison in comparisons.items()
        for each in comparison.differences(scores, against or comparison.default_base)
    }
    return dict(zip(found, correct_together([*found.values()]), strict=True))


def _ranks(cells: Sequence[Cell]) -> list[int]:
    """Return ranks by the printed values: 1 for the best, 2 for the second after a single best, else 0."""
    printed = [None if cell.value is None else float(cell.text.split()[0]) for cell in cells]
    values = sorted({each for each in printed if each is not None}, reverse=True)
    if len(values) < 2:
        return [0] * len(cells)
    second = values[1] if printed.count(values[0]) == 1 else None
    return [0 if each is None else 1 if each == values[0] else 2 if each == second else 0 for each in printed]


def _score_note(
    comparisons: Mapping[str, Comparison],
    rows: Sequence[PaperRow],
    against: str | None,
    tested: Mapping[tuple[str, str, str], Difference],
) -> str:
    repeats = {each.reader.manifest.repeats for row in rows for each in row.by_dataset.values()}
    spread = f", mean ± standard deviation over {max(repeats)} repeats" if max(repeats) > 1 else ""
    parts = [f"In percent{spread}, with the 95 % bootstrap interval over questions."]
    of_model = " of its model" if len({row.model for row in rows}) > 1 else ""
    parts.append(f"Bold: best{of_model}; underlined: second best.")
    if any(row.method == BOUND for row in rows):
        parts.append(f"{BOUND} is an upper bound and not ranked.")
    if tested:
        bases = dict.fromkeys(against or each.default_base for each in comparisons.values())
        signs = " over clusters of questions that share gold passages or hops"
        clustered = any(each.clusters < each.n for each in tested.values())
        parts.append(
            f"* p < 0.05, ** p < 0.01 against {', '.join(bases)}{' with the same model' if of_model else ''}: paired "
            f"permutation test{signs if clustered else ''}, corrected for the table's "
            f"{pluralize(len(tested), 'difference')} (Holm)."
        )
    sizes: list[str] = []
    for dataset, comparison in comparisons.items():
        counts = sorted({len(method.rows) for method in comparison.methods})
        clusters = len({comparison.clusters[name] for method in comparison.methods for name in method.rows})
        size = "-".join(f"{each:,}" for each in dict.fromkeys((counts[0], counts[-1])))
        size += f" in {pluralize(clusters, 'cluster')}" if clusters < counts[-1] else ""
        sizes.append(f"{size} ({dataset})" if len(comparisons) > 1 else size)
    return " ".join([*parts, f"n = {', '.join(sizes)} questions."])


def _cost_table(comparisons: Mapping[str, Comparison], rows: Sequence[PaperRow]) -> Table:
    columns: dict[tuple[str, str], list[Cell]] = {}
    for dataset, comparison in comparisons.items():
        made = [_costs(comparison, row.by_dataset.get(dataset)) for row in rows]
        for name in dict.fromkeys(name for each in made for name in each):
            columns[dataset, name] = [each.get(name, text_cell("")) for each in made]
    note = (
        "Per question: model calls, tokens of prompts and replies, cost in the currency of the price table; median and "
        "95th percentile of the seconds per answer. Replies from a cache count as calls, but take almost no time."
    )
    return _assemble("Costs of methods", note, rows, columns)


def _costs(comparison: Comparison, method: ScoredMethod | None) -> dict[str, Cell]:
    if method is None:
        return {}
    tokens = [comparison.mean(method, name) for name in ("prompt_tokens", "completion_tokens")]
    known = [each for each in tokens if each is not None]
    return {
        "calls": number_cell(comparison.mean(method, "llm_calls"), 1),
        "tokens": number_cell(sum(known) if known else None),
        "cost": cost_cell(comparison.mean(method, "cost")),
        **latency_cells(comparison, method),
    }


def _assemble(title: str, note: str, rows: Sequence[PaperRow], columns: Columns) -> Table:
    """Return a table of the non-empty columns."""
    kept = {key: cells for key, cells in columns.items() if any(cell.text for cell in cells)}
    datasets, models = {dataset for dataset, _ in kept}, {row.model for row in rows}
    return Table(
        title,
        note,
        ["method", *(name for _, name in kept)],
        [[text_cell(row.name), *cells] for row, *cells in zip(rows, *kept.values(), strict=True)],
        groups=["", *(dataset for dataset, _ in kept)] if len(datasets) > 1 else [],
        sections=[row.model for row in rows] if len(models) > 1 else [],
    )
