"""Compare methods over the same questions: overall, by type, by number of hops, and where questions are lost."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, NamedTuple, get_args

from hopgraph.state import RunError
from hopgraph.tools.evaluation.questions import EvalQuestion
from hopgraph.tools.evaluation.runs.directory import RunReader
from hopgraph.tools.evaluation.runs.manifest import GoldBy
from hopgraph.tools.evaluation.runs.outcome import Outcome
from hopgraph.tools.evaluation.runs.scores import gold_names
from hopgraph.tools.evaluation.runs.summary import PerQuestion, per_question
from hopgraph.tools.evaluation.statistics import Interval, bootstrap, permutation_test

Loss = Literal["right", "answered wrongly", "not answered", "not retrieved", "parse failure", "budget", "failed"]
"""What became of a question; the last that applies counts, so that each is counted once."""
LOSSES: tuple[Loss, ...] = get_args(Loss)


class Scored(NamedTuple):
    """One method of one run."""

    name: str
    """The method; with the run's name before it where several runs have it."""
    rows: PerQuestion
    losses: dict[str, Loss]
    """Question id → what became of it (of its first repeat)."""


class Difference(NamedTuple):
    """How one method compares with another on the questions that both have finished."""

    name: str
    n: int
    mean: float
    """Of this method's score minus the other's."""
    ci95: Interval
    p: float
    """Two-sided paired permutation test."""
    p_holm: float
    """The same, corrected for the number of methods compared (Holm 1979)."""


@dataclass(frozen=True)
class Comparison:
    """Runs over the same questions."""

    questions: dict[str, EvalQuestion]
    methods: list[Scored]

    def groups(self, key: Callable[[EvalQuestion], str]) -> dict[str, list[str]]:
        """Part the questions by what `key` says of them; without those of which it says nothing.

        Returns:
            Group → ids of its questions, groups in order of their names.
        """
        parts: dict[str, list[str]] = defaultdict(list)
        for name, question in self.questions.items():
            if group := key(question):
                parts[group].append(name)
        return dict(sorted(parts.items()))

    def mean(self, method: Scored, score: str, ids: Iterable[str] | None = None) -> float | None:
        """Average a score over the finished questions among `ids` (all for None); None where none has it."""
        values = values_of(method.rows, score, ids)
        return fmean(values) if values else None

    def interval(self, method: Scored, score: str) -> Interval | None:
        """Bootstrap a score's mean; None where no question has it."""
        values = values_of(method.rows, score)
        return bootstrap(values) if values else None

    def differences(self, score: str, against: str) -> list[Difference]:
        """Compare every other method with one.

        Raises:
            RunError: no method has this name.
        """
        base = next((method for method in self.methods if method.name == against), None)
        if base is None:
            raise RunError(f"no method {against!r} in these runs; there are: {', '.join(m.name for m in self.methods)}")
        found = [_difference(method, base, score) for method in self.methods if method is not base]
        return _holm([each for each in found if each is not None])

    def lost(self, method: Scored) -> Counter[Loss]:
        """Count what became of a method's questions."""
        return Counter(method.losses.values())


def values_of(rows: PerQuestion, score: str, ids: Iterable[str] | None = None) -> list[float]:
    """List a score over questions, those without it left out."""
    chosen = rows if ids is None else [name for name in ids if name in rows]
    return [rows[name][score] for name in chosen if score in rows[name]]


def compare(readers: Sequence[RunReader]) -> Comparison:
    """Read runs to compare them.

    Raises:
        RunError: none, or runs over other questions.
    """
    if not readers:
        raise RunError("name at least one run to compare")
    questions = {question.id: question for question in readers[0].questions()}
    first = readers[0].manifest.dataset
    for reader in readers[1:]:
        other = reader.manifest.dataset
        if (other.ids, other.renamed) != (first.ids, first.renamed):
            raise RunError(
                f"{reader.folder} asked other questions ({other.name}, {other.sample}) than {readers[0].folder} "
                f"({first.name}, {first.sample}); compare runs with the same data set and sample"
            )
    counts = Counter(method for reader in readers for method in reader.manifest.methods)
    return Comparison(
        questions,
        [
            _scored(reader, method, questions, f"{reader.folder.name}/{method}" if counts[method] > 1 else method)
            for reader in readers
            for method in reader.manifest.methods
        ],
    )


def _scored(reader: RunReader, method: str, questions: Mapping[str, EvalQuestion], name: str) -> Scored:
    gold_by = reader.manifest.corpus.gold_by
    rows = per_question(reader, method, questions)
    firsts = (each for each in reader.latest(method).values() if each["repeat"] == 0 and each["id"] in rows)
    losses: dict[str, Loss] = {
        each["id"]: loss_of(each, questions[each["id"]], rows[each["id"]], gold_by) for each in firsts
    }
    return Scored(name, rows, losses)


def loss_of(outcome: Outcome, question: EvalQuestion, scores: Mapping[str, float], gold_by: GoldBy) -> Loss:
    """Tell what became of a question: right by exact match, or the first thing that went wrong."""
    if outcome["error"]:
        return "failed"
    if scores.get("em", 0.0) == 1.0:
        return "right"
    if outcome["stop_reason"] == "budget":
        return "budget"
    if (outcome["usage"] or {}).get("parse_failures"):
        return "parse failure"
    found = outcome["titles"] if gold_by == "titles" else outcome["retrieved"]
    if not frozenset(gold_names(question, gold_by)) <= frozenset(found):
        return "not retrieved"
    return "answered wrongly" if outcome["answer"] else "not answered"


def _difference(method: Scored, base: Scored, score: str) -> Difference | None:
    both = [name for name in method.rows if score in method.rows[name] and score in base.rows.get(name, {})]
    if not both:
        return None
    values = [method.rows[name][score] - base.rows[name][score] for name in both]
    p = permutation_test(values)
    return Difference(method.name, len(both), fmean(values), bootstrap(values), p, p)


def _holm(differences: list[Difference]) -> list[Difference]:
    """Correct p-values for their number, in the order of the methods."""
    corrected: dict[str, float] = {}
    highest = 0.0
    for rank, each in enumerate(sorted(differences, key=lambda each: each.p)):
        highest = max(highest, min(1.0, each.p * (len(differences) - rank)))
        corrected[each.name] = highest
    return [each._replace(p_holm=corrected[each.name]) for each in differences]
