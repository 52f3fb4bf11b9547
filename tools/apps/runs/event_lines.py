"""Lines for each type of event: a case in the function of its topic; unknown events are shown by name."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import cast

from hopgraph.state import events
from hopgraph.state.events import Event, UnknownEvent
from hopgraph.tools.apps.runs.lines import MAX_TEXT, EventView, Line
from hopgraph.tools.apps.runs.run_tree import SETTLED
from hopgraph.tools.text.sanitize import pluralize, sanitize_line, truncate_line

_Kept = events.Filtered | events.Reranked | events.Compressed
_MAX_VALUE = 60  # characters of an unknown event's value
_WRITTEN_BY = {
    "call": "a call for the missing paragraph",
    "review": "the review",
    "question": "the user, as the question",
}


def event_lines(event: Event, view: EventView) -> list[Line]:
    """Return the lines of an event; none if they would repeat what is shown elsewhere."""
    for topic in _TOPICS:
        if (lines := topic(event, view)) is not None:
            return lines
    name, data = (event.name, event.data) if isinstance(event, UnknownEvent) else (event.event, vars(event))
    given = ((key, value) for key, value in data.items() if value not in ("", None, [], {}))
    values = (f"{key.replace('_', ' ')}: {_plain(value, view)}" for key, value in given)
    text = sanitize_line(" · ".join([name.replace("_", " "), *values]))
    return [Line("step", text if view.verbose else truncate_line(text, 2 * MAX_TEXT))]


def _plain(value: object, view: EventView) -> str:
    """Return a value of an unknown event as readable text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    several = isinstance(value, list | tuple)
    text = ", ".join(map(str, cast("Sequence[object]", value))) if several else str(value)
    return text if view.verbose else truncate_line(text, _MAX_VALUE)


def _searches(event: Event, view: EventView) -> list[Line] | None:
    match event:
        case events.RetrievalDecided():
            said = "passages are looked up" if event.needed else "answered from memory"
            return [Line("decide", f"{said} (share of retrieval {event.share:.2f})")]
        case events.QuerySent():
            return [Line("search", sanitize_line(event.query))]
        case events.Retrieved(passage_ids=[]):
            return [Line("found", f"{view.query(event.query)}no passage", "bad")]
        case events.Retrieved():
            view.named.update(zip(event.passage_ids, event.titles, strict=False))
            by_links = f", {len(event.linked_from)} by links" if event.linked_from else ""
            return [Line("found", view.query(event.query) + view.count(event.passage_ids) + by_links)]
        case events.GoldGiven():
            return [Line("given", view.count(event.passage_ids))]
        case events.United():
            return [Line("unite", view.count(event.passage_ids), "plain" if event.passage_ids else "bad")]
        case events.QueriesGenerated(queries=[]):
            return [Line("next", "no new query left", "bad")]
        case events.QueriesGenerated():  # each has its own line when it is searched
            return [Line("next", pluralize(len(event.queries), "new query", "new queries"))]
        case events.Blended():
            named = ((sanitize_line(name).replace("_", " "), query) for name, query in event.queries.items())
            lines = [Line("", f"{name}: {view.cut(query)}", "plain", "•") for name, query in named]
            return [Line("blend", pluralize(len(lines), "query", "queries")), *lines]
        case _:
            return None


def _readings(event: Event, view: EventView) -> list[Line] | None:
    match event:
        case events.Filtered():
            return _filtered(event, view) if event.passages_in else []
        case events.Reranked():
            titles = f": {view.titles(event.passage_ids)}" if event.passage_ids else ""
            return [_kept_of("rerank", event, event.passage_ids, view, more=titles)]
        case events.Compressed():
            kept = [f"{view.title(each['passage_id'])}: {view.cut(each['text'])}" for each in event.kept]
            head = _kept_of("compress", event, kept, view, how=f"{sanitize_line(event.how)}: ")
            return [head, *(Line("", text, "good", "+") for text in kept)]
        case events.PassagesJudged():
            return [Line("weigh", view.query(event.query) + view.cut(event.judgement))]
        case events.Recalled(known=False):
            return [Line("recall", f"{view.query(event.query)}the model knows nothing about it", "dim")]
        case events.Recalled():
            return [Line("recall", f"{view.query(event.query)}from the model's own knowledge: {view.cut(event.text)}")]
        case events.TopicNamed():
            topic = sanitize_line(event.topic)
            return [Line("topic", topic or "none named", "plain" if topic else "dim")]
        case events.Extracted():
            return _extracted(event, view)
        case _:
            return None


