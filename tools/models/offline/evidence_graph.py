"""Statements as a graph: which lead from the question's names to a statement, and what they cover of the question."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from hopgraph.tools.models.offline.question import Question
from hopgraph.tools.models.offline.statements import Statement
from hopgraph.tools.models.offline.terms import terms, weigh


@dataclass
class EvidenceGraph:
    """A question and its statements; a link is a name that one statement mentions and another one is about."""

    question: Question
    statements: Sequence[Statement]

    @cached_property
    def weights(self) -> dict[str, float]:
        """The weight of each of the question's terms; they add up to 1."""
        return weigh(self.question.text, [statement.terms for statement in self.statements])

    def cover(self, found: frozenset[str]) -> float:
        """Return the share of the question's term weight that these terms carry, from 0 to 1."""
        return sum(weight for stem, weight in self.weights.items() if stem in found)

    @cached_property
    def own(self) -> list[frozenset[str]]:
        """The question's terms that each statement carries."""
        asked = frozenset(self.weights)
        return [statement.terms & asked for statement in self.statements]

    def carried(self, at: int) -> frozenset[str]:
        """Return the question's terms along the best chain that ends in a statement."""
        return self._carried(self.chains[at])

    def _carried(self, chain: tuple[int, ...]) -> frozenset[str]:
        return frozenset[str]().union(*(self.own[link] for link in chain))

    @cached_property
    def keys(self) -> list[str]:
        """The names that the statements are about, each once."""
        return list(dict.fromkeys(s.key for s in self.statements if len(s.key) > 2))

    @cached_property
    def openings(self) -> dict[str, int]:
        """The index of the first statement about each name."""
        return {s.key: at for at, s in reversed(list(enumerate(self.statements)))}

    @cached_property
    def anchors(self) -> dict[str, float]:
        """How far each name stands in the question: 1 word for word, else the share of its words."""
        found: dict[str, float] = {}
        for name in self.keys:
            inside = terms(name)
            whole = f" {name} " in self.question.flat
            found[name] = 1.0 if whole else len(inside & self.question.terms) / len(inside) if inside else 0.0
        return found

    @cached_property
    def chains(self) -> list[tuple[int, ...]]:
        """The best chain that ends in each statement: it alone, or after one that mentions the name it is about.

        A name that stands in the question is no link.
        """
        free = [name for name in self.keys if f" {name} " not in self.question.flat]
        mentioned_by = {
            name: [at for at, s in enumerate(self.statements) if s.key != name and f" {name} " in s.flat]
            for name in free
        }
        return [
            max([(at,), *((before, at) for before in mentioned_by.get(s.key, ()))], key=self._value)
            for at, s in enumerate(self.statements)
        ]

    def _value(self, chain: tuple[int, ...]) -> float:
        anchor = self.anchors.get(self.statements[chain[0]].key, 0.0)
        return self.cover(self._carried(chain)) + 0.15 * anchor - 0.03 * len(chain)

    def linked_by_relation(self, chain: tuple[int, ...]) -> bool:
        """Whether the link's name follows one of the question's terms ("directed by …"); false for a single link."""
        if len(chain) == 1:
            return False
        text, name = self.statements[chain[0]].flat, f" {self.statements[chain[1]].key} "
        before = text[: max(0, text.find(name))][-30:]
        return not terms(before).isdisjoint(self.question.terms)

    @cached_property
    def kinds(self) -> dict[str, str]:
        """What each name is, where a statement says it ("… is a town")."""
        return {s.key: s.kind for s in reversed(self.statements) if s.kind}

    @cached_property
    def open(self) -> frozenset[str]:
        """The question's terms outside the titles that stand in it: what it asks about them."""
        named = (terms(name) for name, anchor in self.anchors.items() if anchor == 1.0)
        return frozenset(self.weights) - frozenset[str]().union(*named)
