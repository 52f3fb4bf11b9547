"""What RA-ISF's modules did: which of them settled how many questions, and how many of those were right (Table 7)."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, get_args

from hopgraph.state.events import Solved, parse_event
from hopgraph.tools.apps.evaluation.comparison import ScoredMethod
from hopgraph.tools.apps.runs.run_tree import ROOT

Module = Literal["self-knowledge", "passage relevance", "decomposition", "unsolved"]
MODULES: tuple[Module, ...] = get_args(Module)
_SETTLED_BY: dict[str, Module] = {
    "known": "self-knowledge",
    "passages": "passage relevance",
    "composed": "decomposition",
    "best_effort": "decomposition",
}
"""How a question was settled → the module that did it; any other value means unsolved."""


@dataclass(frozen=True)
class Workload:
    """The work of RA-ISF's modules in one run."""

    name: str
    questions: Counter[Module] = field(default_factory=Counter[Module])
    """Of the data set's questions, how many each module settled."""
    right: Counter[Module] = field(default_factory=Counter[Module])
    """How many of those are right by exact match."""
    parts: Counter[Module] = field(default_factory=Counter[Module])
    """Of the sub-questions."""


def count_workload(method: ScoredMethod) -> Workload | None:
    """Add up the settled questions of a method's kept steps; None where it is not RA-ISF or has no steps."""
    if method.method != "ra_isf":
        return None
    work = Workload(method.name)
    for outcome in method.reader.latest(method.method).values():
        if not outcome["trace"] or outcome["repeat"]:
            continue
        settled: dict[str, Module] = {}  # as it ended: a question may be settled more than once
        for event in map(parse_event, method.reader.trace(outcome)["trace"]):
            if isinstance(event, Solved):
                settled[event.id] = _SETTLED_BY.get(event.how, "unsolved")
        if own := settled.pop(ROOT, None):
            work.questions[own] += 1
            work.right[own] += method.losses.get(outcome["id"]) == "right"
        work.parts.update(settled.values())
    return work if work.questions else None