def _kept_of(label: str, event: _Kept, kept: Sequence[object], view: EventView, how: str = "", more: str = "") -> Line:
    counts = f"{how}{len(kept)} of {pluralize(event.passages_in, 'passage')} kept{more}"
    return Line(label, view.query(event.query) + counts, "plain" if kept else "bad")


def _filtered(event: events.Filtered, view: EventView) -> list[Line]:
    read = f"{pluralize(event.sentences_in, 'sentence')} read" if event.sentences_in else "passages stay whole"
    lines = [_kept_of("filter", event, event.kept, view, more=f", {read}")]
    gaps = list[Line]()
    for kept in event.kept:
        title, passage = view.title(kept["passage_id"]), view.passages.get(kept["passage_id"])
        text, edges = passage["text"] if passage else "", [0, *(edge for span in kept["spans"] for edge in span[:2])]
        amount = "whole" if kept["whole"] else pluralize(kept["sentences"], "sentence")
        shown = _cut_spans(text, edges[1:])
        lines.append(Line("", f"{title} ({amount})" + (f": {view.cut(shown)}" if shown else ""), "good", "+"))
        if between := _cut_spans(text, [*edges, len(text)]):
            gaps.append(Line("", f"{title}, dropped: {view.cut(between)}", "dim", "-"))
    if dropped := event.passages_in - len(event.kept):
        gaps.append(Line("", f"{pluralize(dropped, 'passage')} dropped", "dim", "-"))
    return [*lines, *gaps]


def _cut_spans(text: str, edges: Sequence[int]) -> str:
    """Return the parts of a text between the first and second edge, the third and fourth, and so on."""
    parts = (text[start:end].strip() for start, end in zip(edges[::2], edges[1::2], strict=False))
    return " … ".join(filter(None, parts))


def _extracted(event: events.Extracted, view: EventView) -> list[Line]:
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
        text = f"{pluralize(event.dropped, 'statement')} dropped: they cite no shown passage"
        lines.append(Line("", text, "warning", "-"))
    return lines


def _answers(event: Event, view: EventView) -> list[Line] | None:
    match event:
        case events.TreeStarted() | events.Answered() | events.Replied():
            return []  # shown already, or at the run's end
        case events.Verified():
            return _verified(event)
        case events.Decided(answer="", final=True):
            return [Line("conclude", "no answer in what was found", "bad")]
        case events.Decided(answer=""):
            return [Line("decide", "not enough yet"), Line("missing", sanitize_line(event.missing))]
        case events.Decided():
            confidence = f" (confidence {event.confidence} of 5)" if event.confidence else ""
            text = f"answer: {sanitize_line(event.answer)}{confidence}"
            return [Line("conclude" if event.final else "decide", text, "good")]
        case events.Reasoned():
            said = " → ".join(filter(None, (view.cut(event.reasoning), sanitize_line(event.answer))))
            return [Line("reason", said or "nothing usable", "plain" if said else "dim")]
        case _:
            return None


def _verified(event: events.Verified) -> list[Line]:
    known = f"; {event.repeated} known already" if event.repeated else ""
    if not event.statements:
        return [Line("verify", f"nothing new to check{known}", "dim")] if known else []
    rejected = [each for each in event.statements if not each["kept"]]
    kept = len(event.statements) - len(rejected)
    counts = f"{kept} of {pluralize(len(event.statements), 'statement')} verified{known}"
    texts = (f"rejected: {sanitize_line(each['statement'])} ({each['score']:.2f})" for each in rejected)
    head = Line("verify", counts, "good" if kept else "bad", "✓" if kept else "✗")
    return [head, *(Line("", text, "bad", "✗") for text in texts)]


def _samples(event: Event, _view: EventView) -> list[Line] | None:
    match event:
        case events.Sampled():
            count = f"{pluralize(len(event.answers), 'answer')}: " if event.answers else ""
            return [Line("sample", f"{count}{_tally(event.answers)}")]
        case events.Shortened():
            return [Line("shorten", _tally(event.sampled))]
        case events.Voted() | events.Compared() | events.AnswersScored():
            label = "vote" if isinstance(event, events.Voted) else "compare"
            if event.chosen is None or not 0 <= event.chosen < len(event.answers):
                return [Line(label, "no sample has an answer", "bad")]
            answer, number = sanitize_line(event.answers[event.chosen]), event.chosen + 1
            if isinstance(event, events.Voted):
                return [Line(label, f"{answer}, first given by sample {number} of {len(event.answers)}")]
            compared = isinstance(event, events.Compared)
            name, scores = ("citation recall", event.citation_recall) if compared else ("score", event.scores)
            listed = " · ".join(f"{score:.2f}" for score in scores)
            return [Line(label, f"sample {number} is chosen: {answer} ({name} {listed})")]
        case _:
            return None


