"""The tables of a comparison, as plain data that any writer can show."""

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
    """One entry: its value for machines, and its text for people."""

    value: float | str | None
    """Unrounded; None for a missing entry."""
    text: str
    low: float | None = None
    """The lower end of the value's 95 % interval, if it has one."""
    high: float | None = None
    sd: float | None = None
    """The value's standard deviation over repeats, if there are several."""
    rank: int = 0
    """1: the best of its column, 2: the second; 0: neither, or not ranked."""
    mark: str = ""
    """`*` or `**` if a test distinguishes it from a baseline's; not in the text."""
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
    """Group of each column, e.g. a data set, the first one empty; empty if all belong together."""
    sections: Sequence[str] = ()
    """Group of each row, e.g. a model; empty if all belong together."""

    def flat(self) -> "Table":
        """Return the table with groups and sections in the names of columns and rows."""
        groups, sections = self.groups or [""] * len(self.columns), self.sections or [""] * len(self.rows)
        columns = [f"{group} {name}".strip() for group, name in zip(groups, self.columns, strict=True)]
        names = [row[0].text + (f" ({of})" if of else "") for of, row in zip(sections, self.rows, strict=True)]
        rows = [[text_cell(name), *row[1:]] for name, row in zip(names, self.rows, strict=True)]
        return replace(self, columns=columns, rows=rows, groups=(), sections=())


def text_cell(text: str) -> Cell:
    """Return a cell with text; without a value if the text is empty."""
    return Cell(text or None, text)


def number_cell(value: float | None, digits: int = 0, sd: float | None = None) -> Cell:
    """Return a number with so many decimals, and its deviation over repeats; empty for None."""
    if value is None:
        return Cell(None, "")
    return Cell(value, f"{value:,.{digits}f}" + ("" if sd is None else f" ± {sd:,.{digits}f}"), sd=sd)


def cost_cell(mean: float | None, sd: float | None = None) -> Cell:
    """Return an amount of money with three significant digits, and its deviation over repeats; empty for None."""
    return Cell(mean, "" if mean is None else f"{mean:.3g}" + ("" if sd is None else f" ± {sd:.2g}"), sd=sd)


def percent_cell(
    share: float | None,
    interval: Sequence[float] | None = None,
    *,
    sd: float | None = None,
    digits: int = 1,
    sign: str = "",
) -> Cell:
    """Return a share in percent with one decimal, its deviation over repeats, its interval with so many `digits`."""
    if share is None:
        return Cell(None, "")
    text = f"{100 * share:{sign}.1f}" + ("" if sd is None else f" ± {100 * sd:.1f}")
    if interval is None:
        return Cell(share, text, sd=sd)
    ends = ", ".join(f"{100 * end:{sign}.{digits}f}" for end in interval)
    return Cell(share, f"{text} [{ends}]", *interval, sd=sd)


def score_cell(comparison: Comparison, method: ScoredMethod, score: str, digits: int = 1) -> Cell:
    """Return a score's mean, its deviation over repeats, and its interval with so many digits."""
    interval, sd = comparison.interval(method, score), deviation(method.repeats, score)
    return percent_cell(comparison.mean(method, score), interval, sd=sd, digits=digits)


def tables(comparison: Comparison, against: str | None = None, *, plan: bool = False) -> list[Table]:
    """Return all non-empty tables of a comparison; RunError if no method is named `against`.

    With a `plan` also that of the questions that would separate the methods.

    Each table's title names the stand-ins that answered in place of language models, and its note says where the corpus
    lacks gold passages, since tables are copied alone.
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
    return labelled(comparison, made)


def labelled(comparison: Comparison, made: Sequence[Table]) -> list[Table]:
    """Name the stand-ins of a comparison in the tables' titles; empty tables are left out."""
    label = f" ({kinds}: no language model)" if (kinds := stand_in_kinds(comparison)) else ""
    missing = missing_gold(comparison.methods)
    return [
        replace(table, title=f"{table.title}{label}", note=f"{table.note}{missing}")
        for table in made
        if len(table.columns) > 1 and table.rows
    ]


def missing_gold(methods: Iterable[ScoredMethod]) -> str:
    """Append to a note how few gold passages the corpora of runs have, if any are missing; empty for none."""
    found = (describe_missing_gold(each.reader.manifest) for each in methods)
    return "".join(f" {each}" for each in dict.fromkeys(found) if each)


def stand_in_kinds(comparison: Comparison) -> str:
    """Name the kinds of stand-ins: `offline`, `rehearsal` or both; empty if none answered."""
    models = [model for method in comparison.methods for model in models_in(method.settings)]
    return " and ".join(sorted({each.partition(":")[0] for each in models if each.startswith(SIMULATED_MODELS)}))


def _hops(question: EvalQuestion) -> str:
    return f"{question.hop_count} hops" if question.hop_count > 1 else "1 hop" if question.hop_count else ""


def as_table(title: str, note: str, rows: Mapping[str, Mapping[str, Cell]]) -> Table:
    """Return a table of method → column → cell, without the columns in which no method has an entry."""
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
        note += " Depth: how many passages were ranked, so R@k with a greater k has no more to find."
    if any(row["gap closed"].text for row in rows.values()):
        note += f" Gap closed: how far F1 gets from {BASE} to {BOUND}, the reader with the gold passages."
    if len({len(method.rows) for method in comparison.methods}) > 1:
        note += " Not all have finished the same questions (n); the tests compare those that both have."
    return as_table("Scores", note, rows)


def _gap_cell(comparison: Comparison, method: ScoredMethod) -> Cell:
    """Return the share of the gap that a method closes within its own run, as other runs may have other models."""
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
        "Per question. Replies from a cache count as the calls that they once were; seconds are as measured, their "
        "median and 95th percentile over single answers."
    )
    return as_table("Costs", note, rows)


def latency_cells(comparison: Comparison, method: ScoredMethod) -> dict[str, Cell]:
    """Return the median and the 95th percentile of the seconds that an answer took."""
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
    """List the methods by their model calls, and mark those that none beats."""
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
        "F1 in percent, and what a question takes. ✓ on the frontier of cost and quality: no method is as good and "
        "cheaper, or better at the same cost. `hopgraph compare RUN --figures DIR` draws it."
    )
    return as_table("Frontier", note, rows)


def _renamed(comparison: Comparison) -> Table:
    """Compare each method of a renamed run with the same method of a plain run: what is lost was memory."""
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
        "F1 in percent on the same questions, as they are and with other names. What a method that answers from memory "
        "loses was memory, and its score under other names is what can be guessed; what a method that searches keeps "
        "comes from the passages. p by the paired permutation test, corrected for the number of methods (Holm)."
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
        "Right, in percent, says the judge; agreed and Cohen's kappa on the answers that both judges have judged. "
        "Audited: questions shown with another's gold answers. A judge that accepts the question's own answer then, or "
        "refuses the one that is shown as gold, in percent, follows what it knows, and not what it is shown."
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
            f" By cluster: the same, resampled and tested by cluster, as questions share gold passages or hops ("
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
        f"Questions that show the difference from {base} at p < 0.05 with a power of 80 %, if it is as large as here, "
        "and the smallest difference, in points, that as many questions as here show so. By the normal approximation, "
        "with the variance between clusters of questions that share gold passages or hops. None: no difference here."
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
