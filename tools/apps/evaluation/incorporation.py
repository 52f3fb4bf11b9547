"""How passages change answers from memory: GenGround's analysis of knowledge incorporation (section 7.2).

The paper has people judge each hop; here the true answers of the hops are given, as MuSiQue's decompositions
have them, and an answer is right when a true one occurs in it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from hopgraph.state import StepEvent
from hopgraph.state.events import Revised, parse_event
from hopgraph.tools.apps.evaluation.metrics import COVER_EM

_OUTCOMES = {
    (True, True): "kept_right",
    (False, True): "corrected",
    (False, False): "stayed_wrong",
    (True, False): "spoilt",
}
"""By whether the answer from memory was right, and whether the one after reading the passages is."""


def measure_incorporation(trace: Iterable[StepEvent], gold: Mapping[int, Sequence[str]]) -> Counter[str]:
    """Judge the hops of one run by its `revised` events, in any order; the counts of several questions add up.

    `gold` has by hop number, from 1, the true answer with its aliases; hops that are not in it are not judged.

    Returns:
        How many hops were `kept_right`, `corrected`, `stayed_wrong` or `spoilt`. As shares of all hops the paper has
        0.532 for the first two together (success rate) and 0.056 for the last (error rate).
    """
    counts: Counter[str] = Counter()
    for event in map(parse_event, trace):
        if isinstance(event, Revised) and (answers := gold.get(event.hop)):
            before, after = (COVER_EM(answer, answers) == 1.0 for answer in (event.generated, event.answer))
            counts[_OUTCOMES[before, after]] += 1
    return counts
