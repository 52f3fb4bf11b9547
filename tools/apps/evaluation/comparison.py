"""Compare methods on the same questions: overall, by type, by number of hops, and where questions are lost."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Literal, NamedTuple, get_args

import numpy as np
from pydantic import JsonValue

from hopgraph.state import RunError
from hopgraph.tools.apps.evaluation.batch.merged_runs import merge_parts
from hopgraph.tools.apps.evaluation.batch.run_directory import GoldBy, Outcome, RunReader, models_in
from hopgraph.tools.apps.evaluation.batch.scores import (
    BASE,
    BOUND,
    PerQuestion,
    average_repeats,
    deviation,
    gold_names,
    retrieved_names,
    score_repeats,
)
from hopgraph.tools.apps.evaluation.cost_estimate import PriceTable
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.metrics import EXACT_MATCH
from hopgraph.tools.apps.evaluation.significance import (
    Interval,
    bootstrap,
    cluster_bootstrap,
    cluster_permutation_test,
    find_clusters,
    holm,
    permutation_test,
    questions_needed,
)

Loss = Literal["right", "answered wrongly", "not answered", "not retrieved", "parse failure", "budget", "failed"]
"""The outcome of a question; if it is not right, the last of these that applies."""
LOSSES: tuple[Loss, ...] = get_args(Loss)


class ScoredMethod(NamedTuple):
    """One method of one run."""

    name: str
    """The method, prefixed with the run's name if several runs have it."""
    method: str
    reader: RunReader
    rows: PerQuestion
    losses: dict[str, Loss]
    """Question id → outcome of its first repeat, without questions whose answers are unknown."""
    repeats: list[PerQuestion]
    """The rows of each repeat; `rows` has their means."""

    @property
    def settings(self) -> Mapping[str, JsonValue]:
        """Its settings in the manifest."""
        return self.reader.manifest.methods[self.method]

    @property
    def renaming(self) -> int | None:
        """Seed of the run's renaming; None if names were not renamed."""
        return self.reader.manifest.dataset.renamed

    @property
    def model(self) -> str:
        """Its model's spec."""
        return models_in(self.settings)[0]

    @property
    def model_label(self) -> str:
        """Its model for tables over data sets; for a rehearsal without the file, which differs between data sets."""
        name, mark, options = self.model.partition("?")
        return f"rehearsal{mark}{options}" if name.startswith("rehearsal:") else self.model


class Difference(NamedTuple):
    """The paired difference between two methods on the questions that both have finished."""

    name: str
    score: str
    n: int
    mean: float
    """Mean of this method's score minus the other's."""
    ci95: Interval
    p: float
    """Two-sided paired permutation test."""
    p_holm: float
    """The same, Holm-corrected for the number of differences in the table (Holm 1979)."""
    clusters: int
    """Number of clusters of the questions (`find_clusters`); if it is n, the cluster results equal those above."""
    cluster_ci95: Interval | None
    """Cluster bootstrap interval; None for a single cluster."""
    cluster_p: float
    """Permutation test with one sign per cluster."""
    cluster_p_holm: float
    needed: float | None
    """Sample size to detect this difference with power 0.8 (`questions_needed`)."""
    sd: float | None
    """Standard deviation of the mean over repeats; None unless both have repeats."""


