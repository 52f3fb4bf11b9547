"""Pass the evidence of one method's run, and its settled queries, on to another method's."""

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config

from hopgraph.state import Evidence, Passage, Update

_KEY = "hopgraph_carried"


@dataclass(frozen=True)
class Carried:
    """An object passed on in a run's config, within this process only: no caller of a server can send one."""

    evidence: Sequence[Evidence]
    passages: Sequence[Passage]
    """The passages that the evidence cites."""
    asked: Sequence[str]
    """The queries that need not be asked again."""


def carrying(carried: Carried) -> RunnableConfig:
    """Return the config of a nested run that starts with it."""
    return {"configurable": {**get_config().get("configurable", {}), _KEY: carried}}


def carried_update() -> Update:
    """Return what `prepare` writes if something was carried into its run; empty in most runs."""
    carried = get_config().get("configurable", {}).get(_KEY)
    if not isinstance(carried, Carried):
        return {}
    return {"evidence": list(carried.evidence), "passages": list(carried.passages), "asked": list(carried.asked)}
