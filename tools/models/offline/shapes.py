"""What a span looks like and which looks fit which kind of answer."""

import re

from hopgraph.tools.models.offline.dates import life
from hopgraph.tools.models.offline.lexicon import class_words, country_parts, in_class
from hopgraph.tools.models.offline.spans import Span
from hopgraph.tools.models.offline.statements import Statement
from hopgraph.tools.models.offline.terms import key

FITS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "person": (frozenset({"person", "agent"}), frozenset({"words", "name"})),
    "place": (frozenset({"place", "country"}), frozenset({"name", "words"})),
    "country": (frozenset({"country"}), frozenset({"place"})),
    "date": (frozenset({"date"}), frozenset()),
    "number": (frozenset({"number"}), frozenset()),
    "work": (frozenset({"quoted"}), frozenset({"name", "words"})),
    "group": (frozenset({"organisation"}), frozenset({"name", "words", "agent"})),
}
"""For each kind of answer the shapes that fit, and those that may; a kind that is not here takes every shape."""

_AFTER_PREPOSITION = re.compile(r"\b(?:in|at|near|from)\s(?:the\s)?$")
_INNER_WORD = re.compile(r"\b(?:of|the)\b")


def shape(span: Span, statement: Statement) -> str:
    """Return what a span looks like: person, place, country, organisation, quoted, date, number, phrase.

    `agent` follows "by", `words` is two or three capitalised words that nothing else is known of, `name` any
    other name. A negative start marks the statement's own title.
    """
    words = key(span.text).split()
    if span.kind != "name" or not words:
        return span.kind
    before = statement.text[max(0, span.start - 12) : max(0, span.start)].lower()
    if before.endswith(" by "):
        return "agent"
    if in_class(words[-1], "organisation", "group") or in_class(words[0], "organisation"):
        return "organisation"
    if ", " in span.text or span.text.lower() in country_parts() or in_class(words[-1], "place_name", "place"):
        return "place"
    if (span.start < 0 and life(statement.text)) or words[0] in class_words("given"):
        return "person"
    if words[0] in ("lake", "mount") or _AFTER_PREPOSITION.search(before):
        return "place"
    plain = 2 <= len(words) <= 3 and not _INNER_WORD.search(span.text)
    return "words" if plain and not in_class(words[-1], "person") else "name"
