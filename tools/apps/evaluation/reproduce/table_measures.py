"""Measures in the papers' tables that are not scores, computed from the steps of a run's answers, if kept."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from statistics import fmean
from typing import Any, NamedTuple, TypeVar

from hopgraph.state import StepEvent, events
from hopgraph.state.events import Event, parse_event
from hopgraph.tools.apps.evaluation import metrics
from hopgraph.tools.apps.evaluation.batch.run_directory import Outcome, RunReader
from hopgraph.tools.apps.evaluation.batch.scores import gold_names
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.preliminary import annotated_sub_questions
from hopgraph.tools.apps.runs.run_tree import RUN_ROOT

EventT = TypeVar("EventT", bound=Event)
_SETTLED_BY = {"known": "self-knowledge", "passages": "passage relevance"}
"""How RA-ISF settled a question → module; anything else is decomposition."""
_METRICS = metrics.PRECISION, metrics.RECALL, metrics.S_PRECISION
_MODULES = (*_SETTLED_BY.values(), "decomposition")


class Share(NamedTuple):
    """Numerator and denominator; a measure is the ratio of their sums over the answers."""

    of: float
    over: float


@dataclass(frozen=True)
class TracedAnswer:
    """One answer to a question, with its steps."""

    question: EvalQuestion
    outcome: Outcome
    trace: Sequence[StepEvent]
    gold: Sequence[str]
    """The gold passages by the corpus's ids or titles; empty if unknown."""
    by_title: bool
    """True if passages are identified by titles."""
    measured: Mapping[str, int] = field(default_factory=dict[str, int])
    """Counts of one of MIGRES's preliminary experiments."""

    @cached_property
    def events(self) -> list[Event]:
        """The parsed steps."""
        return [*map(parse_event, self.trace)]

    def of(self, kind: type[EventT]) -> list[EventT]:
        """Return the steps of one kind."""
        return [each for each in self.events if isinstance(each, kind)]

    @cached_property
    def shown(self) -> dict[tuple[int, str], list[str]]:
        """(iteration, query) → remaining passages, identified as in `gold`, in step order; United has no query."""
        hops: dict[str, int] = {}
        titles: dict[str, str] = {}
        left: dict[tuple[int, str], list[str]] = {}
        for event in self.events:
            match event:
                case events.QuerySent():
                    hops[event.query] = event.hop
                    continue
                case events.Retrieved() | events.GoldGiven():
                    titles |= dict(zip(event.passage_ids, event.titles, strict=False))
                    ids = event.passage_ids
                case events.Filtered() | events.Compressed():
                    ids = [each["passage_id"] for each in event.kept]
                case events.Reranked() | events.United():
                    ids = event.passage_ids
                case _:
                    continue
            query = "" if isinstance(event, events.United) else event.query
            key = hops.get(query, 1), query
            left.pop(key, None)
            left[key] = [titles.get(each, "") for each in ids] if self.by_title else ids
        return left

    @cached_property
    def sub_answers(self) -> list[tuple[str, ...]]:
        """The answers to the annotated sub-questions, each with its other forms; may be empty."""
        return [each.answers for each in annotated_sub_questions(self.question)]

    @cached_property
    def all_answers(self) -> list[tuple[str, ...]]:
        """The same, with the question's answer if it is not among them."""
        own = self.question.answers or ()
        has_own = not own or any(set(own) & set(each) for each in self.sub_answers)
        return self.sub_answers if has_own else [*self.sub_answers, own]


Measure = Callable[[TracedAnswer], Share]


def _passages_per_iteration(answered: TracedAnswer) -> Share:
    """Count the distinct passages that remain in an iteration (MIGRES, Table 4)."""
    by_hop: dict[int, set[str]] = defaultdict(set)
    for (hop, _), names in answered.shown.items():
        by_hop[hop].update(names)
    return Share(sum(map(len, by_hop.values())), len(by_hop))


def _of_last_shown(metric: metrics.RankingMetric, answered: TracedAnswer) -> Share:
    """Score the last remaining passages, which the reader of BlendFilter and of its baselines saw (Fig. 2)."""
    last = list(answered.shown.values())[-1:]
    return Share(metric(last[0], answered.gold), 1) if last and answered.gold else Share(0, 0)


def _recalled_right(answered: TracedAnswer) -> Share:
    """Count the texts from the model's own knowledge that contain a sub-answer (MIGRES, Table 7)."""
    known = [each.text for each in answered.of(events.Recalled) if each.known]
    right = [text for text in known if any(metrics.COVER_EM(text, answers) for answers in answered.all_answers)]
    return Share(len(right), len(known))


def _hops_that(ways: Collection[tuple[bool, bool]], answered: TracedAnswer) -> Share:
    """Count the hops that are (right from memory, right after reading) in one of these ways (GenGround, Fig. 5).

    In the paper people judge each hop (section 7.2); here an answer is right if it contains the answer to a step that
    no earlier hop has given. Without answers to steps there are no hops.
    """
    left, found = answered.all_answers, list[tuple[bool, bool]]()
    for event in answered.of(events.Revised) if answered.sub_answers else ():
        before, after = (
            [step for step in left if metrics.COVER_EM(said, step)] for said in (event.generated, event.answer)
        )
        found.append((bool(before), bool(after)))
        left = [step for step in left if step not in after[:1]]
    return Share(sum(way in ways for way in found), len(found))


