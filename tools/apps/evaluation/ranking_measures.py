"""Measures of rankings that the library ir_measures defines: nDCG, MRR, MAP and the like (extra `trec`)."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

from hopgraph.state import SettingsError
from hopgraph.tools.io.optional_packages import require


def parse_measures(names: Sequence[str]) -> dict[str, Any]:
    """Read measures as ir_measures names them (nDCG@10, RR, AP); return name → measure.

    SettingsError: one that it does not have. SpecError: the package is missing.
    """
    if not names:
        return {}
    ir_measures, found = require("ir_measures", "trec"), dict[str, Any]()
    for name in names:
        try:
            measure: Any = ir_measures.parse_measure(name)
            measure.validate_params()
        except (NameError, ValueError, AssertionError, KeyError) as error:
            raise SettingsError(
                f"measure {name!r:.80}: ir_measures does not know it ({error}); write for example nDCG@10"
            ) from None
        found[name] = measure
    return found


def measure_rankings(measures: Mapping[str, Any], qrels: str, run: str) -> dict[str, list[float]]:
    """Measure each question of a TREC run that the qrels judge; return name → values, by question."""
    ir_measures: Any = require("ir_measures", "trec")
    ranked = list(ir_measures.read_trec_run(io.StringIO(run)))
    judged = list(ir_measures.read_trec_qrels(io.StringIO(qrels)))
    values: dict[str, list[float]] = {name: [] for name in measures}
    names = {measure: name for name, measure in measures.items()}
    for each in ir_measures.iter_calc([*names], judged, ranked):
        values[names[each.measure]].append(each.value)
    return values


def judged_only(qrels: str, queries: Sequence[str]) -> str:
    """Return the lines of qrels that judge one of these queries."""
    asked = frozenset(queries)
    return "".join(line for line in qrels.splitlines(keepends=True) if line.partition(" ")[0] in asked)