@dataclass(frozen=True)
class Comparison:
    """Runs over the same questions."""

    questions: dict[str, EvalQuestion]
    """Questions of the first run; in other runs they may be renamed."""
    methods: list[ScoredMethod]

    @cached_property
    def clusters(self) -> dict[str, int]:
        """Question id → cluster number from `find_clusters`."""
        return dict(zip(self.questions, find_clusters([*self.questions.values()]), strict=True))

    @property
    def default_base(self) -> str:
        """The default baseline of the tests: one-step retrieval, else the first method."""
        return BASE if any(each.method == BASE for each in self.methods) else self.methods[0].method

    def groups(self, key: Callable[[EvalQuestion], str]) -> dict[str, list[str]]:
        """Return question ids grouped by `key`, sorted; questions with an empty key are left out."""
        parts: dict[str, list[str]] = defaultdict(list)
        for name, question in self.questions.items():
            parts[key(question)].append(name)
        return {group: names for group, names in sorted(parts.items()) if group}

    def mean(self, method: ScoredMethod, score: str, ids: Iterable[str] | None = None) -> float | None:
        """Return the mean of a score over the finished questions among `ids` (default: all); None if none has it."""
        rows = method.rows.values() if ids is None else (method.rows.get(name, {}) for name in ids)
        values = [row[score] for row in rows if score in row]
        return fmean(values) if values else None

    def interval(self, method: ScoredMethod, score: str) -> Interval | None:
        """Return the bootstrap interval of a score's mean; None if no question has it."""
        values = [row[score] for row in method.rows.values() if score in row]
        return bootstrap(values) if values else None

    def seconds(self, method: ScoredMethod, percentile: float) -> float | None:
        """Return a percentile of the seconds per answer, without failures; None without answers."""
        every = [row["seconds"] for repeat in method.repeats for row in repeat.values() if not row["failed"]]
        return float(np.percentile(every, percentile)) if every else None

    def point(self, method: ScoredMethod, *costs: str) -> tuple[float, float] | None:
        """Return the sum of a method's mean costs, and its F1; None if one of them is missing."""
        means = [mean for name in (*costs, "f1") if (mean := self.mean(method, name)) is not None]
        return (sum(means[:-1]), means[-1]) if len(means) > len(costs) else None

    def frontier(self, *costs: str) -> list[ScoredMethod]:
        """Return the Pareto-optimal methods by cost and F1, cheapest first, without the oracle with gold passages."""
        choices = [each for each in self.methods if each.method != BOUND]
        points = [(*point, each) for each in choices if (point := self.point(each, *costs))]
        front: list[tuple[float, float, ScoredMethod]] = []
        for cost, f1, each in sorted(points, key=lambda point: (point[0], -point[1])):
            if not front or f1 > front[-1][1] or (cost, f1) == front[-1][:2]:
                front.append((cost, f1, each))
        return [each for _, _, each in front]

    def differences(self, scores: Iterable[str], against: str) -> list[Difference]:
        """Compare every other method with the one named `against` in each score; RunError if there is none.

        If several runs have this method, each method is compared with the one with the same model and renaming,
        preferably in the same run.
        """
        bases = [each for each in self.methods if against in (each.name, each.method)]
        if not bases:
            names = ", ".join(each.name for each in self.methods)
            raise RunError(f"no method {against!r} in these runs; available: {names}")
        taken = {each.name for each in bases}
        pairs: list[tuple[ScoredMethod, ScoredMethod]] = []
        for method in (each for each in self.methods if each.name not in taken):
            alike = [each for each in bases if (each.model, each.renaming) == (method.model, method.renaming)]
            chosen = sorted(alike if len(bases) > 1 else bases, key=lambda each: each.reader is not method.reader)
            pairs += [(base, method) for base in chosen[:1]]
        return self.paired(scores, pairs)

    def paired(self, scores: Iterable[str], pairs: Sequence[tuple[ScoredMethod, ScoredMethod]]) -> list[Difference]:
        """Compare the second of each pair with the first in each score, with Holm correction over all differences."""
        found = [each for score in scores for base, method in pairs if (each := self._difference(score, base, method))]
        return correct_together(found)

    def _difference(self, score: str, base: ScoredMethod, method: ScoredMethod) -> Difference | None:
        values = {
            name: row[score] - base.rows[name][score]
            for name, row in method.rows.items()
            if score in row and score in base.rows.get(name, {})
        }
        if not values:
            return None
        data, clusters = [*values.values()], [self.clusters[name] for name in values]
        count = len(set(clusters))
        p, ci95 = permutation_test(data), bootstrap(data)
        unclustered = count == len(data)  # then the results must be identical, not resampled
        cluster_p = p if unclustered else cluster_permutation_test(data, clusters)
        cluster_ci95 = ci95 if unclustered else cluster_bootstrap(data, clusters)
        needed = questions_needed(data, clusters)
        return Difference(
            *(method.name, score, len(data), fmean(data), ci95, p, p),
            *(count, cluster_ci95, cluster_p, cluster_p, needed, deviation(_subtract(method, base, score), score)),
        )


def correct_together(found: Sequence[Difference]) -> list[Difference]:
    """Return a table's differences with Holm-corrected p-values (Holm 1979)."""
    plain, clustered = holm([each.p for each in found]), holm([each.cluster_p for each in found])
    return [
        each._replace(p_holm=p, cluster_p_holm=cluster_p)
        for each, p, cluster_p in zip(found, plain, clustered, strict=True)
    ]


def compare_by_dataset(readers: Sequence[RunReader], prices: PriceTable | None = None) -> dict[str, Comparison]:
    """Return data set name → `compare_runs` of its runs.

    The name is the study's label, else the file's name without its suffix, followed by the first of its runs if several
    files have that name.
    """
    groups: dict[tuple[str, str], list[RunReader]] = defaultdict(list)
    first: dict[tuple[str, str], str] = {}
    for reader, label in zip(readers, run_labels([reader.folder for reader in readers]), strict=True):
        dataset = reader.manifest.dataset
        key = dataset.label or Path(dataset.name).stem, dataset.sha256
        groups[key].append(reader)
        first.setdefault(key, label)
    stems = Counter(stem for stem, _ in groups)
    names = {key: key[0] if stems[key[0]] == 1 else f"{key[0]} ({first[key]})" for key in groups}
    return {names[key]: compare_runs(own, prices) for key, own in groups.items()}


