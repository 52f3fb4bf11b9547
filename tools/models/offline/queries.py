"""Ask for what is missing: names that the evidence has reached and the question's open words."""

from collections.abc import Sequence

from hopgraph.tools.models.offline.candidates import shape
from hopgraph.tools.models.offline.chain import Evidence
from hopgraph.tools.models.offline.lexicon import countries, in_class
from hopgraph.tools.models.offline.terms import WORD, key, term, terms

_SHAPES = (("person", "person"), ("place", "place"), ("organisation", "group"), ("quoted", "work"))


def _open_words(evidence: Evidence, carried: frozenset[str], limit: int = 6) -> str:
    """Return the question's words that the chain does not carry, in the question's order."""
    words = dict.fromkeys(
        word for word in WORD.findall(evidence.question.text) if term(word) and term(word) not in carried
    )
    return " ".join(list(words)[:limit])


def _reached(evidence: Evidence) -> list[tuple[float, str, int]]:
    """Return the names that the evidence mentions and the question does not, best first.

    A name counts by the chain that leads to its statement, by a relation of the question right before it, by
    being of a kind that the question goes through ("the country where …"), and less if statements are about it.
    """
    wanted = _passed_kinds(evidence)
    best: dict[str, tuple[float, str, int]] = {}
    for at, statement in enumerate(evidence.statements):
        start = evidence.statements[evidence.chains[at][0]].key
        reach = evidence.cover(evidence.carried(at)) + evidence.anchors.get(start, 0.0)
        for span in statement.spans:
            name = key(span.text)
            if (
                span.kind not in ("name", "quoted", "country")
                or name == statement.key
                or f" {name} " in evidence.question.flat
            ):
                continue
            near = terms(statement.text[max(0, span.start - 30) : span.start]) & evidence.question.terms
            value = reach + 0.5 * bool(near) + 0.4 * (shape(span, statement) in wanted) - 0.3 * (name in evidence.keys)
            if name not in best or value > best[name][0]:
                text = countries()[span.text.lower()] if span.kind == "country" else span.text
                best[name] = (value, text, at)
    return sorted(best.values(), key=lambda row: -row[0])


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


def next_queries(evidence: Evidence, asked: Sequence[str], missing: str) -> list[str]:
    """Return queries that differ from the question and every earlier one, best first; may be empty."""
    gaps = [gap.strip() for gap in missing.split(";")] if " of " in missing and "what answers" not in missing else []
    unknown = [name for name in evidence.question.names if all(name not in known for known in evidence.keys)]
    reached = [(f"{name} {_open_words(evidence, evidence.carried(at))}", name) for _, name, at in _reached(evidence)]
    proposals = [
        *gaps,
        *unknown[:1],
        *(query for query, _ in reached[:2]),
        *unknown[1:],
        *(query for query, _ in reached[2:]),
    ]
    used = {key(text) for text in (evidence.question.text, *asked)}
    fresh: list[str] = []
    for text in proposals:
        if key(text) and key(text) not in used:
            used.add(key(text))
            fresh.append(text.strip())
    return fresh[:20]
