"""Choose some questions of a data set."""

import hashlib
import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from hopgraph.state import SettingsError
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion


@dataclass(frozen=True)
class QuestionSample:
    """Which questions of a data set are asked; by default all."""

    limit: int | None = None
    """How many at most."""
    seed: int | None = None
    """Draw them at random; None: the first ones. A greater limit under the same seed adds to a smaller one."""
    ids: tuple[str, ...] = ()
    """These alone."""

    def __str__(self) -> str:
        """Describe the sample."""
        if self.ids:
            return f"{len(self.ids)} by id"
        if self.limit is None:
            return "all"
        return f"first {self.limit}" if self.seed is None else f"{self.limit} at random (seed {self.seed})"


def parse_sample(text: str | None, limit: int | None, ids: Sequence[str] = ()) -> QuestionSample:
    """Read a sample as the command line gives it: `first`, or `random:SEED`.

    Raises:
        SettingsError: another text, a random sample without a limit, or ids together with either.
    """
    if ids and (limit is not None or text not in (None, "first")):
        raise SettingsError("questions are chosen by id or by --limit and --sample, not by both")
    kind, _, seed = (text or "first").partition(":")
    if kind == "first" and not seed:
        return QuestionSample(limit, None, tuple(ids))
    if kind != "random" or not seed.isdecimal():
        raise SettingsError(f"sample {text!r} is unknown; use first, or random:SEED as in random:7")
    if limit is None:
        raise SettingsError(f"sample {text!r} needs --limit N, the number of questions to draw")
    return QuestionSample(limit, int(seed))


def select_questions(questions: Iterable[EvalQuestion], sample: QuestionSample) -> list[EvalQuestion]:
    """Choose questions; holds only the chosen ones in memory.

    Returns:
        In the order of the file; drawn ones in the order of the draw, which does not depend on the file's.

    Raises:
        SettingsError: an id that no question has.
    """
    if sample.ids:
        ids = frozenset(sample.ids)
        chosen = [question for question in questions if question.id in ids]
        if missing := ids - {question.id for question in chosen}:
            raise SettingsError(f"no question has the id {min(missing)!r}")
        return chosen
    if sample.seed is not None and sample.limit is not None:
        return heapq.nsmallest(sample.limit, questions, key=lambda question: _draw_key(sample.seed, question.id))
    return list(islice(questions, sample.limit))


def _draw_key(seed: int | None, name: str) -> str:
    return hashlib.sha256(f"{seed}:{name}".encode()).hexdigest()
