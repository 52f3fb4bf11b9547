"""The tables of a comparison, as plain data for any output format."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from statistics import stdev

from hopgraph.tools.apps.evaluation.batch.judging import read_judgements
from hopgraph.tools.apps.evaluation.batch.question_job import requires_gold
from hopgraph.tools.apps.evaluation.batch.run_directory import SIMULATED_MODELS, describe_missing_gold, models_in
from hopgraph.tools.apps.evaluation.batch.scores import BASE, BOUND, deviation, gap_closed, gap_parts, gold_names
from hopgraph.tools.apps.evaluation.comparison import LOSSES, Comparison, ScoredMethod
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.significance import bootstrap_ratio
from hopgraph.tools.text.sanitize import pluralize

SCORE_NAMES = {
    "em": "EM",
    "f1": "F1",
    "acc": "Acc",
    "judged": "judge",
    "grounded_em": "grounded EM",
    "grounded_f1": "grounded F1",
    "recall@2": "R@2",
    "recall@5": "R@5",
    "recall@10": "R@10",
    "recall@15": "R@15",
    "precision": "precision",
    "s_precision": "S-precision",
    "sentence_precision": "sentence P",
    "sentence_recall": "sentence R",
    "citation_precision": "citation P",
    "citation_recall": "citation R",
}
"""Scores that are shares, shown in percent."""
COST_NAMES = {
    "llm_calls": "model calls",
    "iterations": "iterations",
    "retrievals": "searches",
    "passages": "passages read",
    "prompt_tokens": "prompt tokens",
    "completion_tokens": "completion tokens",
    "cost": "cost",
    "seconds": "seconds",
    "parse_failures": "unusable replies",
    "failed": "failed",
}
"""Costs, per question."""
_TESTED = {"f1": "F1", "em": "EM", "recall@15": "R@15"}


@dataclass(frozen=True)
class Cell:
    """One entry: its exact value, and its text for display."""

    value: float | str | None
    """Unrounded; None for a missing entry."""
    text: str
    low: float | None = None
    """The lower end of the value's 95 % interval, if it has one."""
    high: float | None = None
    sd: float | None = None
    """The standard deviation over repeats, if there are several."""
    rank: int = 0
    """1: best of its column, 2: second best; 0: neither, or not ranked."""
    mark: str = ""
    """`*` or `**` for a significant difference from the baseline; not in the text."""
    p: float | None = None
    """The p-value of that test."""

    @property
    def brief(self) -> str:
        """The text without the interval."""
        return self.text.partition(" [")[0] if self.low is not None else self.text


@dataclass(frozen=True)
class Table:
    """A titled table; the first column names the methods."""

    title: str
    note: str
    """How to read it; may be empty."""
    columns: list[str]
    rows: list[list[Cell]]
    groups: Sequence[str] = ()
    """Group of each column, e.g. a data set, empty for the first; empty if there are no groups."""
    sections: Sequence[str] = ()
    """Group of each row, e.g. a model; empty if there are no groups."""

    def flat(self) -> "Table":
        """Return the table with groups and sections as part of the column and row names."""
        groups, sections = self.groups or [""] * len(self.columns), self.sections or [""] * len(self.rows)
        columns = [f"{group} {name}".strip() for group, name in zip(groups, self.columns, strict=True)]
        names = [row[0].text + (f" ({of})" if of else "") for of, row in zip(sections, self.rows, strict=True)]
        rows = [[text_cell(name), *row[1:]] for name, row in zip(names, self.rows, strict=True)]
        return replace(self, columns=columns, rows=rows, groups=(), sections=())


def text_cell(text: str) -> Cell:
    """Return a text cell; its value is None if the text is empty."""
    return Cell(text or None, text)


def number_cell(value: float | None, digits: int = 0, sd: float | None = None) -> Cell:
    """Return a number with its deviation over repeats, both rounded to `digits`; empty for None."""
    if value is None:
        return Cell(None, "")
    return Cell(value, f"{value:,.{digits}f}" + ("" if sd is None else f" ± {sd:,.{digits}f}"), sd=sd)


def cost_cell(mean: float | None, sd: float | None = None) -> Cell:
    """Return a cost with three significant digits and its deviation over repeats; empty for None."""
    return Cell(mean, "" if mean is None else f"{mean:.3g}" + ("" if sd is None else f" ± {sd:.2g}"), sd=sd)


