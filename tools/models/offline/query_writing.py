"""Ask for what is missing: names that the evidence has reached and the question's open words."""

from collections.abc import Iterator, Sequence

from hopgraph.tools.models.offline.candidates import shape
from hopgraph.tools.models.offline.chain import Evidence
from hopgraph.tools.models.offline.lexicon import countries, in_class
from hopgraph.tools.models.offline.spans import Span
from hopgraph.tools.models.offline.terms import WORD, key, term, terms

_SHAPES = (("person", "person"), ("place", "place"), ("organisation", "group"), ("quoted", "work"))
_OPEN_WORDS = 1
_UNKNOWN_FIRST = 2
_LEAST_VALUE = 0.6
_MORE_FOR_EACH = 0.08
"""How good a name must be to be asked for, and how much better for each query asked before: late ones find little."""


def _open_words(evidence: Evidence, carried: frozenset[str]) -> str:
    """Return the heaviest open words that the chain lacks, the asked-for noun last, in the question's order."""
    words = dict.fromkeys(WORD.findall(evidence.question.text))
    left = [word for word in words if term(word) in evidence.open - carried]
    heavy = sorted(left, key=lambda word: (term(word) in evidence.question.rest, -evidence.weights[term(word)]))
    heavy = heavy[:_OPEN_WORDS]
    return " ".join(word for word in left if word in heavy)


def _reached(evidence: Evidence, least: float) -> list[tuple[str, int]]:
    """Return the names that the evidence mentions and the question does not, best first, each with its statement.

    A name counts by the chain that leads to its statement, by a relation of the question right before it, by
    being of a kind that the question goes through ("the country where …"), and less if statements are about it.
    Those that count less than `least` are left out.
    """
    wanted = _passed_kinds(evidence)
    best: dict[str, tuple[float, str, int]] = {}
    for at, statement in enumerate(evidence.statements):
        start = evidence.statements[evidence.chains[at][0]].key
        carried = evidence.carried(at)
        reach = evidence.cover(carried) + evidence.cover(carried & evidence.open) + evidence.anchors.get(start, 0.0)
        for span in filter(_askable, statement.spans):
            name = key(span.text)
            if name == statement.key or f" {name} " in evidence.question.flat:
                continue
            near = terms(statement.text[max(0, span.start - 30) : span.start]) & evidence.open
            value = reach + 0.5 * bool(near) - 0.3 * (name in evidence.keys)
            looks = evidence.types.get(name, shape(span, statement))
            value += 0.4 * (looks in wanted)
            if value < least:
                continue
            if name not in best or value > best[name][0]:
                text = countries()[span.text.lower()] if span.kind == "country" else span.text
                best[name] = (value, text, at)
    return [(text, at) for _, text, at in sorted(best.values(), key=lambda row: -row[0])]


def _askable(span: Span) -> bool:
    """Say whether a span is a name that can be asked about; a sentence's first word often only looks like one."""
    opening = span.start == 0 and " " not in span.text
    common = in_class(span.text.lower(), "common", "digit") or span.text.endswith(("ing", "ed"))
    return span.kind in ("name", "quoted", "country") and not (opening and common)


def _passed_kinds(evidence: Evidence) -> set[str]:
    """Return the shapes of names that the question's nouns stand for, other than the asked-for noun's."""
    found: set[str] = set()
    for word in evidence.question.words:
        if word == evidence.question.noun:
            continue
        if term(word) == "nationality":
            found.add("country")
        found |= {kind for kind, name in _SHAPES if in_class(word, name)}
    return found


def _proposals(evidence: Evidence, missing: str, asked: int) -> Iterator[str]:
    """Yield queries, best first: what is known to be missing, unknown names of the question, reached names."""
    if " of " in missing and "?" not in missing:
        yield from missing.split(";")
    unknown = [name for name in evidence.question.names if all(key(name) not in known for known in evidence.keys)]
    yield from unknown[:_UNKNOWN_FIRST]
    for name, at in _reached(evidence, _LEAST_VALUE + _MORE_FOR_EACH * asked):
        yield f"{name} {_open_words(evidence, evidence.carried(at))}"
    yield from unknown[_UNKNOWN_FIRST:]


def next_queries(evidence: Evidence, asked: Sequence[str], missing: str) -> list[str]:
    """Return up to 20 queries that differ from the question and every earlier one, best first; may be empty."""
    used = {key(text) for text in (evidence.question.text, *asked)}
    fresh: list[str] = []
    for text in _proposals(evidence, missing, len(asked)):
        if key(text) and key(text) not in used and len(fresh) < 20:
            used.add(key(text))
            fresh.append(text.strip())
    return fresh