def _questions_of_tree(answered: TracedAnswer) -> Share:
    """Count the question and its sub-questions (RA-ISF, Table 4)."""
    parts = {each["id"] for event in answered.of(events.Decomposed) for each in event.sub_questions}
    return Share(len(parts.union(event.id for event in answered.of(events.TreeStarted))), 1)


def _rate(of: str, over: str) -> Measure:
    """Return the ratio of two counts of an experiment (MIGRES, Tables 1 and 2)."""
    return lambda answered: Share(answered.measured.get(of, 0), answered.measured.get(over, 0))


def _documents(answered: TracedAnswer) -> Share:
    """Count the distinct paragraphs that a review tree retrieved, including pruned ones (Tree of Reviews, Table 5)."""
    nodes = (node for event in answered.of(events.Grown) for node in event.nodes)
    return Share(len({key for node in nodes for key in node["passage_ids"]}), 1)


def _settled(module: str, answered: TracedAnswer) -> Share:
    """Return 1 if this module settled the question (RA-ISF, Table 7); decomposition settles the rest."""
    how = {each.id: each.how for each in answered.of(events.QuestionSettled)}.get(RUN_ROOT, "")
    return Share(_SETTLED_BY.get(how, "decomposition") == module, 1)


def _settled_right(module: str, answered: TracedAnswer) -> Share:
    right = metrics.EXACT_MATCH(answered.outcome["answer"], answered.question.answers or ())
    return Share(right * _settled(module, answered).of, 1)


SHARES: dict[str, Measure] = {
    **{f"shown_{metric.name}": partial(_of_last_shown, metric) for metric in _METRICS},
    "recalled_right": _recalled_right,
    "documents_per_call": lambda each: Share(_documents(each).of, (each.outcome["usage"] or {}).get("llm_calls", 0)),
    "success": partial(_hops_that, ((True, True), (False, True))),
    "answered_directly": partial(_hops_that, ((True, True),)),
    "revised": partial(_hops_that, ((False, True),)),
    "failure": partial(_hops_that, ((False, False),)),
    "misled": partial(_hops_that, ((True, False),)),
    **{f"workload {module}": partial(_settled, module) for module in _MODULES},
    "extraction_precision": _rate("right", "statements"),
    "extraction_recall": _rate("found", "gold"),
    "entailed_precision": _rate("entailed_right", "entailed_statements"),
    "entailed_recall": _rate("entailed_found", "gold"),
    "useful": _rate("useful", "entailed_statements"),
    "all_right": _rate("all_right", "all"),
    "partial_unanswerable": _rate("unanswerable", "partial"),
    "missing_aligned": _rate("aligned", "unanswerable"),
}
"""Name → measure that is a share from 0 to 1."""
COUNTS: dict[str, Measure] = {f"right {module}": partial(_settled_right, module) for module in _MODULES}
"""Name → measure whose sum counts instead of the share."""
MEANS: dict[str, Measure] = {
    "passages_per_iteration": _passages_per_iteration,
    "questions": _questions_of_tree,
    "documents": _documents,
    # The accepted paths (Tree of Reviews, Table 5).
    "evidence": lambda answered: Share(sum(each.verdict == "accept" for each in answered.of(events.Reviewed)), 1),
}
BEST = {"best_em": metrics.EXACT_MATCH, "best_f1": metrics.F1}
"""Name → metric of the best answer among a question's repeats and their samples (BlendFilter, Fig. 4)."""


def measure_run(reader: RunReader, method: str, names: Collection[str]) -> dict[str, float]:
    """Return name → value of the measures that apply to a method's answers; RunError if their steps are damaged."""
    measures = {name: each for name, each in {**SHARES, **COUNTS, **MEANS}.items() if name in names}
    best = {name: each for name, each in BEST.items() if name in names}
    if not measures and not best:
        return {}
    sums: dict[str, list[Share]] = defaultdict(list)
    given: dict[str, list[str]] = defaultdict(list)
    questions = {question.id: question for question in reader.questions()}
    gold_by = reader.manifest.corpus.gold_by
    for outcome in reader.latest(method).values():
        question = questions[outcome["id"]]
        record: Mapping[str, Any] = reader.trace(outcome) if outcome["trace"] else {"trace": ()}
        of_gold = gold_names(question, gold_by), gold_by == "titles"
        answered = TracedAnswer(question, outcome, record["trace"], *of_gold, record.get("measured", {}))
        shortened = answered.of(events.Shortened)[-1:]
        given[question.id] += (shortened[0].sampled if shortened else []) or [outcome["answer"]]
        if answered.trace:
            for name, measure in measures.items():
                sums[name].append(measure(answered))
    found: dict[str, float] = {}
    for name, shares in sums.items():
        of, over = map(sum, zip(*shares, strict=True))
        if over:
            found[name] = of / (reader.manifest.repeats if name in COUNTS else over)
    for name, metric in best.items():
        known = {key: own for key in given if (own := questions[key].answers) is not None}
        if known:
            found[name] = fmean(metrics.best_of(metric, given[key], own) for key, own in known.items())
    return found
