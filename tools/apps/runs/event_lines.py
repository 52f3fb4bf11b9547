"""What each kind of step event says, as lines: `event_lines` dispatches on the event's class.

A new kind of event gets a function here; until it has one it is shown by its name with its values.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import singledispatch

from hopgraph.state import events
from hopgraph.state.events import AnyEvent, UnknownEvent
from hopgraph.tools.apps.runs.lines import MAX_TEXT, EventView, Line
from hopgraph.tools.text.sanitize import pluralize, sanitize_line, truncate_line

_MAX_VALUE = 60
"""Characters of an unknown event's value."""
_UNKNOWN_BECAUSE = {
    "unsolved": "nothing answers it",
    "depth": "it lies too deep",
    "budget": "the budget is used up",
}
_ANSWERED_FROM = {
    "known": "from the model's own knowledge",
    "passages": "from passages",
    "composed": "from the answers to its parts",
    "best_effort": "best effort, since the budget is used up",
}


@singledispatch
def event_lines(event: AnyEvent | UnknownEvent, view: EventView) -> list[Line]:
    """Return the lines of an event; none where they would repeat what is shown elsewhere."""
    name, data = (event.name, event.data) if isinstance(event, UnknownEvent) else (event.event, vars(event))
    values = ", ".join(f"{key}: {truncate_line(str(value), _MAX_VALUE)}" for key, value in data.items())
    text = sanitize_line(f"{name} ({view.node}) {values}")
    return [Line("step", text if view.verbose else truncate_line(text, 2 * MAX_TEXT), "dim")]


# Shown already, or at the run's end: the question, the answer and the reply.
@event_lines.register
def _(_event: events.Planted | events.Answered | events.Replied, _view: EventView) -> list[Line]:
    return []


# Queries and what they found


@event_lines.register
def _(event: events.QuerySent, _view: EventView) -> list[Line]:
    return [Line("search", sanitize_line(event.query))]


@event_lines.register
def _(event: events.Retrieved, view: EventView) -> list[Line]:
    if not event.passage_ids:
        return [Line("found", f"{view.query(event.query)}no passage", "bad")]
    return [Line("found", view.query(event.query) + view.count(event.passage_ids))]


@event_lines.register
def _(event: events.PassagesGiven, view: EventView) -> list[Line]:
    return [Line("given", view.count(event.passage_ids))]


@event_lines.register
def _(event: events.Filtered, view: EventView) -> list[Line]:
    if not event.passages_in:
        return []
    read = f"{pluralize(event.sentences_in, 'sentence')} read" if event.sentences_in else "passages stay whole"
    lines = [_kept_of("filter", event, f", {read}", view)]
    excerpts = [(kept, view.passages.get(kept["passage_id"])) for kept in event.kept]
    for kept, passage in excerpts:
        amount = "whole" if kept["whole"] else pluralize(kept["sentences"], "sentence")
        text = f"{view.title(kept['passage_id'])} ({amount})"
        parts = _cut_spans(passage["text"], kept["spans"]) if passage else []
        lines.append(Line("", f"{text}: {view.cut(' … '.join(parts))}" if parts else text, "good", "+"))
    for kept, passage in excerpts:
        if passage and (gaps := _cut_spans(passage["text"], _gaps(passage["text"], kept["spans"]))):
            text = f"{view.title(kept['passage_id'])}, dropped: {view.cut(' … '.join(gaps))}"
            lines.append(Line("", text, "dim", "-"))
    if dropped := event.passages_in - len(event.kept):
        lines.append(Line("", f"{pluralize(dropped, 'passage')} dropped", "dim", "-"))
    return lines


def _kept_of(label: str, event: events.Filtered | events.Compressed, rest: str, view: EventView, how: str = "") -> Line:
    counts = f"{how}{len(event.kept)} of {pluralize(event.passages_in, 'passage')} kept{rest}"
    return Line(label, view.query(event.query) + counts, "plain" if event.kept else "bad")