def _tally(answers: Iterable[str]) -> str:
    counts = Counter(sanitize_line(answer) or "no answer" for answer in answers)
    texts = (f"{answer} ({count} times)" if count > 1 else answer for answer, count in counts.items())
    return " · ".join(texts) or "no answer"


def _question_trees(event: Event, view: EventView) -> list[Line] | None:
    match event:
        case events.Decomposed(sub_questions=[]):
            return [Line("split", f"{view.question(event.question)}: no parts", "bad")]
        case events.Decomposed():
            text = f"{view.question(event.question)} into {pluralize(len(event.sub_questions), 'part')}"
            parts = (sanitize_line(part["question"]) for part in event.sub_questions)
            return [Line("split", text), *(Line("", part, "plain", "•") for part in parts)]
        case events.ReferencesResolved():
            return [Line("ask", view.question(event.question))]
        case events.SelfKnowledgeJudged():
            text = "the model knows the answer" if event.known else "the model does not know the answer"
            return [Line("know", f"{view.question(event.question)}: {text}", "good" if event.known else "plain")]
        case events.RelevanceJudged():
            count = f"{len(event.relevant)} of {pluralize(len(event.passage_ids), 'passage')} relevant"
            head = Line("judge", f"{view.question(event.question)}: {count}", "plain" if event.relevant else "bad")
            return [head, *(Line("", view.title(key), "good", "+") for key in event.relevant)]
        case events.QuestionSettled():
            label = "compose" if isinstance(event, events.Composed) else "solve"
            why = SETTLED.get(event.how, "")
            if not event.answer:
                text = f"{view.question(event.question)}: unknown{f', {why}' if why else ''}"
                return [Line(label, text, "bad", "?")]
            text = f"{view.question(event.question)}: {sanitize_line(event.answer)}{f' ({why})' if why else ''}"
            return [Line(label, text, "good", "✓")]
        case _:
            return None


def _hops(event: Event, view: EventView) -> list[Line] | None:
    match event:
        case events.Deduced():  # the question itself has a line when it is searched
            lines = [Line("think", view.cut(event.thought))] if event.thought else []
            if event.generated:
                lines.append(Line("memory", f"{view.question(event.question)}: {sanitize_line(event.generated)}"))
            if event.repeated or event.limit:
                why = "the hop limit is reached" if event.limit else "it was asked before"
                lines.append(Line("next", f"{view.question(event.question)} is not followed: {why}", "bad"))
            return lines
        case events.Grounded():
            batch = f"batch {event.batch}, {pluralize(len(event.passage_ids), 'passage')}: "
            if event.outcome == "cited":
                title = view.title(event.passage_id)
                return [Line("ground", f"{batch}{title}: “{view.cut(event.cited)}”", "good", "✓")]
            if event.outcome == "empty":
                return [Line("ground", f"{batch}nothing in them helps", "dim", "✗")]
            return [Line("ground", f"{batch}none of them contains the quote “{view.cut(event.cited)}”", "warning", "✗")]
        case events.Revised():
            return [_revised(event, view)]
        case events.ThoughtAdded(new=False):
            return [Line("think", "nothing new", "bad")]
        case events.ThoughtAdded():
            at_limit = event.limit and not event.reached
            last = [Line("", "the limit of thoughts is reached", "bad")] if at_limit else []
            return [Line("think", view.cut(event.text)), *last]
        case _:
            return None


def _revised(event: events.Revised, view: EventView) -> Line:
    answer, generated = sanitize_line(event.answer), sanitize_line(event.generated)
    if not answer:
        return Line("answer", f"{view.question(event.question)}: unknown", "bad", "?")
    text = f"{view.question(event.question)}: {answer}"
    if not event.grounded:
        where = "from memory; no passage supports it" if generated else "no passage is cited for it"
        return Line("answer", f"{text} ({where})", "warning", "✓")
    change = f" (from memory it was {generated})" if generated and event.changed else ""
    return Line("answer", text + change, "good", "✓")


