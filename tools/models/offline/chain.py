"""Chains of evidence: which statements lead from the question's names to a statement, and what they cover."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from hopgraph.tools.models.offline.question import Question
from hopgraph.tools.models.offline.statements import Statement
from hopgraph.tools.models.offline.terms import key, terms, weigh


@dataclass
class Evidence:
    """The statements of a prompt as a graph whose links are names that one mentions and another is about."""

    question: Question
    statements: Sequence[Statement]
    weights: dict[str, float] = field(init=False)

    def __post_init__(self) -> None:
        self.weights = weigh(self.question.text, (statement.terms for statement in self.statements))

    def cover(self, found: frozenset[str]) -> float:
        """Return the share of the question's term weight that these terms carry, from 0 to 1."""
        return sum(weight for stem, weight in self.weights.items() if stem in found)

    @cached_property
    def own(self) -> list[frozenset[str]]:
        """The question's terms that each statement carries."""
        asked = frozenset(self.weights)
        return [statement.terms & asked for statement in self.statements]

    @cached_property
    def keys(self) -> list[str]:
        """The names that the statements are about, each once."""
        return list(dict.fromkeys(s.key for s in self.statements if len(s.key) > 2))

    @cached_property
    def anchors(self) -> dict[str, float]:
        """How far each name stands in the question: 1 word for word, else the share of its words."""
        asked = self.question.terms
        found: dict[str, float] = {}
        for name in self.keys:
            inside = terms(name)
            whole = f" {name} " in self.question.flat
            found[name] = 1.0 if whole else len(inside & asked) / len(inside) if inside else 0.0
        return found

    @cached_property
    def mentions(self) -> list[frozenset[str]]:
        """The other statements' names that each statement mentions, unless the question has them too."""
        short = {s.key: key(s.name.partition(", ")[0]) for s in self.statements}
        asked = self.question.flat
        free = [(n, short[n]) for n in self.keys if f" {n} " not in asked and f" {short[n]} " not in asked]
        return [
            frozenset(n for n, alias in free if n != s.key and (f" {n} " in s.flat or f" {alias} " in s.flat))
            for s in self.statements
        ]

    @cached_property
    def _leading(self) -> dict[str, list[int]]:
        """The statements that mention each name."""
        lead: dict[str, list[int]] = {}
        for at, mentioned in enumerate(self.mentions):
            for name in mentioned:
                lead.setdefault(name, []).append(at)
        return lead

    @cached_property
    def chains(self) -> list[tuple[int, ...]]:
        """The best chain that ends in each statement, first link first; at most three links.

        A chain grows backwards over the statement that mentions the name, while that covers more of the question.
        """
        best: list[tuple[int, ...]] = [(at,) for at in range(len(self.statements))]
        for _ in range(2):
            grown: list[tuple[int, ...]] = []
            for at, statement in enumerate(self.statements):
                choice = best[at]
                for before in self._leading.get(statement.key, ()):
                    if at not in best[before]:
                        longer = (*best[before], at)
                        if self._value(longer) > self._value(choice):
                            choice = longer
                grown.append(choice)
            best = grown
        return best

    def related(self, chain: tuple[int, ...]) -> bool:
        """Say whether each link's name follows one of the question's relations ("directed by …")."""
        for at, after in pairwise(chain):
            text, name = self.statements[at].flat, f" {self.statements[after].key} "
            place = text.find(name)
            around = text[max(0, place - 30) : place], ""
            if place < 0 or not terms(" ".join(around)) & self.question.terms:
                return False
        return len(chain) > 1

    def _value(self, chain: tuple[int, ...]) -> float:
        carried = frozenset[str]().union(*(self.own[at] for at in chain))
        anchor = max(self.anchors.get(self.statements[chain[0]].key, 0.0), 0.0)
        return self.cover(carried) + 0.15 * anchor - 0.03 * (len(chain) - 1)

    @cached_property
    def types(self) -> dict[str, str]:
        """What each name is, where a statement tells ("… is a town")."""
        return {s.key: s.type for s in reversed(self.statements) if s.type}

    @cached_property
    def open(self) -> frozenset[str]:
        """The question's terms outside the titles that stand in it: what it asks about them."""
        named = (terms(name) for name, anchor in self.anchors.items() if anchor == 1.0)
        return frozenset(self.weights) - frozenset[str]().union(*named)

    def onward(self, at: int, name: str) -> float:
        """Return what the statements about a name would add to the chain that ends in a statement."""
        carried = self.carried(at)
        told = (self.own[other] - carried for other in self._by_key.get(name, ()) if other not in self.chains[at])
        return max((self.cover(found) for found in told), default=0.0)

    @cached_property
    def _by_key(self) -> dict[str, list[int]]:
        """The statements about each name."""
        found: dict[str, list[int]] = {}
        for at, statement in enumerate(self.statements):
            found.setdefault(statement.key, []).append(at)
        return found

    def carried(self, at: int) -> frozenset[str]:
        """Return the question's terms along the best chain that ends in a statement."""
        return frozenset[str]().union(*(self.own[link] for link in self.chains[at]))
