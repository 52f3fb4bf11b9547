"""The tables of what is measured beside scores and costs: steps played, verdicts, a data set's own script, rankings."""

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
    labelled,
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
    """Make these tables but for empty ones, with the data set's own script and measures of ir_measures if asked for."""
    made = [
        _verdicts(comparison),
        _confidence(comparison),
        *([_official(comparison, official)] if official else []),
        *([_rankings(comparison, measures)] if measures else []),
        step_table(_step_costs(comparison)),
    ]
    return labelled(comparison, made)


def _step_costs(comparison: Comparison) -> list[StepCost]:
    """Measure the played steps of all runs, with the methods' names in this comparison."""
    costs = ((method, step_costs(method.reader, [method.method])) for method in comparison.methods)
    return [each._replace(method=method.name) for method, found in costs for each in found]


def step_table(costs: Sequence[StepCost]) -> Table:
    """List what the model loses in each step that was played from the gold annotations."""
    rows: dict[str, dict[str, Cell]] = {}
    for each in costs:
        together = each.step == ALL_STEPS
        rows[f"{each.method}, all steps" if together else f"{each.method}/{each.step}"] = {
            "n": number_cell(each.n),
            "F1": percent_cell(each.played + each.difference),
            "F1 played": percent_cell(each.played),
            "lost": percent_cell(each.difference, each.ci95, sign="+"),
            "first wrong": text_cell("") if together else number_cell(each.first_wrong),
        }
    note = (
        "F1 in percent as it is, and with the step played from the gold annotations, the other steps by the model; "
        "lost: the difference in points, with its 95 % bootstrap interval over questions. What is still missing with "
        "all steps played is lost by the search and by the method itself. First wrong: wrong questions (exact match, "
        "first repeat) that this step, the first in the order of asking, puts right by itself. A difference above 0 "
        "means that the player did not understand what the model wrote."
    )
    return as_table("What each step loses", note, rows)


def _verdicts(comparison: Comparison) -> Table:
    """Count right, wrong and no answers, where there is one of the last, or a question without an answer."""
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
        "In percent. Right: by the judge where there was one, else by exact match; of a question without an answer, by "
        "abstaining. Wrong: another answer, or a failure. F-score: the harmonic mean of what is right of all and of "
        "what was attempted (SimpleQA). Abstention: precision and recall of giving no answer if there is none."
    )
    return as_table("Right, wrong, not attempted", note, rows)


def _confidence(comparison: Comparison) -> Table:
    """Compare the confidence that a model stated with what is right, of the methods that ask for it."""
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
        "Answers with a stated confidence from 1 to 5, of all repeats: how many are right (exact match), in percent, "
        "at each level; the expected calibration error and the Brier score, with 1 to 5 as probabilities of 0 to 1; "
        "AUROC: how often a right answer has the higher confidence (0.5: it says nothing)."
    )
    return as_table("Confidence", note, rows)


def _rankings(comparison: Comparison, measures: Mapping[str, Any]) -> Table:
    """List measures of ir_measures, over the questions with gold passages that each method has finished."""
    rows: dict[str, dict[str, Cell]] = {}
    for method in comparison.methods:
        values = measure_rankings(measures, comparison, method)
        cells = {name: percent_cell(fmean(each), bootstrap(each)) for name, each in values.items() if each}
        rows[method.name] = {"n": number_cell(max(map(len, values.values()))), **cells}
    note = "In percent, of what was retrieved, as ir_measures computes it, with the 95 % bootstrap interval."
    return as_table("Rankings", note, rows)


_OFFICIAL = {
    "hotpotqa": "HotpotQA's script; joint: of the answer and its supporting facts",
    "2wikimultihopqa": "2WikiMultihopQA's script; joint: of the answer and its supporting facts, as HotpotQA has it, "
    "without the evidence triples, which no method gives",
    "musique": "MuSiQue's script; sufficiency: pairs of which both questions are recognized as answerable or not; the "
    "group scores are 0 for other pairs",
}


def _official(comparison: Comparison, official: OfficialSet) -> Table:
    """List the metrics of the data set's own script, over the questions that each method has finished."""
    rows: dict[str, dict[str, Cell]] = {}
    for method in comparison.methods:
        scores = official.scores(method.reader, method.method)
        cells = {_official_name(name): percent_cell(fmean(each), bootstrap(each)) for name, each in scores.items()}
        most = max(map(len, scores.values()), default=0)
        rows[method.name] = {"n": number_cell(most), **cells}
    note = (
        f"In percent, by the definition of {_OFFICIAL[official.script]}. Supporting facts are what an answer cites. "
        "First repeat, with the 95 % bootstrap interval over questions."
    )
    return as_table("Official metrics", note, rows)


def _official_name(name: str) -> str:
    shown = {"em": "EM", "f1": "F1", "precision": "P", "recall": "R"}
    return " ".join(shown.get(part, part) for part in name.split("_"))
