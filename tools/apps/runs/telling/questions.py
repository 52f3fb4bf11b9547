"""Questions that are broken down, and hops that follow on one another."""

from typing import Any, cast

from hopgraph.tools.apps.runs.telling.told import Line, Told
from hopgraph.tools.text.sanitize import pluralize, sanitize_line

_UNKNOWN_BECAUSE = {
    "unsolved": "nothing answers it",
    "depth": "it lies too deep",
    "budget": "the budget is used up",
}
_ANSWERED_FROM = {
    "known": "from the model's own knowledge",
    "passages": "from passages",
    "composed": "from the answers to its parts",
    "best_effort": "as well as possible, since the budget is used up",
}


def decomposed(told: Told) -> list[Line]:
    """Tell the parts of a question."""
    parts = cast("list[dict[str, Any]]", told.data["sub_questions"])
    if not parts:
        return [Line("split", f"{told.question()}: no parts", "bad")]
    lines = [Line("split", f"{told.question()} into {pluralize(len(parts), 'part')}")]
    return [*lines, *(Line("", sanitize_line(part["question"]), "plain", "•") for part in parts)]


def judged(told: Told) -> list[Line]:
    """Tell whether the model knows an answer itself, or which passages are relevant."""
    if told.data["of"] == "self_knowledge":
        known = told.data["known"]
        text = "the model knows the answer" if known else "the model does not know the answer"
        return [Line("know", f"{told.question()}: {text}", "good" if known else "plain")]
    keys, relevant = cast("list[str]", told.data["passage_ids"]), cast("list[str]", told.data["relevant"])
    text = f"{told.question()}: {len(relevant)} of {pluralize(len(keys), 'passage')} relevant"
    lines = [Line("judge", text, "plain" if relevant else "bad")]
    return [*lines, *(Line("", told.title(key), "good", "+") for key in relevant)]


def solved(told: Told) -> list[Line]:
    """Tell the answer to a question, or why there is none."""
    return _settled(told, "solve")


def composed(told: Told) -> list[Line]:
    """Tell the answer that was made of those to a question's parts."""
    return _settled(told, "compose")


def _settled(told: Told, label: str) -> list[Line]:
    how, answer = str(told.data["how"]), sanitize_line(told.data["answer"])
    if not answer:
        why = _UNKNOWN_BECAUSE.get(how, "")
        return [Line(label, f"{told.question()}: unknown{f', {why}' if why else ''}", "bad", "?")]
    source = _ANSWERED_FROM.get(how, "")
    return [Line(label, f"{told.question()}: {answer}{f' ({source})' if source else ''}", "good", "✓")]


def deduced(told: Told) -> list[Line]:
    """Tell what leads to the next question; the question itself is told when it is searched."""
    data = told.data
    lines = [Line("think", told.cut(data["thought"]))] if data["thought"] else []
    if data["generated"]:
        lines.append(Line("memory", f"{told.question()}: {sanitize_line(data['generated'])}"))
    if data["repeated"] or data["limit"]:
        why = "no more hops are allowed" if data["limit"] else "it was asked before"
        lines.append(Line("next", f"{told.question()} is not followed: {why}", "bad"))
    return lines


def grounded(told: Told) -> list[Line]:
    """Tell whether a batch of passages carries an answer."""
    data = told.data
    batch = f"batch {data['batch']}, {pluralize(len(data['passage_ids']), 'passage')}"
    if data["outcome"] == "cited":
        text = f"{batch}: {told.title(data['passage_id'])}: “{told.cut(data['cited'])}”"
        return [Line("ground", text, "good", "✓")]
    if data["outcome"] == "empty":
        return [Line("ground", f"{batch}: nothing in them helps", "dim", "✗")]
    text = f"{batch}: none of them carries what was cited: “{told.cut(data['cited'])}”"
    return [Line("ground", text, "warning", "✗")]


def revised(told: Told) -> list[Line]:
    """Tell a hop's answer, and what passages made of the one from memory."""
    data, answer, generated = told.data, sanitize_line(told.data["answer"]), sanitize_line(told.data["generated"])
    if not answer:
        return [Line("answer", f"{told.question()}: unknown", "bad", "?")]
    if not data["grounded"]:
        where = "from memory; no passage carries it" if generated else "no passage is named for it"
        return [Line("answer", f"{told.question()}: {answer} ({where})", "warning", "✓")]
    change = f" (from memory it was {generated})" if generated and data["changed"] else ""
    return [Line("answer", f"{told.question()}: {answer}{change}", "good", "✓")]


def thought(told: Told) -> list[Line]:
    """Tell the next sentence of a chain of thought."""
    data = told.data
    if not data["new"]:
        return [Line("think", "nothing new", "bad")]
    lines = [Line("think", told.cut(data["text"]))]
    if data["limit"] and not data["reached"]:
        lines.append(Line("", "no more thoughts are allowed", "bad"))
    return lines
