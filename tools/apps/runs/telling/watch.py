"""From step events to lines, for people who watch a run."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hopgraph.state import Passage, StepEvent
from hopgraph.state.events import event_order
from hopgraph.tools.apps.runs.telling import AT_ONCE, TELLERS, TEXT_SHOWN, Line, Told
from hopgraph.tools.text.sanitize import sanitize_line, truncate_line

_NUMBERED = frozenset({"query", "deduced"})
"""The events that say which iteration they belong to, and may begin it."""


@dataclass
class Watcher:
    """Collects step events and tells them as lines, superstep by superstep.

    Within a superstep the events are put in order first, so that the account of a run does not depend on
    which of its parallel branches was faster. An event of an unknown kind, or one that lacks what its kind
    should have, is told as its name with its values.
    """

    verbose: bool = False
    passages: dict[str, Passage] = field(default_factory=dict[str, Passage])
    """What the run found so far, by id, for titles and sentences."""
    events: list[StepEvent] = field(default_factory=list[StepEvent])
    """Every event so far."""
    _waiting: list[StepEvent] = field(default_factory=list[StepEvent])
    _hop: object = None
    _said: set[str] = field(default_factory=set[str])

    def see(self, event: StepEvent) -> list[Line]:
        """Take an event.

        Returns:
            The lines of the superstep before, when this event begins a new one, and of an event that is
            told at once; else none.
        """
        lines = self.flush() if self._waiting and event["step"] != self._waiting[-1]["step"] else []
        self.events.append(event)
        if event["event"] in AT_ONCE:
            return [*lines, *self._lines(event, several=False)]
        self._waiting.append(event)
        return lines

    def learn(self, passages: Iterable[Passage]) -> list[Line]:
        """Take the passages of a state that a superstep left behind; returns that superstep's lines."""
        self.passages.update((passage["id"], passage) for passage in passages)
        return self.flush()

    def flush(self) -> list[Line]:
        """Tell what is waiting; none when nothing is."""
        waiting, self._waiting = _results_with_queries(sorted(self._waiting, key=event_order)), []
        counts = Counter(event["event"] for event in waiting)
        lines: list[Line] = []
        for event in waiting:
            if event["event"] in _NUMBERED:
                lines += self._heading(event["data"])
            several = counts[event["event"]] > 1 and event["event"] != "retrieved"
            lines += self._lines(event, several)
        return list(_labelled_once(lines))

    def trace(self) -> list[StepEvent]:
        """List all events in the order of the run, which is the same in every run."""
        return sorted(self.events, key=event_order)

    def _heading(self, data: Mapping[str, Any]) -> list[Line]:
        hop = data.get("hop")
        if hop == self._hop:
            return []
        self._hop = hop
        return [Line("", f"Iteration {sanitize_line(str(hop))}", "heading")]

    def _lines(self, event: StepEvent, several: bool) -> list[Line]:
        tell = TELLERS.get(event["event"])
        if tell is None:
            return self._unknown(event)
        try:
            return tell(Told(event["data"], self.passages, several, self.verbose, self._said))
        except (KeyError, TypeError, ValueError, AttributeError):  # not of the shape that this kind has here
            return self._unknown(event)

    def _unknown(self, event: StepEvent) -> list[Line]:
        shown = ", ".join(f"{key}: {truncate_line(str(value), 60)}" for key, value in event["data"].items())
        text = sanitize_line(f"{event['event']} ({event['node']}) {shown}")
        return [Line("step", text if self.verbose else truncate_line(text, 2 * TEXT_SHOWN), "dim")]


def _labelled_once(lines: Iterable[Line]) -> Iterator[Line]:
    """Leave a marked line's label out where it stands above already."""
    above = ""
    for line in lines:
        repeated = bool(line.mark) and line.label == above
        yield replace(line, label="") if repeated else line
        above = line.label or above


def _results_with_queries(events: list[StepEvent]) -> list[StepEvent]:
    """Put what each query found after the query, where a node reports all queries first.

    Of several equal queries of one task the first found what is reported first.
    """
    found: dict[str, deque[StepEvent]] = {}
    for event in events:
        if event["event"] == "retrieved":
            found.setdefault(_query_of(event), deque()).append(event)
    paired: list[StepEvent] = []
    for event in events:
        results = found.get(_query_of(event), deque())
        if event["event"] == "retrieved":
            # What stands before its query's place, or has none.
            if results and results[0] is event:
                paired.append(results.popleft())
            continue
        paired.append(event)
        if event["event"] == "query" and results:
            paired.append(results.popleft())
    return paired


def _query_of(event: StepEvent) -> str:
    return f"{event['path']}\n{event['data'].get('query')}"
