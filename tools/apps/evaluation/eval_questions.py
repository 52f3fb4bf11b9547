"""Questions with known answers, as every data set's reader gives them."""

from dataclasses import dataclass
from typing import NamedTuple

from hopgraph.state import Passage


class GoldHop(NamedTuple):
    """One step of a question's decomposition, from the data set."""

    question: str
    """`#1` stands for the first step's answer, as MuSiQue and StrategyQA write it."""
    answer: str
    """Empty where the set does not have it."""
    passage_ids: tuple[str, ...]
    """The passages that the step needs; may be empty."""


class GoldSentence(NamedTuple):
    """A sentence that supports the answer."""

    passage_id: str
    text: str


class ContextPassage(NamedTuple):
    """A passage that comes with a question."""

    id: str
    """Id, as in an index of the same file."""
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class EvalQuestion:
    """A question whose answer is known."""

    id: str
    """Unique in its set; the line number where the set has no ids."""
    question: str
    answers: tuple[str, ...] | None
    """The gold answer, then its aliases; empty when the question cannot be answered, None when unknown."""
    type: str = ""
    """The set's own kind of question, e.g. bridge or 3hop1; empty if it has none."""
    gold: tuple[str, ...] = ()
    """Ids of the passages that the answer needs, as in an index of the same file; may be empty."""
    gold_titles: tuple[str, ...] = ()
    """Their titles, without repeats; may be known where the ids are not."""
    sentences: tuple[GoldSentence, ...] = ()
    """The supporting sentences; empty if the set does not have it."""
    hops: tuple[GoldHop, ...] = ()
    """The decomposition, in order; empty if the set has none."""
    triples: tuple[tuple[str, str, str], ...] = ()
    """The evidence as (subject, relation, object), as 2WikiMultihopQA has it."""
    facts: tuple[str, ...] = ()
    """The facts that the answer follows from, as StrategyQA has them."""
    contexts: tuple[ContextPassage, ...] = ()
    """All passages that come with the question, including distractors."""
    grades: tuple[int, ...] = ()
    """The relevance grade of each of `gold`, in order; empty if there are no grades, or all are 1."""

    @property
    def passages(self) -> list[Passage]:
        """The passages that come with the question, in the form of a retriever's."""
        return [Passage(**each._asdict(), score=0.0, source="data set", hop=1) for each in self.contexts]

    @property
    def hop_count(self) -> int:
        """Return the number of facts to combine: steps, triples or gold titles; 0 if the set does not have them."""
        return len(self.hops) or len(self.triples) or len(self.gold_titles)
