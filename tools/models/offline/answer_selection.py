"""Choose the answer: the comparison rules where they apply, else the candidate that fits best."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp

from hopgraph.tools.models.offline.candidates import Candidate, candidates
from hopgraph.tools.models.offline.chain import Evidence
from hopgraph.tools.models.offline.comparison_rules import Verdict, choose, judge
from hopgraph.tools.models.offline.question import read_question
from hopgraph.tools.models.offline.statements import read
from hopgraph.tools.models.offline.terms import key, terms

_BY_RULE = 0.9
"""How sure an answer by a comparison rule is taken to be: its facts were found, their reading may be wrong."""

_LIKELY = 0.05
"""The probability from which an answer stands without a word of the asked relation: relations have many wordings."""

_ENOUGH = 1.2
"""From this sum of cover and probability on, about three of four answers were right in the tuning halves."""


@dataclass(frozen=True)
class Finding:
    """An answer with how sure it is, what it rests on and what is missing."""

    text: str = ""
    """Empty when the evidence holds no candidate."""
    probability: float = 0.0
    used: tuple[int, ...] = ()
    """The numbers of the statements that it rests on, first link first."""
    missing: str = ""
    """What a comparison rule lacks; empty for other questions."""
    covered: float = 0.0
    """The share of the question's term weight that the chain carries, from 0 to 1."""
    related: bool = True
    """The chain carries a relation that the question names, if there is one, or the answer is likely anyway."""
    compared: bool = False
    """A comparison rule gave it."""
    complete: bool = False
    """The chain has as many links as the question seems to need, and the answer looks like the asked-for kind."""

    @property
    def enough(self) -> bool:
        """The one rule for "sure enough": a whole chain whose cover and lead together reach a fitted sum."""
        return bool(self.text) and self.complete and not self.missing and self.covered + self.probability >= _ENOUGH


def gather(question: str, items: Sequence[tuple[int, str]]) -> Evidence:
    """Read a question and its numbered statements; the same text twice counts once."""
    first = {text: number for number, text in reversed(items)}
    return Evidence(read_question(question), [read(number, text) for number, text in items if first[text] == number])


def find(evidence: Evidence, yes_no: bool = False, one_text: bool = False) -> Finding:
    """Find the best answer.

    Args:
        evidence: The question and its statements.
        yes_no: Ask for yes or no whatever the question looks like.
        one_text: The statements are one passage: all of them are one chain, which must tell every asked relation.
    """
    question = evidence.question
    if yes_no or question.kind == "yes_no":
        return _by_rule(judge(evidence))
    verdict = choose(evidence) if question.options else Verdict()
    if verdict.answer:
        return _by_rule(verdict)
    best = _option(evidence) if question.options else _best(evidence, one_text)
    return replace(best, missing=verdict.missing)


def _by_rule(verdict: Verdict) -> Finding:
    if not verdict.answer:
        return Finding(missing=verdict.missing)
    sure = 0.0 if verdict.missing else _BY_RULE
    return Finding(verdict.answer, sure, tuple(dict.fromkeys(verdict.used)), verdict.missing, 1.0, True, True, True)


def _best(evidence: Evidence, one_text: bool) -> Finding:
    """Return the candidate with the highest score; its probability is its share of all of them.

    A chain that carries not one word of the names in the question is about something else and is left out.
    """
    whole = frozenset[str]().union(*evidence.own)
    named = frozenset[str]().union(*(terms(name) for name in evidence.question.names))
    every = candidates(evidence)
    found = [one for one in every if not named or not named.isdisjoint(whole if one_text else evidence.carried(one.at))]
    if not found:
        return Finding()
    best = found[0]
    total = sum(exp(other.score - best.score) for other in found)
    same = sum(exp(other.score - best.score) for other in found if key(other.text) == key(best.text))
    chain = evidence.chains[best.at]
    used = tuple(evidence.statements[link].number for link in chain)
    carried = whole if one_text else evidence.carried(best.at)
    asked = evidence.question.relations - evidence.question.rest
    long = asked <= carried if one_text else len(chain) >= min(2, evidence.question.hops)
    complete = long and _fits(evidence, best)
    related = not asked or same / total >= _LIKELY or not asked.isdisjoint(carried)
    return Finding(best.text, same / total, used, "", evidence.cover(carried), related, complete=complete)


def _fits(evidence: Evidence, candidate: Candidate) -> bool:
    """Say whether a candidate looks like the asked-for kind of answer; two capitalised words may be a person."""
    kind, features = evidence.question.kind, candidate.features
    return kind == "thing" or bool(features["fits"]) or "person>words" in features


def _option(evidence: Evidence) -> Finding:
    """Return the option whose statements carry more of the rest of the question."""
    best = Finding()
    for option in evidence.question.options:
        name, inside = key(option), terms(option)
        for at, statement in enumerate(evidence.statements):
            if name in statement.key or (statement.key and statement.key in name):
                covered = evidence.cover(evidence.own[at] - inside)
                if not best.text or covered > best.covered:
                    best = Finding(option, covered, (statement.number,), "", covered, complete=True)
    return best