def percent_cell(
    share: float | None,
    interval: Sequence[float] | None = None,
    *,
    sd: float | None = None,
    digits: int = 1,
    sign: str = "",
) -> Cell:
    """Return a share in percent with one decimal, its deviation over repeats, and its interval with `digits`."""
    if share is None:
        return Cell(None, "")
    text = f"{100 * share:{sign}.1f}" + ("" if sd is None else f" ± {100 * sd:.1f}")
    if interval is None:
        return Cell(share, text, sd=sd)
    ends = ", ".join(f"{100 * end:{sign}.{digits}f}" for end in interval)
    return Cell(share, f"{text} [{ends}]", *interval, sd=sd)


def score_cell(comparison: Comparison, method: ScoredMethod, score: str, digits: int = 1) -> Cell:
    """Return a score's mean, its deviation over repeats, and its interval with `digits`."""
    interval, sd = comparison.interval(method, score), deviation(method.repeats, score)
    return percent_cell(comparison.mean(method, score), interval, sd=sd, digits=digits)


def tables(comparison: Comparison, against: str | None = None, *, plan: bool = False) -> list[Table]:
    """Return all non-empty tables of a comparison; RunError if no method is named `against`.

    `plan` adds a table of the questions needed to separate the methods. As tables are copied on their own, each title
    names the stand-ins that replaced language models, and each note says which gold passages the corpus lacks.
    """
    made = [
        _scores(comparison),
        _costs(comparison),
        frontier_table(comparison),
        _renamed(comparison),
        _judges(comparison),
        _tests(comparison, against or comparison.default_base),
        _groups(comparison, "By type of question", lambda question: question.type),
        _groups(comparison, "By number of hops", _hops),
        _losses(comparison),
        *([_questions_needed(comparison, against or comparison.default_base)] if plan else []),
    ]
    return labeled(comparison, made)


def labeled(comparison: Comparison, made: Sequence[Table]) -> list[Table]:
    """Return the non-empty tables, with stand-ins in their titles and missing gold passages in their notes."""
    label = f" ({kinds}: no language model)" if (kinds := stand_in_kinds(comparison)) else ""
    missing = missing_gold(comparison.methods)
    return [
        replace(table, title=f"{table.title}{label}", note=f"{table.note}{missing}")
        for table in made
        if len(table.columns) > 1 and table.rows
    ]


def missing_gold(methods: Iterable[ScoredMethod]) -> str:
    """Return a note on gold passages that are missing from the corpora of runs; empty if there are none."""
    found = (describe_missing_gold(each.reader.manifest) for each in methods)
    return "".join(f" {each}" for each in dict.fromkeys(found) if each)


def stand_in_kinds(comparison: Comparison) -> str:
    """Return the kinds of stand-ins that answered: `offline`, `rehearsal` or both; empty if there were none."""
    models = [model for method in comparison.methods for model in models_in(method.settings)]
    return " and ".join(sorted({each.partition(":")[0] for each in models if each.startswith(SIMULATED_MODELS)}))


def _hops(question: EvalQuestion) -> str:
    return f"{question.hop_count} hops" if question.hop_count > 1 else "1 hop" if question.hop_count else ""


def as_table(title: str, note: str, rows: Mapping[str, Mapping[str, Cell]]) -> Table:
    """Return a table of method → column → cell without empty columns."""
    if any(cell.sd is not None for row in rows.values() for cell in row.values()):
        note += " ±: standard deviation over repeats."
    columns = dict.fromkeys(name for row in rows.values() for name, cell in row.items() if cell.text)
    empty = text_cell("")
    grid = [[text_cell(method), *(row.get(name, empty) for name in columns)] for method, row in rows.items()]
    return Table(title, note, ["method", *columns], grid)


def _scores(comparison: Comparison) -> Table:
    rows: dict[str, dict[str, Cell]] = {}
    for method in comparison.methods:
        scores = {name: score_cell(comparison, method, score) for score, name in SCORE_NAMES.items()}
        gap = _gap_cell(comparison, method)
        if scores["R@15"].text:
            scores["depth"] = number_cell(comparison.mean(method, "depth"), 1)
        rows[method.name] = {"n": number_cell(len(method.rows)), **scores, "gap closed": gap}
        kept = [name for name, row in method.rows.items() if not row["failed"]]
        if len(kept) < len(method.rows):
            means = {SCORE_NAMES[score]: comparison.mean(method, score, kept) for score in ("em", "f1")}
            rows[method.name] |= {f"{name} without failed": percent_cell(mean) for name, mean in means.items()}
    note = "In percent, with the 95 % bootstrap interval over questions. Grounded: the answer cites its evidence."
    if any("depth" in row for row in rows.values()):
        note += " Depth: how many passages were ranked; R@k cannot rise beyond this k."
    if any(row["gap closed"].text for row in rows.values()):
        note += f" Gap closed: share of the F1 gap between {BASE} and {BOUND} (the reader with gold passages)."
    if len({len(method.rows) for method in comparison.methods}) > 1:
        note += " Not all methods finished the same questions (n); tests compare the common ones."
    return as_table("Scores", note, rows)


