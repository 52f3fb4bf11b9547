"""Evaluate a student: agreement of a model's replies with held-out examples (RA-ISF, Table 5)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from langchain_core.messages import convert_to_messages
from numpy.typing import NDArray
from pydantic import BaseModel

from hopgraph.nodes.ground import GroundReply
from hopgraph.nodes.judge_relevance import PassageRelevance
from hopgraph.nodes.question_tree import SubQuestions
from hopgraph.nodes.self_knowledge import SelfKnowledge
from hopgraph.state import SpecError
from hopgraph.tools.apps.evaluation.significance import Interval
from hopgraph.tools.io.background import gather_or_cancel
from hopgraph.tools.models import Sampling, UnusableReplyError, parse_reply, resolve_model
from hopgraph.tools.models.send import SendOptions, send
from hopgraph.tools.students.student_record import StudentExample

REPLIES: Mapping[str, type[BaseModel]] = {
    "ra_isf/judge_relevance": PassageRelevance,
    "ra_isf/self_knowledge": SelfKnowledge,
    "ra_isf/decompose": SubQuestions,
    "genground/ground": GroundReply,
}
"""Role → class of its replies."""
YES_NO = frozenset({"ra_isf/judge_relevance", "ra_isf/self_knowledge"})
RESAMPLES, _SEED = 10_000, 0
Outcomes = NDArray[np.float64]
"""Counts of shape (questions, 6): right and wrong for the gold reply yes (or any, if not yes/no), right and wrong for
no, unusable, and false positives."""


@dataclass(frozen=True)
class Score:
    """A measure over all examples."""

    value: float
    interval: Interval
    """95 % bootstrap interval over questions."""


@dataclass(frozen=True)
class StudentScores:
    """A model's scores, and their differences from the previous model's, if any."""

    scores: dict[str, Score]
    differences: dict[str, Score]


async def ask_examples(
    spec: str, role: str, examples: Sequence[StudentExample], parallel: int, progress: Callable[[int, int], None]
) -> list[BaseModel | None]:
    """Send each example's prompt to a model; return the parsed replies in order, None if unusable.

    `progress` is called with (done, total). SpecError: unknown model, or a role without students. ModelError: the model
    fails.
    """
    if role not in REPLIES:
        raise SpecError(f"there is no student for the role {role!r}; roles with students: {', '.join(REPLIES)}")
    handle, done = await resolve_model(spec, Sampling(request_timeout=600)), 0

    async def ask(example: StudentExample) -> BaseModel | None:
        nonlocal done
        messages = convert_to_messages([each.model_dump() for each in example.prompt])
        reply = await send(handle, messages, REPLIES[role], SendOptions(parallel, retries=2))
        done += 1
        progress(done, len(examples))
        try:
            return parse_reply(reply.text, REPLIES[role])
        except UnusableReplyError:
            return None

    return await gather_or_cancel(ask(each) for each in examples)


def count_outcomes(role: str, examples: Sequence[StudentExample], replies: Sequence[BaseModel | None]) -> Outcomes:
    """Count right, wrong and unusable replies by question."""
    rows = {name: row for row, name in enumerate(dict.fromkeys(each.question for each in examples))}
    counts = np.zeros((len(rows), 6))
    for example, reply in zip(examples, replies, strict=True):
        gold = parse_reply(example.reply, REPLIES[role])
        negative = role in YES_NO and not any(gold.model_dump().values())
        right = reply == gold
        row = counts[rows[example.question]]
        row[2 * negative + (not right)] += 1
        row[4] += reply is None
        row[5] += bool(negative and reply is not None and not right)
    return counts


def measure(counts: Outcomes, yes_no: bool) -> dict[str, NDArray[np.float64]]:
    """Return measure → values from counts of shape (…, 6); 0 if the denominator is 0."""
    right_yes, wrong_yes, right_no, wrong_no, unusable, said_yes = np.moveaxis(counts, -1, 0)
    every = right_yes + wrong_yes + right_no + wrong_no
    found = {"accuracy": _share(right_yes + right_no, every), "unusable": _share(unusable, every)}
    if not yes_no:
        return found
    precision, recall = _share(right_yes, right_yes + said_yes), _share(right_yes, right_yes + wrong_yes)
    return {
        **found,
        "balanced_accuracy": (recall + _share(right_no, right_no + wrong_no)) / 2,
        "precision": precision,
        "recall": recall,
        "f1": _share(2 * precision * recall, precision + recall),
    }


def _share(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(part, whole, out=np.zeros_like(np.asarray(part, dtype=np.float64)), where=whole > 0)


def score_replies(after: Outcomes, role: str, before: Outcomes | None = None) -> StudentScores:
    """Score a model, and compare it with the previous one by a paired bootstrap over questions."""
    chosen = np.random.default_rng(_SEED).integers(0, len(after), (RESAMPLES, len(after)))
    every_question = np.arange(len(after))
    weights = np.stack([np.bincount(each, minlength=len(after)) for each in (every_question, *chosen)])
    new = measure(weights @ after, role in YES_NO)
    old = {} if before is None else measure(weights @ before, role in YES_NO)
    differences = {name: _scored(new[name] - values) for name, values in old.items()}
    return StudentScores({name: _scored(values) for name, values in new.items()}, differences)


def _scored(values: NDArray[np.float64]) -> Score:
    """Return a score from the value over all questions, followed by those of the resamples."""
    low, high = np.percentile(values[1:], [2.5, 97.5])
    return Score(float(values[0]), Interval(float(low), float(high)))
