"""Narrate a run: convert its step events to readable lines."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from hopgraph.state import Context, Passage, StepEvent
from hopgraph.state.context import DEFAULT_MODEL, DEFAULT_RETRIEVER
from hopgraph.state.events import Deduced, Event, QuerySent, Retrieved, Retrying, event_order, parse_event
from hopgraph.tools.apps.runs.event_lines import event_lines
from hopgraph.tools.apps.runs.lines import EventView, Line
from hopgraph.tools.io.redact import redact
from hopgraph.tools.models import model_name
from hopgraph.tools.resources import describe_settings
from hopgraph.tools.text.sanitize import sanitize_line


@dataclass
class Narrator(EventView):
    """Converts step events to lines, superstep by superstep, in a fixed order, whichever branch was faster.

    A retried request has its line at once, as it explains the delay.
    """

    events: list[StepEvent] = field(default_factory=list[StepEvent])
    """Every event so far."""
    _waiting: list[StepEvent] = field(default_factory=list[StepEvent])
    _hop: int | None = None

    def add_event(self, event: StepEvent) -> list[Line]:
        """Add an event; return the lines of the previous superstep if this event starts a new one."""
        lines = self.flush() if self._waiting and event["step"] != self._waiting[-1]["step"] else []
        self.events.append(event)
        if event["event"] == Retrying.event:
            return [*lines, *self._lines(parse_event(event))]
        self._waiting.append(event)
        return lines

    def add_passages(self, passages: Iterable[Passage]) -> list[Line]:
        """Add the passages of the state after a superstep; return that superstep's lines."""
        self.passages.update((passage["id"], passage) for passage in passages)
        return self.flush()

    def flush(self) -> list[Line]:
        """Return the lines of pending events, which wait for the end of their superstep."""
        waiting, self._waiting = sorted(self._waiting, key=event_order), []
        events = _results_after_queries(waiting)
        counts = Counter(map(type, events))
        lines, above = list[Line](), ""
        for event in events:
            for line in self._lines(event, parallel=counts[type(event)] > 1 and not isinstance(event, Retrieved)):
                repeated = bool(line.mark) and line.label == above  # a marked line may share the label above it
                lines.append(replace(line, label="") if repeated else line)
                above = line.label or above
        return lines

    def _lines(self, event: Event, *, parallel: bool = False) -> list[Line]:
        self.parallel = parallel
        lines = event_lines(event, self)
        if isinstance(event, QuerySent | Deduced) and event.hop != self._hop:
            self._hop = event.hop
            lines.insert(0, Line("", f"Iteration {self._hop}", "heading"))
        return lines


def _results_after_queries(steps: list[StepEvent]) -> list[Event]:
    """Return the records of events, with each query's results right after it, even if a node reports all queries first.

    Results of equal queries in one task are assigned in order.
    """
    waiting, places = defaultdict[tuple[str, str], deque[int]](deque), list[int]()
    events = [parse_event(step) for step in steps]
    for number, (step, event) in enumerate(zip(steps, events, strict=True)):
        places.append(number)
        if isinstance(event, QuerySent):
            waiting[step["path"], event.query].append(number)
        elif isinstance(event, Retrieved) and (queries := waiting[step["path"], event.query]):
            places[-1] = queries.popleft()
    return [events[number] for number in sorted(range(len(events)), key=places.__getitem__)]


def is_stand_in(settings: Context) -> bool:
    """Return whether the rule-based model answers."""
    return describe_settings(settings)[0] == DEFAULT_MODEL


def run_header(title: str, settings: Context) -> str:
    """Return a one-line summary of the method, model and corpus."""
    model, corpus = (sanitize_line(redact(name)) for name in describe_settings(settings))
    more = [f"{sanitize_line(role)}: {sanitize_line(model_name(given))}" for role, given in settings.models.items()]
    corpora = [corpus]
    if second := settings.second_retriever:
        corpora.append(sanitize_line(redact(second if isinstance(second, str) else type(second).__name__)))
    about = " (bundled sample)" if corpora == [DEFAULT_RETRIEVER] else ""
    return f"{title} · model {', '.join([model, *more])} · corpus {' + '.join(corpora)}{about}"