def _gap_cell(comparison: Comparison, method: ScoredMethod) -> Cell:
    """Return the share of the gap that a method closes within its run; other runs may have other models."""
    same_run = [each for each in comparison.methods if each.reader is method.reader]
    rows = {each.method: each.rows for each in same_run}
    names = [each.method for each in same_run]
    repeats = zip(*(each.repeats for each in same_run), strict=False)
    shares = [gap_closed(dict(zip(names, each, strict=True)), method.method) for each in repeats]
    known = [share for share in shares if share is not None]
    is_end = method.method in (BASE, BOUND)
    sd = stdev(known) if len(known) > 1 and not is_end else None
    interval = None if is_end else bootstrap_ratio(gap_parts(rows, method.method))
    return percent_cell(gap_closed(rows, method.method), interval, sd=sd, digits=0)


def _costs(comparison: Comparison) -> Table:
    rows = {
        method.name: {label: _cost(comparison, method, name) for name, label in COST_NAMES.items()}
        | latency_cells(comparison, method)
        for method in comparison.methods
    }
    note = (
        "Per question. Replies from a cache count as calls; seconds are as measured, their median and 95th percentile "
        "over single answers."
    )
    return as_table("Costs", note, rows)


def latency_cells(comparison: Comparison, method: ScoredMethod) -> dict[str, Cell]:
    """Return the median and 95th percentile of the seconds per answer."""
    return {
        name: number_cell(comparison.seconds(method, percentile), 2)
        for name, percentile in {"median s": 50, "95 % s": 95}.items()
    }


def _cost(comparison: Comparison, method: ScoredMethod, name: str) -> Cell:
    mean, sd = comparison.mean(method, name), deviation(method.repeats, name)
    if name == "cost":
        return cost_cell(mean, sd)
    return number_cell(mean, 0 if not mean or mean >= 100 else 1 if mean >= 1 else 2, sd)


def frontier_table(comparison: Comparison) -> Table:
    """Return a table of the methods by model calls, with marks for those on the Pareto frontier."""
    unbeaten = {cost: comparison.frontier(cost) for cost in ("llm_calls", "cost")}
    rows: dict[str, dict[str, Cell]] = {}
    placed = [(point, each) for each in comparison.methods if (point := comparison.point(each, "llm_calls"))]
    for _, method in sorted(placed, key=lambda each: (each[0][0], -each[0][1])):
        rows[method.name] = {
            "F1": score_cell(comparison, method, "f1"),
            **{COST_NAMES[name]: _cost(comparison, method, name) for name in unbeaten},
            **{
                f"unbeaten ({COST_NAMES[cost]})": text_cell("✓" * (method in found)) for cost, found in unbeaten.items()
            },
        }
    note = (
        "F1 in percent, and costs per question. ✓: on the Pareto frontier, where no method is as good and cheaper, or "
        "better at the same cost. `hopgraph compare RUN --figures DIR` draws it."
    )
    return as_table("Frontier", note, rows)


def _renamed(comparison: Comparison) -> Table:
    """Compare each method of a renamed run with the same method of a plain run; the loss was due to memory."""
    plain = {each.method: each for each in reversed(comparison.methods) if each.renaming is None}
    renamed = {each.name: each for each in comparison.methods if each.renaming is not None and each.method in plain}
    rows: dict[str, dict[str, Cell]] = {}
    for found in comparison.paired(["f1"], [(plain[each.method], each) for each in renamed.values()]):
        each = renamed[found.name]
        searches = comparison.mean(each, "retrievals")
        source = "" if searches is None else "passages" if searches or requires_gold(each.method) else "memory"
        rows[each.name] = {
            "answers from": text_cell(source),
            "F1 plain": score_cell(comparison, plain[each.method], "f1"),
            "F1 renamed": score_cell(comparison, each, "f1"),
            "difference": percent_cell(found.mean, found.ci95, sd=found.sd, sign="+"),
            "p": number_cell(found.p_holm, 4),
        }
    note = (
        "F1 in percent on the same questions, with their own and with other names. For a method that answers from "
        "memory, the loss was memory and the rest can be guessed; for a method that searches, the rest comes from the "
        "passages. p by the paired permutation test, corrected for the number of methods (Holm)."
    )
    return as_table("With other names", note, rows)


