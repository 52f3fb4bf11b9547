"""Ranking measures of ir_measures (nDCG, MRR, MAP …; extra `trec`), and TREC files."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from hopgraph.state import RunError, SettingsError
from hopgraph.tools.apps.evaluation.batch.scores import gold_names, retrieved_names
from hopgraph.tools.apps.evaluation.comparison import Comparison, ScoredMethod
from hopgraph.tools.io.optional_packages import require

_UNSAFE = re.compile(r"[\s%]")
Passages = dict[str, dict[str, int]]
"""Question id → passage → relevance grade, or score that encodes the rank."""


def parse_measures(names: Sequence[str]) -> dict[str, Any]:
    """Parse names of ir_measures (nDCG@10, RR, AP); return name → measure.

    SettingsError: an unknown measure. SpecError: the package is missing.
    """
    found = dict[str, Any]()
    for name in names:
        ir_measures = require("ir_measures", "trec")
        try:
            found[name] = measure = ir_measures.parse_measure(name)
            measure.validate_params()
        except (NameError, ValueError, AssertionError, KeyError) as error:
            raise SettingsError(
                f"measure {name!r:.80}: ir_measures does not know it ({error}); use e.g. nDCG@10"
            ) from None
    return found


def measure_rankings(
    measures: Mapping[str, Any], comparison: Comparison, method: ScoredMethod
) -> dict[str, list[float]]:
    """Measure each finished question with gold passages; return name → values. RunError as in `format_trec_files`."""
    judged = {name: own for name, own in _grades(comparison).items() if name in method.rows}
    values: dict[str, list[float]] = {name: [] for name in measures}
    names = {measure: name for name, measure in measures.items()}
    for each in require("ir_measures", "trec").iter_calc([*names], judged, _ranked(method)):
        values[names[each.measure]].append(each.value)
    return values


def format_trec_files(comparison: Comparison) -> dict[str, str]:
    """Return file name → content: a TREC run for the first repeat of each method, and the gold passages as qrels.

    Ids are the corpus's, or titles if gold passages are known by title; grades are those of the data set's qrels, else
    1; scores only encode the rank. RunError: gold passages are unknown, identified differently between runs, or renamed
    in some runs.
    """
    grades = _grades(comparison)
    runs = {f"{each.name.replace('/', '-')}.run": "".join(_run_lines(each)) for each in comparison.methods}
    lines = (f"{safe_id(key)} 0 {safe_id(name)} {own[name]}\n" for key, own in grades.items() for name in own)
    return {**runs, "qrels": "".join(lines)}


def safe_id(name: str) -> str:
    """Percent-encode white space in an id to make it one field; injective, and never empty."""
    return _UNSAFE.sub(lambda found: quote(found[0], safe=""), name) or "%"


def _grades(comparison: Comparison) -> Passages:
    gold_by = comparison.methods[0].reader.manifest.corpus.gold_by
    if any(method.reader.manifest.corpus.gold_by != gold_by for method in comparison.methods):
        raise RunError("some of these runs have gold passages by id, others by title; write each --trec separately")
    if len({method.renaming for method in comparison.methods}) > 1:
        raise RunError("the passages were renamed differently in these runs; write each --trec separately")
    found: Passages = {}
    for question in comparison.questions.values():
        grades = dict(zip(question.gold, question.grades, strict=bool(question.grades)))
        found[question.id] = {name: grades.get(name, 1) for name in gold_names(question, gold_by)}
    if not any(found.values()):
        raise RunError("no TREC files: the data set has no gold passages, or the corpus does not have them")
    return found


def _ranked(method: ScoredMethod) -> Passages:
    found: Passages = {}
    for outcome in method.reader.latest(method.method).values():
        if not outcome["repeat"] and outcome["id"] in method.rows:
            names = dict.fromkeys(retrieved_names(outcome, method.reader.manifest.corpus.gold_by))
            found[outcome["id"]] = {name: len(names) - place for place, name in enumerate(names)}
    return found


def _run_lines(method: ScoredMethod) -> Iterator[str]:
    for key, ranked in _ranked(method).items():
        for rank, (name, score) in enumerate(ranked.items(), start=1):
            yield f"{safe_id(key)} Q0 {safe_id(name)} {rank} {score} {safe_id(method.name)}\n"
