"""What every reply is made of: five questions to whoever plays the language model."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, Self

from hopgraph.tools.models.players.prompt_reading import Prompt

UNANSWERABLE = "unanswerable"


@dataclass(frozen=True)
class Given:
    """What a step lets its player use, and what it wants."""

    lists: tuple[str, ...] = ()
    """The blocks that are believed beside the passages, such as `information`."""
    passages: bool = True
    memory: bool = False
    """What it knows without being told may be used."""
    wants: Literal["sure", "read", "last", "guess"] = "sure"
    """An answer only where nothing is missing, as another search may follow; what can be read in the passages; the
    best that the information supports, as nothing follows; or an answer in any case."""


class Fact(NamedTuple):
    """Something that the player found or remembers."""

    text: str
    """A sentence of its own that stands alone."""
    quote: str = ""
    """The sentence of the passage that says so, as it is there; empty for what no passage says."""
    passage: int = 0
    """The number of the passage; 0 for none."""


@dataclass(frozen=True)
class Answer:
    """An answer with what it rests on."""

    text: str = ""
    """Empty when there is none."""
    facts: tuple[Fact, ...] = ()
    """What is known on the way to it, also where there is no answer; the first link first."""
    passages: tuple[int, ...] = ()
    """The numbers of the passages that it rests on, in order."""
    items: tuple[int, ...] = ()
    """The numbers of the items of `information` that it rests on, in order."""
    confidence: int = 5
    """From 1 to 5."""


class Player(Protocol):
    """Plays a model's part in one prompt; what a step allows is in each question, so that a player can obey."""

    @property
    def prompt(self) -> Prompt:
        """What it was asked."""
        ...

    def with_question(self, question: str) -> Self:
        """Return the player of the same prompt with another question."""
        ...

    def relevant(self) -> list[int]:
        """Return the numbers of the passages that help to answer, in order."""
        ...

    def facts(self, given: Given) -> list[Fact]:
        """Return what helps to answer the question, the most useful first; empty for nothing."""
        ...

    def answer(self, given: Given) -> Answer:
        """Answer the question, as far as `given` wants it."""
        ...

    def next_questions(self, given: Given, asked: list[str]) -> list[str]:
        """Return what can be asked now, the most useful first, in words that differ from all of `asked`."""
        ...

    def parts(self, in_order: bool) -> list[str]:
        """Break the question down; empty for a simple one. In order, `#1` stands for the first part's answer."""
        ...

    def judges(self, judgement: str, right: bool, number: int = 0) -> bool:
        """Return a judgement that rules made of the texts in the prompt; a player that errs may reverse it."""
        ...