def _judges(comparison: Comparison) -> Table:
    rows: dict[str, dict[str, Cell]] = {}
    for method in comparison.methods:
        if (right := comparison.mean(method, "judged")) is None:
            continue
        judged = read_judgements(method.reader)
        agreement, audit = judged.agreement(method.reader.latest(method.method).values()), judged.audit
        row = {"judge": text_cell(judged.judge), "right": percent_cell(right)}
        if agreement:
            row |= {
                "second judge": text_cell(agreement.judge),
                "agreed": percent_cell(agreement.agreed),
                "kappa": number_cell(agreement.kappa, 2),
            }
        if audit:
            row |= {
                "audited": number_cell(audit.n),
                "own accepted": percent_cell(audit.own_accepted),
                "swapped refused": percent_cell(audit.swapped_refused),
            }
        rows[method.name] = row if agreement or audit else {}
    note = (
        "Right: according to the judge, in percent; agreed and Cohen's kappa on the answers judged by both judges. "
        "Audited: questions shown with another question's gold answers. A judge that then accepts the question's own "
        "answer, or refuses the one shown as gold, relies on its knowledge instead of the gold answers shown."
    )
    return as_table("Judges", note, rows)


def _tests(comparison: Comparison, base: str) -> Table:
    note = (
        f"Difference from {base} on the questions that both have finished, in points, with its 95 % bootstrap "
        "interval; p by the paired permutation test, corrected for all differences of this table (Holm)."
    )
    made = comparison.differences(_TESTED, base)
    rows: dict[str, dict[str, Cell]] = {each.name: {} for each in made}
    if shared := next((each for each in made if each.clusters < each.n), None):
        note += (
            f" By cluster: the same, resampled and tested by clusters of questions that share gold passages or hops ("
            f"{shared.n:,} questions in {pluralize(shared.clusters, 'cluster')})."
        )
    for found in made:
        name = _TESTED[found.score]
        rows[found.name] |= {
            f"{name} difference": percent_cell(found.mean, found.ci95, sd=found.sd, sign="+"),
            f"p ({name})": number_cell(found.p_holm, 4),
        }
        if shared:
            ci95 = found.cluster_ci95
            rows[found.name] |= {
                f"{name} by cluster": text_cell("") if ci95 is None else percent_cell(found.mean, ci95, sign="+"),
                f"p ({name}) by cluster": number_cell(found.cluster_p_holm, 4),
            }
    return as_table(f"Against {base}", note, rows)


def _questions_needed(comparison: Comparison, base: str) -> Table:
    rows: dict[str, dict[str, Cell]] = defaultdict(dict)
    for found in comparison.differences(_TESTED, base):
        name, needed = _TESTED[found.score], found.needed
        rows[found.name] |= {
            f"{name} difference": percent_cell(found.mean, found.cluster_ci95, sign="+"),
            f"questions ({name})": number_cell(None if needed is None else ceil(needed)),
            f"{name} shown by {found.n:,}": percent_cell(
                None if needed is None else abs(found.mean) * (needed / found.n) ** 0.5
            ),
        }
    note = (
        f"Questions needed to show the observed difference from {base} at p < 0.05 with a power of 80 %, and the "
        "smallest difference, in points, that this many questions can show. By the normal approximation, with the "
        "variance between clusters of questions that share gold passages or hops. Empty: no difference."
    )
    return as_table("Questions needed", note, rows)


def _groups(comparison: Comparison, title: str, key: Callable[[EvalQuestion], str]) -> Table:
    groups = comparison.groups(key)
    rows = {
        method.name: {
            f"{name} ({len(ids)})": percent_cell(
                comparison.mean(method, "f1", ids), sd=deviation(method.repeats, "f1", ids)
            )
            for name, ids in groups.items()
        }
        for method in comparison.methods
    }
    return as_table(title, "F1 in percent; in brackets the number of questions.", rows if len(groups) > 1 else {})


def _losses(comparison: Comparison) -> Table:
    counts = {method.name: Counter(method.losses.values()) for method in comparison.methods if method.losses}
    note = (
        "Questions (of the first repeat); right is by exact match. Each wrong question is counted once, in the "
        "rightmost column that applies. Not retrieved: a gold passage is missing from what a search found; unknown "
        "where questions have no gold passages. Parse failure: at least one reply was unusable. Budget: a limit was "
        "reached."
    )
    rows = {name: {loss: number_cell(lost[loss]) for loss in LOSSES} for name, lost in counts.items()}
    for method in comparison.methods:
        gold_by = method.reader.manifest.corpus.gold_by
        if method.name in rows and not any(gold_names(each, gold_by) for each in comparison.questions.values()):
            rows[method.name]["not retrieved"] = Cell(None, "unknown")
    return as_table("Where questions are lost", note, rows)
