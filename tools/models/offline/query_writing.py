"""Write queries for what is missing: names that the evidence has reached and the question's open words."""

from collections.abc import Iterator, Sequence

from hopgraph.tools.models.offline.evidence_graph import EvidenceGraph
from hopgraph.tools.models.offline.terms import WORD, countries, key, term, terms

_MAX_QUERIES = 20
_UNKNOWN_FIRST = 2
_MIN_VALUE = 0.6
"""How good a name must be to be asked for."""


def _open_word(graph: EvidenceGraph, carried: frozenset[str]) -> str:
    """Return the heaviest open word that the chain lacks, the asked-for noun last; empty without one."""
    noun = term(graph.question.noun)
    left = [word for word in WORD.findall(graph.question.text) if term(word) in graph.open - carried]
    return max(left, key=lambda word: (term(word) != noun, graph.weights[term(word)]), default="")


def _reached(graph: EvidenceGraph) -> Iterator[tuple[float, str, int]]:
    """Yield the names that the evidence mentions and the question does not: their value, name and statement.

    A name counts by the chain that leads to its statement, by a term of the question right before it, and less
    if statements are about it already.
    """
    for at, statement in enumerate(graph.statements):
        start = graph.statements[graph.chains[at][0]].key
        carried = graph.carried(at)
        reach = graph.cover(carried) + graph.cover(carried & graph.open) + graph.anchors.get(start, 0.0)
        for span in statement.spans:
            name = key(span.text)
            is_name = span.kind in ("name", "quoted", "country")
            if is_name and name != statement.key and f" {name} " not in graph.question.flat:
                near = terms(statement.plain[max(0, span.start - 30) : span.start]) & graph.open
                text = countries()[span.text.lower()] if span.kind == "country" else span.text
                yield reach + 0.5 * bool(near) - 0.3 * (name in graph.keys), text, at


def _proposals(graph: EvidenceGraph, missing: str) -> Iterator[str]:
    """Yield queries, best first: what is known to be missing, unknown names of the question, reached names."""
    if " of " in missing and "?" not in missing:
        yield from missing.split(";")
    unknown = [name for name in graph.question.names if all(key(name) not in known for known in graph.keys)]
    yield from unknown[:_UNKNOWN_FIRST]
    for value, name, at in sorted(_reached(graph), key=lambda row: -row[0]):
        if value >= _MIN_VALUE:
            yield f"{name} {_open_word(graph, graph.carried(at))}"
    yield from unknown[_UNKNOWN_FIRST:]


def next_queries(graph: EvidenceGraph, asked: Sequence[str], missing: str) -> list[str]:
    """Return up to 20 queries that differ from the question and every earlier one, best first; may be empty."""
    used = {key(text) for text in (graph.question.text, *asked)}
    fresh: dict[str, str] = {}
    for text in _proposals(graph, missing):
        if key(text) and key(text) not in used:
            fresh.setdefault(key(text), text.strip())
    return list(fresh.values())[:_MAX_QUERIES]
