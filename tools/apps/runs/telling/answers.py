"""Statements, decisions, and answers that were sampled."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

from hopgraph.tools.apps.runs.telling.told import Line, Told
from hopgraph.tools.text.sanitize import pluralize, sanitize_line


def extracted(told: Told) -> list[Line]:
    """Tell the statements that were taken from passages."""
    statements = cast("list[dict[str, Any]]", told.data["statements"])
    new = [each for each in statements if each["statement"] not in told.said]
    told.said.update(each["statement"] for each in new)
    again = f", {len(statements) - len(new)} of them seen before" if len(new) < len(statements) else ""
    counts = f"{pluralize(len(statements), 'statement')}{again}"
    lines = [Line("extract", told.about() + counts, "plain" if statements else "bad")]
    lines += [Line("", _sourced(told, each["statement"], each["passage_ids"]), "plain", "•") for each in new]
    if dropped := told.data["dropped"]:
        text = f"{pluralize(dropped, 'statement')} without a passage that was shown, dropped"
        lines.append(Line("", text, "warning", "-"))
    return lines


def _sourced(told: Told, statement: str, keys: Sequence[str]) -> str:
    """Add the titles of a statement's passages, unless it begins with them."""
    text = sanitize_line(statement)
    titles = [title for key in keys if not text.startswith(title := told.title(key))]
    return f"{text} [{', '.join(titles)}]" if titles else text


def verified(told: Told) -> list[Line]:
    """Tell which statements their passages carry."""
    statements = cast("list[dict[str, Any]]", told.data["statements"])
    known = f"; {told.data['repeated']} known already" if told.data["repeated"] else ""
    if not statements:
        return [Line("verify", f"nothing new to check{known}", "dim")] if known else []
    rejected = [each for each in statements if not each["kept"]]
    kept = len(statements) - len(rejected)
    counts = f"{kept} of {pluralize(len(statements), 'statement')} verified{known}"
    lines = [Line("verify", counts, "good" if kept else "bad", "✓" if kept else "✗")]
    for each in rejected:
        text = f"rejected: {sanitize_line(each['statement'])} ({each['score']:.2f})"
        lines.append(Line("", text, "bad", "✗"))
    return lines


def decided(told: Told) -> list[Line]:
    """Tell an answer, or what is missing."""
    data, label = told.data, "conclude" if told.data["final"] else "decide"
    if data["answer"]:
        sure = f" (confidence {data['confidence']} of 5)" if data["confidence"] else ""
        return [Line(label, f"answer: {sanitize_line(data['answer'])}{sure}", "good")]
    if data["final"]:
        return [Line(label, "no answer in what was found", "bad")]
    return [Line(label, "not enough yet"), Line("missing", sanitize_line(data["missing"]))]


def generated(told: Told) -> list[Line]:
    """Tell how many new queries there are."""
    queries = cast("list[str]", told.data["queries"])
    if not queries:
        return [Line("next", "no new query is left to ask", "bad")]
    # Each of them is told when it is searched for.
    return [Line("next", pluralize(len(queries), "new query", "new queries"))]


def reasoned(told: Told) -> list[Line]:
    """Tell a first reasoning, and the answer that it comes to."""
    text, answer = told.data["reasoning"], sanitize_line(told.data["answer"])
    if not text and not answer:
        return [Line("reason", "nothing usable", "dim")]
    return [Line("reason", f"{told.cut(text)} → {answer}" if text and answer else told.cut(text or answer))]


def sampled(told: Told) -> list[Line]:
    """Tell the answers that were sampled, equal ones together."""
    answers = cast("list[str]", told.data["answers"])
    return [Line("sample", f"{pluralize(len(answers), 'answer')}: {_listed(answers)}" if answers else "no answer")]


def shortened_to(told: Told) -> list[Line]:
    """Tell the short answers that reasonings were cut down to."""
    return [Line("shorten", _listed(cast("list[str]", told.data["sampled"])) or "no answer")]


def _listed(answers: Sequence[str]) -> str:
    counts = Counter(sanitize_line(answer) or "no answer" for answer in answers)
    return " · ".join(f"{answer} ({count} times)" if count > 1 else answer for answer, count in counts.items())


def voted(told: Told) -> list[Line]:
    """Tell which answer most samples agree on."""
    answers, chosen = cast("list[str]", told.data["answers"]), cast("int | None", told.data["chosen"])
    if chosen is None:
        return [Line("vote", "no sample has an answer", "bad")]
    return [Line("vote", f"{sanitize_line(answers[chosen])}, first given by sample {chosen + 1} of {len(answers)}")]


def compared(told: Told) -> list[Line]:
    """Tell which sample's passages carry most of what it says."""
    answers, chosen = cast("list[str]", told.data["answers"]), cast("int | None", told.data["chosen"])
    recalls = " · ".join(f"{recall:.2f}" for recall in told.data["citation_recall"])
    if chosen is None:
        return [Line("compare", "no sample has an answer", "bad")]
    text = f"sample {chosen + 1} is chosen: {sanitize_line(answers[chosen])} (citation recall {recalls})"
    return [Line("compare", text)]


def nothing(_told: Told) -> list[Line]:
    """Tell nothing: it is known already, or printed at the end."""
    return []
