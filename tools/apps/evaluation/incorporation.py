"""How passages change answers from memory: GenGround's analysis of knowledge incorporation (section 7.2).

The paper has people judge each hop; here the true answers of the hops are given, as MuSiQue's decompositions
have them, and an answer is right when a true one occurs in it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hopgraph.state import StepEvent
from hopgraph.state.events import Revised, parse_event
from hopgraph.tools.apps.evaluation.metrics import COVER_EM, AnswerMetric


@dataclass(frozen=True, slots=True)
class Incorporation:
    """How many hops' immediate answers were right or wrong, before and after the passages were read."""

    kept_right: int = 0
    """Right from memory, and right in the end."""
    corrected: int = 0
    """Wrong or missing from memory, right in the end."""
    stayed_wrong: int = 0
    """Wrong or missing from memory, wrong in the end."""
    spoilt: int = 0
    """Right from memory, wrong in the end."""

    def __add__(self, other: "Incorporation") -> "Incorporation":
        """Add the hops of another question."""
        return Incorporation(
            self.kept_right + other.kept_right,
            self.corrected + other.corrected,
            self.stayed_wrong + other.stayed_wrong,
            self.spoilt + other.spoilt,
        )

    @property
    def hops(self) -> int:
        """How many hops were judged."""
        return self.kept_right + self.corrected + self.stayed_wrong + self.spoilt

    @property
    def success_rate(self) -> float:
        """Share of hops that end right; the paper has 0.532. 0 without hops."""
        return self._share(self.kept_right + self.corrected)

    @property
    def failure_rate(self) -> float:
        """Share of hops whose wrong answer was not corrected. 0 without hops."""
        return self._share(self.stayed_wrong)

    @property
    def error_rate(self) -> float:
        """Share of hops whose right answer was revised into a wrong one; the paper has 0.056. 0 without hops."""
        return self._share(self.spoilt)

    def _share(self, count: int) -> float:
        return count / self.hops if self.hops else 0.0


def measure_incorporation(
    trace: Iterable[StepEvent], gold: Mapping[int, Sequence[str]], *, metric: AnswerMetric = COVER_EM
) -> Incorporation:
    """Judge the hops of one run by its `revised` events.

    Args:
        trace: The run's events, in any order.
        gold: By hop number, from 1, the true answer with its aliases; hops that are not in it are not judged.
        metric: A full score counts as right.
    """
    total = Incorporation()
    for event in map(parse_event, trace):
        if not isinstance(event, Revised) or not (answers := gold.get(event.hop)):
            continue
        before, after = (metric(answer, answers) >= 1.0 for answer in (event.generated, event.answer))
        total += Incorporation(
            kept_right=int(before and after),
            corrected=int(after and not before),
            stayed_wrong=int(not after and not before),
            spoilt=int(before and not after),
        )
    return total
