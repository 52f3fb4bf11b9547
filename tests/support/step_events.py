"""Step events of records, as they are on the wire."""

from hopgraph.state import Event, StepEvent


def step_event(event: Event, *, step: int = 1, path: str = "node", number: int = 0) -> StepEvent:
    """Put a record on the wire."""
    return StepEvent(event=event.event, node="node", step=step, path=path, number=number, data=dict(vars(event)))


def step_events(*events: Event) -> list[StepEvent]:
    """Put the records of a run on the wire, one to a superstep."""
    return [step_event(event, step=number) for number, event in enumerate(events, start=1)]