def _gaps(text: str, spans: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the spans between the kept spans of a passage."""
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    return [[start, end] for start, end in zip(edges[::2], edges[1::2], strict=False)]


def _cut_spans(text: str, spans: Iterable[Sequence[int]]) -> list[str]:
    return [part for span in spans if (part := text[slice(*span[:2])].strip())]


@event_lines.register
def _(event: events.Reranked, view: EventView) -> list[Line]:
    before = pluralize(event.passages_in, "passage")
    titles = f": {view.titles(event.passage_ids)}" if event.passage_ids else ""
    text = f"{view.query(event.query)}{len(event.passage_ids)} of {before} kept{titles}"
    return [Line("rerank", text, "plain" if event.passage_ids else "bad")]


@event_lines.register
def _(event: events.Compressed, view: EventView) -> list[Line]:
    kept = [Line("", f"{view.title(each['passage_id'])}: {view.cut(each['text'])}", "good", "+") for each in event.kept]
    return [_kept_of("compress", event, "", view, how=f"{sanitize_line(event.how)}: "), *kept]


@event_lines.register
def _(event: events.Weighed, view: EventView) -> list[Line]:
    return [Line("weigh", view.query(event.query) + view.cut(event.judgement))]


@event_lines.register
def _(event: events.Recalled, view: EventView) -> list[Line]:
    if not event.known:
        return [Line("recall", f"{view.query(event.query)}the model knows nothing about it", "dim")]
    return [Line("recall", f"{view.query(event.query)}from the model's own knowledge: {view.cut(event.text)}")]


@event_lines.register
def _(event: events.TopicNamed, _view: EventView) -> list[Line]:
    topic = sanitize_line(event.topic)
    return [Line("topic", topic or "none named", "plain" if topic else "dim")]


@event_lines.register
def _(event: events.Blended, view: EventView) -> list[Line]:
    lines = [Line("blend", pluralize(len(event.queries), "query", "queries"))]
    for name, query in event.queries.items():
        lines.append(Line("", f"{sanitize_line(name).replace('_', ' ')}: {view.cut(query)}", "plain", "•"))
    return lines


@event_lines.register
def _(event: events.United, view: EventView) -> list[Line]:
    return [Line("unite", view.count(event.passage_ids), "plain" if event.passage_ids else "bad")]


# Statements, decisions, samples


@event_lines.register
def _(event: events.Extracted, view: EventView) -> list[Line]:
    count = len(event.statements)
    new = [each for each in event.statements if each["statement"] not in view.statements]
    view.statements.update(each["statement"] for each in new)
    again = f", {count - len(new)} of them seen before" if len(new) < count else ""
    text = f"{view.query(event.query)}{pluralize(count, 'statement')}{again}"
    lines = [Line("extract", text, "plain" if count else "bad")]
    for each in new:
        statement = sanitize_line(each["statement"])
        titles = [title for key in each["passage_ids"] if not statement.startswith(title := view.title(key))]
        lines.append(Line("", f"{statement} [{', '.join(titles)}]" if titles else statement, "plain", "•"))
    if event.dropped:
        text = f"{pluralize(event.dropped, 'statement')} dropped: no passage that was shown is cited"
        lines.append(Line("", text, "warning", "-"))
    return lines


@event_lines.register
def _(event: events.Verified, _view: EventView) -> list[Line]:
    known = f"; {event.repeated} known already" if event.repeated else ""
    if not event.statements:
        return [Line("verify", f"nothing new to check{known}", "dim")] if known else []
    rejected = [each for each in event.statements if not each["kept"]]
    kept = len(event.statements) - len(rejected)
    counts = f"{kept} of {pluralize(len(event.statements), 'statement')} verified{known}"
    lines = [Line("verify", counts, "good" if kept else "bad", "✓" if kept else "✗")]
    texts = (f"rejected: {sanitize_line(each['statement'])} ({each['score']:.2f})" for each in rejected)
    return [*lines, *(Line("", text, "bad", "✗") for text in texts)]


@event_lines.register
def _(event: events.Decided, _view: EventView) -> list[Line]:
    label = "conclude" if event.final else "decide"
    if event.answer:
        confidence = f" (confidence {event.confidence} of 5)" if event.confidence else ""
        return [Line(label, f"answer: {sanitize_line(event.answer)}{confidence}", "good")]
    if event.final:
        return [Line(label, "no answer in what was found", "bad")]
    return [Line(label, "not enough yet"), Line("missing", sanitize_line(event.missing))]


@event_lines.register
def _(event: events.QueriesGenerated, _view: EventView) -> list[Line]:
    if not event.queries:
        return [Line("next", "no new query is left to ask", "bad")]
    # Each query has a line of its own when it is searched.
    return [Line("next", pluralize(len(event.queries), "new query", "new queries"))]


@event_lines.register
def _(event: events.Reasoned, view: EventView) -> list[Line]:
    text, answer = event.reasoning, sanitize_line(event.answer)
    if not text and not answer:
        return [Line("reason", "nothing usable", "dim")]
    return [Line("reason", f"{view.cut(text)} → {answer}" if text and answer else view.cut(text or answer))]


@event_lines.register
def _(event: events.Sampled, _view: EventView) -> list[Line]:
    count = len(event.answers)
    return [Line("sample", f"{pluralize(count, 'answer')}: {_tally(event.answers)}" if count else "no answer")]


@event_lines.register
def _(event: events.Shortened, _view: EventView) -> list[Line]:
    return [Line("shorten", _tally(event.sampled) or "no answer")]


def _tally(answers: Sequence[str]) -> str:
    counts = Counter(sanitize_line(answer) or "no answer" for answer in answers)
    return " · ".join(f"{answer} ({count} times)" if count > 1 else answer for answer, count in counts.items())


@event_lines.register
def _(event: events.Voted | events.Compared, _view: EventView) -> list[Line]:
    label = "vote" if isinstance(event, events.Voted) else "compare"
    if event.chosen is None or not 0 <= event.chosen < len(event.answers):
        return [Line(label, "no sample has an answer", "bad")]
    answer, number = sanitize_line(event.answers[event.chosen]), event.chosen + 1
    if isinstance(event, events.Voted):
        return [Line(label, f"{answer}, first given by sample {number} of {len(event.answers)}")]
    recalls = " · ".join(f"{recall:.2f}" for recall in event.citation_recall)
    return [Line(label, f"sample {number} is chosen: {answer} (citation recall {recalls})")]


# Trees of questions, and hops


@event_lines.register
def _(event: events.Decomposed, view: EventView) -> list[Line]:
    if not event.sub_questions:
        return [Line("split", f"{view.question(event.question)}: no parts", "bad")]
    lines = [Line("split", f"{view.question(event.question)} into {pluralize(len(event.sub_questions), 'part')}")]
    return [*lines, *(Line("", sanitize_line(part["question"]), "plain", "•") for part in event.sub_questions)]


@event_lines.register
def _(event: events.SelfKnowledgeJudged, view: EventView) -> list[Line]:
    text = "the model knows the answer" if event.known else "the model does not know the answer"
    return [Line("know", f"{view.question(event.question)}: {text}", "good" if event.known else "plain")]


@event_lines.register
def _(event: events.RelevanceJudged, view: EventView) -> list[Line]:
    count = f"{len(event.relevant)} of {pluralize(len(event.passage_ids), 'passage')} relevant"
    lines = [Line("judge", f"{view.question(event.question)}: {count}", "plain" if event.relevant else "bad")]
    return [*lines, *(Line("", view.title(key), "good", "+") for key in event.relevant)]


@event_lines.register
def _(event: events.Solved, view: EventView) -> list[Line]:
    label = "compose" if isinstance(event, events.Composed) else "solve"
    if not event.answer:
        why = _UNKNOWN_BECAUSE.get(event.how, "")
        return [Line(label, f"{view.question(event.question)}: unknown{f', {why}' if why else ''}", "bad", "?")]
    source = _ANSWERED_FROM.get(event.how, "")
    text = f"{view.question(event.question)}: {sanitize_line(event.answer)}{f' ({source})' if source else ''}"
    return [Line(label, text, "good", "✓")]


@event_lines.register
def _(event: events.Deduced, view: EventView) -> list[Line]:
    # The question itself has a line when it is searched.
    lines = [Line("think", view.cut(event.thought))] if event.thought else []
    if event.generated:
        lines.append(Line("memory", f"{view.question(event.question)}: {sanitize_line(event.generated)}"))
    if event.repeated or event.limit:
        why = "no more hops are allowed" if event.limit else "it was asked before"
        lines.append(Line("next", f"{view.question(event.question)} is not followed: {why}", "bad"))
    return lines


@event_lines.register
def _(event: events.Grounded, view: EventView) -> list[Line]:
    batch = f"batch {event.batch}, {pluralize(len(event.passage_ids), 'passage')}"
    if event.outcome == "cited":
        return [Line("ground", f"{batch}: {view.title(event.passage_id)}: “{view.cut(event.cited)}”", "good", "✓")]
    if event.outcome == "empty":
        return [Line("ground", f"{batch}: nothing in them helps", "dim", "✗")]
    return [Line("ground", f"{batch}: none of them contains the quote “{view.cut(event.cited)}”", "warning", "✗")]


@event_lines.register
def _(event: events.Revised, view: EventView) -> list[Line]:
    answer, generated = sanitize_line(event.answer), sanitize_line(event.generated)
    if not answer:
        return [Line("answer", f"{view.question(event.question)}: unknown", "bad", "?")]
    text = f"{view.question(event.question)}: {answer}"
    if not event.grounded:
        where = "from memory; no passage supports it" if generated else "no passage is cited for it"
        return [Line("answer", f"{text} ({where})", "warning", "✓")]
    change = f" (from memory it was {generated})" if generated and event.changed else ""
    return [Line("answer", text + change, "good", "✓")]


@event_lines.register
def _(event: events.ThoughtAdded, view: EventView) -> list[Line]:
    if not event.new:
        return [Line("think", "nothing new", "bad")]
    lines = [Line("think", view.cut(event.text))]
    if event.limit and not event.reached:
        lines.append(Line("", "no more thoughts are allowed", "bad"))
    return lines


# Trees of passages


@event_lines.register
def _(event: events.Grown, view: EventView) -> list[Line]:
    keys = dict.fromkeys(key for node in event.nodes for key in node["passage_ids"])
    return [Line("grow", f"{pluralize(len(event.nodes), 'new path')}, by {view.count(list(keys), 'paragraph')}")]


@event_lines.register
def _(event: events.Pruned, view: EventView) -> list[Line]:
    reasons: dict[str, list[str]] = {}
    for node in event.nodes:
        reasons.setdefault(sanitize_line(node.get("why", "")), []).extend(node["passage_ids"])
    return [
        Line("prune", f"{view.count(keys, 'paragraph')}{f' ({why})' if why else ''}", "dim", "-")
        for why, keys in reasons.items()
    ]


@event_lines.register
def _(event: events.Reviewed, view: EventView) -> list[Line]:
    titles, analysis = view.titles(event.passage_ids), view.cut(event.analysis)
    match event.verdict:
        case "accept":
            why = f" ({analysis})" if analysis else ""
            return [Line("review", f"{titles}, accepted: {sanitize_line(event.answer)}{why}", "good", "✓")]
        case "search":
            return [Line("review", f"{titles}, not enough{f': {analysis}' if analysis else ''}", "plain", "→")]
        case "reject":
            return [Line("review", f"{titles}, rejected", "dim", "✗")]
        case _:
            return [Line("review", f"{titles}, no usable review", "warning", "?")]


@event_lines.register
def _(event: events.Expanded, view: EventView) -> list[Line]:
    # Only in verbose narrations: the query has a line when it is searched.
    authors = {
        "call": "a call for the missing paragraph",
        "review": "the review",
        "question": "the user, as the question",
    }
    text = f"path {sanitize_line(event.id)}: {sanitize_line(event.query)} (written by {authors[event.written_by]})"
    return [Line("expand", text, "dim")] if view.verbose else []


@event_lines.register
def _(event: events.Fused, view: EventView) -> list[Line]:
    rest = f", {len(event.left_out)} left out for lack of room" if event.left_out else ""
    keys = dict.fromkeys(key for piece in event.pieces for key in piece["passage_ids"])
    return [Line("fuse", f"{pluralize(len(event.pieces), 'accepted path')}{rest}; {view.count(list(keys))}")]


# Calls


@event_lines.register
def _(event: events.Asked, view: EventView) -> list[Line]:
    role, lines = sanitize_line(event.role), list[Line]()
    if view.verbose:
        tokens = f"{event.prompt_tokens:,} + {event.completion_tokens:,} tokens, {event.seconds:.2f} s"
        lines.append(Line("call", f"{role}, {sanitize_line(event.model)}: {tokens}", "dim"))
    if event.parse_failures:
        then = "its fallback is used" if event.outcome == "fallback" else "asked again"
        failures = pluralize(event.parse_failures, "unusable reply", "unusable replies")
        lines.append(Line("warning", f"{role}: {failures}; {then}", "warning"))
    if event.outcome == "budget":
        lines.append(Line("warning", f"{role}: given up, the budget is used up", "warning"))
    return lines


@event_lines.register
def _(event: events.Retrying, _view: EventView) -> list[Line]:
    failure = f"HTTP {event.status}" if event.status else "no usable reply"
    text = f"{sanitize_line(event.role)}: request {event.attempt} failed ({failure}); again in {event.wait:.1f} s"
    return [Line("warning", text, "warning")]


@event_lines.register
def _(event: events.CacheFailed, _view: EventView) -> list[Line]:
    text = f"{sanitize_line(event.role)}: the reply is not cached: {sanitize_line(event.problem)}"
    return [Line("warning", text, "warning")]


# Conversations and reviews by people


@event_lines.register
def _(event: events.Contextualised, _view: EventView) -> list[Line]:
    turns = pluralize(event.turns, "earlier turn")
    return [Line("question", f"{sanitize_line(event.question)} (read with {turns})")]


@event_lines.register
def _(event: events.Routed, _view: EventView) -> list[Line]:
    method = f"{sanitize_line(event.method)}, " if event.method else ""
    return [Line("route", f"{sanitize_line(event.kind)}: {method}{sanitize_line(event.why)}")]


@event_lines.register
def _(event: events.Approved, _view: EventView) -> list[Line]:
    # An edited list of queries may hold others, and more than were proposed.
    replaced = (event.kind, event.action) == ("queries", "edit")
    kept = f"{len(event.kept)} in place of {event.shown}" if replaced else f"{len(event.kept)} of {event.shown} kept"
    return [Line("approve", f"{sanitize_line(event.kind)}, {sanitize_line(event.action)}: {kept}")]
