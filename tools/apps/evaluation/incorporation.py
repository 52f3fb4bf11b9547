"""How passages change answers from memory: GenGround's analysis of knowledge incorporation (section 7.2).

The paper has people judge each hop; here the true answers of the hops are given, as MuSiQue's decompositions
have them, and an answer is right when a true one occurs in it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from operator import add

from hopgraph.state import StepEvent
from hopgraph.state.events import Revised, parse_event
from hopgraph.tools.apps.evaluation.metrics import COVER_EM


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
        return Incorporation(*map(add, astuple(self), astuple(other)))

    @property
    def hops(self) -> int:
        """How many hops were judged."""
        return sum(astuple(self))

    @property
    def success_rate(self) -> float:
        """Share of hops that end right; the paper has 0.532. 0 without hops."""
        return (self.kept_right + self.corrected) / (self.hops or 1)

    @property
    def failure_rate(self) -> float:
        """Share of hops whose wrong answer was not corrected. 0 without hops."""
        return self.stayed_wrong / (self.hops or 1)

    @property
    def error_rate(self) -> float:
        """Share of hops whose right answer was revised into a wrong one; the paper has 0.056. 0 without hops."""
        return self.spoilt / (self.hops or 1)


def measure_incorporation(trace: Iterable[StepEvent], gold: Mapping[int, Sequence[str]]) -> Incorporation:
    """Judge the hops of one run by its `revised` events, in any order.

    `gold` has by hop number, from 1, the true answer with its aliases; hops that are not in it are not judged.
    """
    total = Incorporation()
    for event in map(parse_event, trace):
        if isinstance(event, Revised) and (answers := gold.get(event.hop)):
            before, after = (COVER_EM(answer, answers) == 1.0 for answer in (event.generated, event.answer))
            total += Incorporation(
                kept_right=int(before and after),
                corrected=int(after and not before),
                stayed_wrong=int(not after and not before),
                spoilt=int(before and not after),
            )
    return total
