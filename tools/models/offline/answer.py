"""Choose the answer: comparison rules first, else the candidate that fits best."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from math import exp

from hopgraph.tools.models.offline.candidates import Candidate, candidates
from hopgraph.tools.models.offline.chain import Evidence
from hopgraph.tools.models.offline.compare import Verdict, choose, judge
from hopgraph.tools.models.offline.question import read_question
from hopgraph.tools.models.offline.statements import read

UNANSWERABLE = "unanswerable"


@dataclass(frozen=True)
class Finding:
    """An answer with how sure it is, what it rests on and what is missing."""

    text: str
    probability: float
    used: tuple[int, ...]
    missing: str
    covered: float
    """The share of the question's term weight that the chain carries."""
    short: bool = False
    """The chain has fewer links than the question names relations."""


@lru_cache(maxsize=1)
def fitted() -> dict[str, float]:
    """Return the fitted weight of each feature; features without one weigh nothing."""
    text = files("hopgraph.tools.models.offline").joinpath("weights.txt").read_text(encoding="utf-8")
    rows = (line.rpartition(" ") for line in text.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, _, value in rows}


def score(candidate: Candidate) -> float:
    """Return the fitted linear score of a candidate."""
    weights = fitted()
    return sum(weights.get(name, 0.0) * value for name, value in candidate.features.items())


def gather(question: str, items: Sequence[tuple[int, str]]) -> Evidence:
    """Read question and statements; the same text twice counts once."""
    unique = {text: number for number, text in reversed(items)}
    return Evidence(read_question(question), [read(number, text) for number, text in items if unique[text] == number])


def find(evidence: Evidence, yes_no: bool = False) -> Finding:
    """Find the best answer; its text is empty when the evidence holds no candidate."""
    question = evidence.question
    verdict = Verdict()
    if yes_no or question.kind == "yes_no":
        verdict = judge(evidence)
    elif question.options:
        verdict = choose(evidence)
    if verdict.answer:
        return Finding(verdict.answer, 0.9, tuple(dict.fromkeys(verdict.used)), "", 1.0)
    if yes_no or question.kind == "yes_no":
        return Finding("", 0.0, (), verdict.missing, 0.0)
    found = _ranked(evidence)
    if not found:
        return Finding("", 0.0, (), verdict.missing, 0.0)
    best = found[0]
    total = sum(exp(score(other) - score(best)) for other in found)
    covered = evidence.cover(evidence.carried(best.at))
    used = tuple(evidence.statements[link].number for link in evidence.chains[best.at])
    short = len(evidence.chains[best.at]) < min(2, question.hops)
    return Finding(best.text, 1 / total, used, verdict.missing, covered, short)


def _ranked(evidence: Evidence) -> list[Candidate]:
    """Return the candidates, best first; for "A or B" only the options."""
    found = sorted(candidates(evidence), key=score, reverse=True)
    if options := evidence.question.options:
        return [*_options(evidence, options), *found]
    return found


def _options(evidence: Evidence, options: tuple[str, str]) -> list[Candidate]:
    """Return the options as candidates, the one whose statements carry more of the question first."""
    from hopgraph.tools.models.offline.terms import key, terms

    def carried(option: str) -> float:
        named = key(option)
        inside = terms(option)
        return max(
            (
                evidence.cover(own - inside)
                for own, s in zip(evidence.own, evidence.statements, strict=True)
                if named in s.key or (s.key and s.key in named)
            ),
            default=0.0,
        )

    ordered = sorted(options, key=carried, reverse=True)
    places = {
        option: next((at for at, s in enumerate(evidence.statements) if key(option) in f"{s.key} {s.flat}"), 0)
        for option in options
    }
    return (
        [Candidate(option, key(option), places[option], {"option": 1.0}) for option in ordered]
        if evidence.statements
        else []
    )
