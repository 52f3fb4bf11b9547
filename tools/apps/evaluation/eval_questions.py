"""The record of a question with known answers, shared by all data sets."""

from dataclasses import dataclass
from typing import NamedTuple

from hopgraph.state import Passage


class GoldHop(NamedTuple):
    """One step of a question's decomposition, from the data set."""

    question: str
    """The step's question; `#1` stands for the first step's answer, as in MuSiQue and StrategyQA."""
    answer: str
    """Empty if the data set does not have it."""
    passage_ids: tuple[str, ...]
    """The passages that the step needs; may be empty."""


class GoldSentence(NamedTuple):
    """A sentence that supports the answer."""

    passage_id: str
    text: str


class ContextPassage(NamedTuple):
    """A passage that comes with a question."""

    id: str
    """The passage's id in an index of the same file."""
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class EvalQuestion:
    """A question whose answer is known."""

    id: str
    """Unique in its data set; the line number if that has no ids."""
    question: str
    answers: tuple[str, ...] | None
    """The gold answer, then its aliases; empty if the question is unanswerable, None if unknown."""
    type: str = ""
    """The data set's question type, e.g. bridge or 3hop1; may be empty."""
    gold: tuple[str, ...] = ()
    """Ids of the passages that the answer needs, as in an index of the same file; may be empty."""
    gold_titles: tuple[str, ...] = ()
    """Their titles, without duplicates; may be known if the ids are not."""
    sentences: tuple[GoldSentence, ...] = ()
    """The supporting sentences, if the data set has them."""
    hops: tuple[GoldHop, ...] = ()
    """The decomposition, in order, if the data set has it."""
    triples: tuple[tuple[str, str, str], ...] = ()
    """The evidence as (subject, relation, object), as in 2WikiMultihopQA."""
    facts: tuple[str, ...] = ()
    """The facts that the answer follows from, as in StrategyQA."""
    contexts: tuple[ContextPassage, ...] = ()
    """All passages that come with the question, including distractors."""
    grades: tuple[int, ...] = ()
    """The relevance grade of each `gold` passage, in order; empty if there are no grades, or all are 1."""

    @property
    def passages(self) -> list[Passage]:
        """The passages that come with the question, as retrieved passages."""
        return [Passage(**each._asdict(), score=0.0, source="data set", hop=1) for each in self.contexts]

    @property
    def hop_count(self) -> int:
        """Return the number of facts to combine: steps, triples or gold titles; 0 if unknown."""
        return len(self.hops) or len(self.triples) or len(self.gold_titles)