def compare_runs(readers: Sequence[RunReader], prices: PriceTable | None = None) -> Comparison:
    """Read runs to compare, merging those over parts of a data set, and add costs.

    RunError: the questions differ (except by renaming), or a run is listed twice.
    """
    readers = merge_parts(readers)
    questions = [{question.id: question for question in reader.questions()} for reader in readers]
    first = readers[0].manifest.dataset
    for reader, own in zip(readers[1:], questions[1:], strict=True):
        other = reader.manifest.dataset
        if (own.keys(), other.name) != (questions[0].keys(), first.name):  # renamed questions may be compared
            raise RunError(
                f"{reader.folder} asked other questions ({other.name}, {other.sample}) than {readers[0].folder} "
                f"({first.name}, {first.sample}); compare runs with the same data set and sample"
            )
    counts = Counter(method for reader in readers for method in reader.manifest.methods)
    labels = run_labels([reader.folder for reader in readers])
    methods = [
        _scored(reader, method, own, f"{label}/{method}" if counts[method] > 1 else method)
        for reader, own, label in zip(readers, questions, labels, strict=True)
        for method in reader.manifest.methods
    ]
    return Comparison(questions[0], [_priced(each, prices or PriceTable()) for each in methods])


def _subtract(method: ScoredMethod, base: ScoredMethod, score: str) -> list[PerQuestion]:
    """Return a method's score minus the baseline's, repeat by repeat, for questions that have both."""
    return [
        {
            name: {score: row[score] - other[name][score]}
            for name, row in own.items()
            if score in row and score in other.get(name, {})
        }
        for own, other in zip(method.repeats, base.repeats, strict=False)
    ]


def _priced(method: ScoredMethod, prices: PriceTable) -> ScoredMethod:
    """Return a method with the cost of each question, if it has a single model with a known price."""
    if len({*models_in(method.settings)}) > 1 or not prices.knows(method.model):
        return method
    tokens = ("prompt_tokens", "completion_tokens")

    def priced(rows: PerQuestion) -> PerQuestion:
        return {
            name: {**row, "cost": prices.price(method.model, *(row[each] for each in tokens))}
            if tokens[0] in row
            else row
            for name, row in rows.items()
        }

    return method._replace(rows=priced(method.rows), repeats=[*map(priced, method.repeats)])


def run_labels(folders: Sequence[Path]) -> list[str]:
    """Return the shortest unique path suffix of each run's folder; RunError if one is listed twice."""
    whole = [folder.expanduser().resolve().parts for folder in folders]
    if twice := next((folder for folder, parts in zip(folders, whole, strict=True) if whole.count(parts) > 1), None):
        raise RunError(f"{twice} is listed twice; name each run once")
    length = next(n for n in range(1, 1 + max(map(len, whole))) if len({parts[-n:] for parts in whole}) == len(whole))
    return ["/".join(parts[-length:]).lstrip("/") for parts in whole]


def _scored(reader: RunReader, method: str, questions: Mapping[str, EvalQuestion], name: str) -> ScoredMethod:
    repeats = score_repeats(reader, method, questions)
    rows = average_repeats(repeats, questions)
    losses: dict[str, Loss] = {
        each["id"]: _classify_loss(each, questions[each["id"]], reader.manifest.corpus.gold_by)
        for each in reader.latest(method).values()
        if each["repeat"] == 0 and each["id"] in rows and questions[each["id"]].answers is not None
    }
    return ScoredMethod(name, method, reader, rows, losses, repeats)


def _classify_loss(outcome: Outcome, question: EvalQuestion, gold_by: GoldBy) -> Loss:
    if outcome["error"]:
        return "failed"
    if EXACT_MATCH(outcome["answer"], question.answers or ()) == 1.0:
        return "right"
    if outcome["stop_reason"] == "budget":
        return "budget"
    usage = outcome["usage"]
    if usage and usage["parse_failures"]:
        return "parse failure"
    found = retrieved_names(outcome, gold_by)
    searched = found or (usage and usage["retrievals"])  # methods without retrieval cannot fail at it
    if searched and not frozenset(found).issuperset(gold_names(question, gold_by)):
        return "not retrieved"
    return "answered wrongly" if outcome["answer"] else "not answered"
