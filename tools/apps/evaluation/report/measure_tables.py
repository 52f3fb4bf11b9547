"""Further tables of a comparison: oracle steps, verdicts, confidence, official metrics and rankings."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from hopgraph.tools.apps.evaluation.comparison import Comparison
from hopgraph.tools.apps.evaluation.metrics import EXACT_MATCH
from hopgraph.tools.apps.evaluation.official_predictions import OfficialSet
from hopgraph.tools.apps.evaluation.ranking_measures import measure_rankings
from hopgraph.tools.apps.evaluation.report.tables import (
    Cell,
    Table,
    as_table,
    labeled,
    number_cell,
    percent_cell,
    text_cell,
)
from hopgraph.tools.apps.evaluation.significance import bootstrap
from hopgraph.tools.apps.evaluation.step_oracle import ALL_STEPS, StepCost, step_costs
from hopgraph.tools.apps.evaluation.verdicts import Calibration, judge_verdicts


def measure_tables(
    comparison: Comparison, official: OfficialSet | None = None, measures: Mapping[str, Any] | None = None
) -> list[Table]:
    """Return the non-empty tables; official metrics and ir_measures rankings only if given."""
    made = [
        _verdicts(comparison),
        _confidence(comparison),
        *([_official(comparison, official)] if official else []),
        *([_rankings(comparison, measures)] if measures else []),
        step_table(_step_costs(comparison)),
    ]
    return labeled(comparison, made)


def _step_costs(comparison: Comparison) -> list[StepCost]:
    """Return the oracle steps of all runs, with the methods' names in this comparison."""
    costs = ((method, step_costs(method.reader, [method.method])) for method in comparison.methods)
    return [each._replace(method=method.name) for method, found in costs for each in found]


def step_table(costs: Sequence[StepCost]) -> Table:
    """Return a table of the model's loss in each step that was answered by the oracle."""
    rows: dict[str, dict[str, Cell]] = {}
    for each in costs:
        together = each.step == ALL_STEPS
        rows[f"{each.method}, all steps" if together else f"{each.method}/{each.step}"] = {
            "n": number_cell(each.n),
            "F1": percent_cell(each.oracle_f1 + each.difference),
            "oracle F1": percent_cell(each.oracle_f1),
            "lost": percent_cell(each.difference, each.ci95, sign="+"),
            "first wrong": text_cell("") if together else number_cell(each.first_wrong),
        }
    note = (
        "F1 in percent; oracle F1: with this step answered from the gold annotations; lost: the difference in points, "
        "with its 95 % bootstrap interval over questions. What the oracle misses when it answers all steps is due to "
        "the search and the method. First wrong: wrong questions (exact match, first repeat) for which this is the "
        "first step that corrects the answer when it alone is answered by the oracle. A difference above 0 means that "
        "the oracle did not understand the model's text."
    )
    return as_table("What each step loses", note, rows)


def _verdicts(comparison: Comparison) -> Table:
    """Return the shares of right, wrong and no answers; without rows if no method abstained."""
    found = {each.name: judge_verdicts(each.rows, comparison.questions) for each in comparison.methods}
    rows: dict[str, dict[str, Cell]] = {}
    for name, each in found.items() if any(any(each.abstained) for each in found.values()) else ():
        shares = {"right": each.right, "wrong": each.wrong, "not attempted": each.not_attempted}
        rows[name] = {label: percent_cell(fmean(own), bootstrap(own)) for label, own in shares.items() if own}
        rows[name] |= {
            "right of attempted": percent_cell(each.right_of_attempted),
            "F-score": percent_cell(each.f_score),
            "abstention P": percent_cell(each.abstention_precision),
            "abstention R": percent_cell(each.abstention_recall),
        }
    note = (
        "In percent. Right: by the judge if there was one, else by exact match; an abstention if the question is "
        "unanswerable. Wrong: another answer, or a failure. F-score: the harmonic mean of the shares right of all and "
        "of attempted questions (SimpleQA). Abstention: precision and recall of abstaining on unanswerable questions."
    )
    return as_table("Right, wrong, not attempted", note, rows)


def _confidence(comparison: Comparison) -> Table:
    """Return the calibration of stated confidence, for the methods that ask for it."""
    rows: dict[str, dict[str, Cell]] = {}
    for method in comparison.methods:
        outcomes = method.reader.latest(method.method).values()
        found = Calibration(
            [
                (level, EXACT_MATCH(each["answer"], answers) == 1.0)
                for each in outcomes
                if (level := each.get("confidence")) is not None
                and each["id"] in method.rows
                and (answers := comparison.questions[each["id"]].answers) is not None
            ]
        )
        if found.answers:
            rows[method.name] = {
                "answers": number_cell(len(found.answers)),
                **{f"right at {level}": percent_cell(share) for level, (_, share) in found.levels.items()},
                "ECE": number_cell(found.expected_error, 3),
                "Brier": number_cell(found.brier, 3),
                "AUROC": number_cell(found.auroc, 3),
            }
    note = (
        "Answers of all repeats with a stated confidence from 1 to 5: the percentage right (exact match) at each "
        "level; the expected calibration error and the Brier score, with 1 to 5 as probabilities from 0 to 1; AUROC: "
        "the probability that a right answer has a higher confidence than a wrong one (0.5: no information)."
    )
    return as_table("Confidence", note, rows)


def _rankings(comparison: Comparison, measures: Mapping[str, Any]) -> Table:
    """Return ir_measures' measures over each method's finished questions with gold passages."""
    rows: dict[str, dict[str, Cell]] = {}
    for method in comparison.methods:
        values = measure_rankings(measures, comparison, method)
        cells = {name: percent_cell(fmean(each), bootstrap(each)) for name, each in values.items() if each}
        rows[method.name] = {"n": number_cell(max(map(len, values.values()))), **cells}
    note = "Retrieved passages, in percent, as computed by ir_measures, with the 95 % bootstrap interval."
    return as_table("Rankings", note, rows)


_OFFICIAL = {
    "hotpotqa": "HotpotQA's script; joint: of the answer and its supporting facts",
    "2wikimultihopqa": "2WikiMultihopQA's script; joint: of the answer and its supporting facts, as in HotpotQA, "
    "without evidence triples, which no method predicts",
    "musique": "MuSiQue's script; sufficiency: pairs of which both questions are correctly recognized as answerable or "
    "unanswerable; the group scores are 0 for other pairs",
}


def _official(comparison: Comparison, official: OfficialSet) -> Table:
    """Return the official metrics over each method's finished questions."""
    rows: dict[str, dict[str, Cell]] = {}
    for method in comparison.methods:
        scores = official.scores(method.reader, method.method)
        cells = {_official_name(name): percent_cell(fmean(each), bootstrap(each)) for name, each in scores.items()}
        most = max(map(len, scores.values()), default=0)
        rows[method.name] = {"n": number_cell(most), **cells}
    note = (
        f"In percent, as defined by {_OFFICIAL[official.script]}. Citations count as supporting facts. "
        "First repeat, with the 95 % bootstrap interval over questions."
    )
    return as_table("Official metrics", note, rows)


def _official_name(name: str) -> str:
    shown = {"em": "EM", "f1": "F1", "precision": "P", "recall": "R"}
    return " ".join(shown.get(part, part) for part in name.split("_"))
