"""What RA-ISF's modules did: which of them settled how many questions, and how many of those were right (Table 7)."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from hopgraph.state.events import Solved, parse_event
from hopgraph.tools.apps.evaluation.comparison import ScoredMethod
from hopgraph.tools.apps.runs.run_tree import ROOT

Module = Literal["self-knowledge", "passage relevance", "decomposition", "unsolved"]
MODULES: tuple[Module, ...] = get_args(Module)
METHOD = "ra_isf"
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
    if method.method != METHOD:
        return None
    work = Workload(method.name)
    for outcome in method.reader.latest(method.method).values():
        if not outcome["trace"] or outcome["repeat"]:
            continue
        for key, module in _settling_modules(method.reader.trace(outcome)).items():
            if key == ROOT:
                work.questions[module] += 1
                work.right[module] += method.losses.get(outcome["id"]) == "right"
            else:
                work.parts[module] += 1
    return work if work.questions else None


def _settling_modules(record: Mapping[str, Any]) -> dict[str, Module]:
    """Return the module that settled each question of a run, as it ended."""
    events = map(parse_event, record["trace"])
    return {event.id: _SETTLED_BY.get(event.how, "unsolved") for event in events if isinstance(event, Solved)}