def _review_trees(event: Event, view: EventView) -> list[Line] | None:
    match event:
        case events.Pruned():
            reasons: dict[str, list[str]] = {}
            for node in event.nodes:
                reasons.setdefault(sanitize_line(node.get("why", "")), []).extend(node["passage_ids"])
            texts = (f"{view.count(keys, 'paragraph')}{f' ({why})' if why else ''}" for why, keys in reasons.items())
            return [Line("prune", text, "dim", "-") for text in texts]
        case events.Grown():
            keys = dict.fromkeys(key for node in event.nodes for key in node["passage_ids"])
            paths = pluralize(len(event.nodes), "new path")
            return [Line("grow", f"{paths}, by {view.count(list(keys), 'paragraph')}")]
        case events.Reviewed():
            titles, analysis = view.titles(event.passage_ids), view.cut(event.analysis)
            why = f" ({analysis})" if analysis else ""
            verdicts = {
                "accept": Line("review", f"{titles}, accepted: {sanitize_line(event.answer)}{why}", "good", "✓"),
                "search": Line("review", f"{titles}, not enough{f': {analysis}' if analysis else ''}", "plain", "→"),
                "reject": Line("review", f"{titles}, rejected", "dim", "✗"),
            }
            return [verdicts.get(event.verdict, Line("review", f"{titles}, no usable review", "warning", "?"))]
        case events.Expanded():  # the query has a line when it is searched
            text = f"path {sanitize_line(event.id)}: {sanitize_line(event.query)}"
            written = f"{text} (written by {_WRITTEN_BY[event.written_by]})"
            return [Line("expand", written, "dim")] if view.verbose else []
        case events.Fused():
            rest = f", {len(event.left_out)} left out for lack of room" if event.left_out else ""
            keys = dict.fromkeys(key for piece in event.pieces for key in piece["passage_ids"])
            return [Line("fuse", f"{pluralize(len(event.pieces), 'accepted path')}{rest}; {view.count(list(keys))}")]
        case _:
            return None


def _stages(event: Event, view: EventView) -> list[Line] | None:
    if not isinstance(event, events.StageEnded):
        return None
    method = sanitize_line(event.method)
    if event.accepted:
        return [Line("stage", f"{event.number}, {method}: {view.cut(event.answer) or 'no answer'}", "good")]
    goes_on = "" if event.last else "; the next stage runs"
    return [Line("stage", f"{event.number}, {method}: {sanitize_line(event.why)}{goes_on}", "bad")]


def _calls_and_turns(event: Event, view: EventView) -> list[Line] | None:
    match event:
        case events.Asked():
            role, lines = sanitize_line(event.role), list[Line]()
            if view.verbose:
                tokens = f"{event.prompt_tokens:,} + {event.completion_tokens:,} tokens, {event.seconds:.2f} s"
                lines.append(Line("call", f"{role}, {sanitize_line(event.model)}: {tokens}", "dim"))
            if event.parse_failures:
                then = "its fallback is used" if event.outcome == "fallback" else "retrying"
                failures = pluralize(event.parse_failures, "unusable reply", "unusable replies")
                why = f" ({sanitize_line(event.problem)})" if event.problem else ""
                lines.append(Line("warning", f"{role}: {failures}{why}; {then}", "warning"))
            if event.outcome == "budget":
                lines.append(Line("warning", f"{role}: abandoned, the budget is used up", "warning"))
            return lines
        case events.Retrying():
            failure = sanitize_line(event.problem) or (f"HTTP {event.status}" if event.status else "no usable reply")
            text = f"request {event.attempt} failed ({failure}); again in {event.wait:.1f} s"
            return [Line("warning", f"{sanitize_line(event.role)}: {text}", "warning")]
        case events.CacheFailed():
            text = f"{sanitize_line(event.role)}: the reply is not cached: {sanitize_line(event.problem)}"
            return [Line("warning", text, "warning")]
        case events.QuestionCondensed():
            turns = pluralize(event.turns, "earlier turn")
            return [Line("question", f"{sanitize_line(event.question)} (read with {turns})")]
        case events.Routed():
            method = f"{sanitize_line(event.method)}, " if event.method else ""
            return [Line("route", f"{sanitize_line(event.kind)}: {method}{sanitize_line(event.why)}")]
        case events.Approved():  # an edited list of queries may hold others, and more than were proposed
            replaced = (event.kind, event.action) == ("queries", "edit")
            rest = f"in place of {event.shown}" if replaced else f"of {event.shown} kept"
            text = f"{sanitize_line(event.kind)}, {sanitize_line(event.action)}: {len(event.kept)} {rest}"
            return [Line("approve", text)]
        case _:
            return None


_TOPICS = (_searches, _readings, _answers, _samples, _question_trees, _hops, _review_trees, _stages, _calls_and_turns)
