"""Read what a person sent back to a pause: a word, a list, or both."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from hopgraph.state.schemas import MAX_QUESTION_CHARACTERS
from hopgraph.tools.prompts import clean

MOST_QUERIES = 50
"""Queries that a person can send in place of those shown."""
_ACTIONS = {"approve": "approve", "accept": "approve", "yes": "approve", "reject": "reject", "no": "reject"}


class UnusableError(ValueError):
    """What was sent cannot be used; the message is the reason, which the person is shown."""


class Item(NamedTuple):
    """A piece of evidence as a person sees it."""

    id: str
    text: str
    titles: list[str]
    """Of the passages that it is, or rests on."""
    editable: bool
    """A statement's text can be changed, a passage's cannot: it would not be what the corpus says."""


def read_decision(given: object, kind: str) -> tuple[str, list[object]]:
    """Read what to do ("approve", "edit" or "reject"), and the list in place of the one shown; empty without "edit".

    An empty list rejects everything.

    Args:
        given: What the run was resumed with (see `hopgraph.nodes.core.human_review`).
        kind: "queries" or "evidence", the name of the list in an object.

    Raises:
        UnusableError: it is none of what can be sent.
    """
    word, entries = given, given
    if isinstance(given, Mapping):
        fields = cast("Mapping[str, object]", given)
        word = fields.get("action")
        entries = fields.get(kind) if word == "edit" else None
        if word == "edit" and not isinstance(entries, list):
            raise UnusableError(f'"edit" needs the new list under "{kind}"')
    if isinstance(entries, list):
        return ("edit", cast("list[object]", entries)) if entries else ("reject", [])
    if isinstance(word, bool):
        return ("approve" if word else "reject"), []
    if isinstance(word, str) and (action := _ACTIONS.get(word.strip().lower())):
        return action, []
    raise UnusableError(f'resume with "approve", "reject", a list, or {{"action": …}}; got {given!r:.80}')


def read_queries(given: Sequence[object]) -> list[str]:
    """Read a list of queries as their texts, each once, in their order.

    Raises:
        UnusableError: an entry without a text, one that is too long, or too many.
    """
    texts: list[str] = []
    for entry in given:
        text = cast("Mapping[str, object]", entry).get("text") if isinstance(entry, Mapping) else entry
        shown = " ".join(clean(text).split()) if isinstance(text, str) else ""
        if not shown:
            raise UnusableError(f'a query must be a text, or an object with one under "text"; got {entry!r:.80}')
        if len(shown) > MAX_QUESTION_CHARACTERS:
            raise UnusableError(f"a query has {len(shown):,} characters; at most {MAX_QUESTION_CHARACTERS:,} are taken")
        texts.append(shown)
    if len(texts) > MOST_QUERIES:
        raise UnusableError(f"at most {MOST_QUERIES} queries are taken, got {len(texts):,}")
    return list(dict.fromkeys(texts))


def read_evidence(given: Sequence[object], items: Sequence[Item]) -> dict[str, str]:
    """Read a list of evidence, as texts by id, in its order.

    Raises:
        UnusableError: an id that was not shown, a text that is none, or a passage with another text.
    """
    of = {item.id: item for item in items}
    kept: dict[str, str] = {}
    for entry in given:
        fields: Mapping[str, object] = (
            cast("Mapping[str, object]", entry) if isinstance(entry, Mapping) else {"id": entry}
        )
        key = fields.get("id")
        if not isinstance(key, str) or key not in of:
            raise UnusableError(f"no evidence has the id {key!r:.80}; shown are: {', '.join(of)[:200]}")
        text = fields.get("text", of[key].text)
        shown = clean(text).strip() if isinstance(text, str) else ""
        if not shown or len(shown) > max(MAX_QUESTION_CHARACTERS, len(of[key].text)):
            raise UnusableError(f"evidence {key!r}: its text must be 1 to {MAX_QUESTION_CHARACTERS:,} characters long")
        if text != of[key].text and not of[key].editable:
            raise UnusableError(f"evidence {key!r} is a passage: it can be left out, but its text cannot be changed")
        kept[key] = of[key].text if text == of[key].text else shown
    return kept
