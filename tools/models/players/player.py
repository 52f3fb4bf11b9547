"""The protocol of a player, which takes the place of a language model for one prompt."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, Self

from hopgraph.tools.models.players.prompt_reading import ParsedPrompt


@dataclass(frozen=True)
class PromptContents:
    """The information that a player may use in a step, and the kind of answer required."""

    lists: tuple[str, ...] = ()
    """Trusted blocks in addition to the passages, e.g. `information`."""
    passages: bool = True
    memory: bool = False
    """True if the player may use its own knowledge."""
    wants: Literal["sure", "read", "last", "guess"] = "sure"
    """`sure`: an answer only if nothing is missing, since another search may follow; `read`: what the passages say;
    `last`: the best supported answer, since no search follows; `guess`: always an answer."""


class StatedFact(NamedTuple):
    """A fact from the prompt or the player's memory."""

    text: str
    """A standalone sentence."""
    quote: str = ""
    """The sentence of a passage that states it, verbatim; may be empty."""
    passage: int = 0
    """Number of the passage; 0 if there is none."""


@dataclass(frozen=True)
class PlayerAnswer:
    """An answer with its support."""

    text: str = ""
    """May be empty."""
    facts: tuple[StatedFact, ...] = ()
    """Facts that lead to the answer, in order; there may be some even without an answer."""
    passages: tuple[int, ...] = ()
    """Numbers of the supporting passages, in order."""
    items: tuple[int, ...] = ()
    """Numbers of the supporting items of `information`, in order."""
    confidence: int = 5
    """From 1 to 5."""


class Player(Protocol):
    """Answers questions about one prompt in place of a model; `given` says what the step allows."""

    @property
    def prompt(self) -> ParsedPrompt:
        """Return its prompt."""
        ...

    def with_question(self, question: str) -> Self:
        """Return a player of the same prompt with another question."""
        ...

    def relevant(self) -> list[int]:
        """Return the numbers of the relevant passages, in order."""
        ...

    def facts(self, given: PromptContents) -> list[StatedFact]:
        """Return the facts that help to answer the question, the most useful first."""
        ...

    def answer(self, given: PromptContents) -> PlayerAnswer:
        """Answer the question as `given` requires."""
        ...

    def next_questions(self, given: PromptContents, asked: list[str]) -> list[str]:
        """Return questions and queries that can be asked now, the most useful first, without those in `asked`."""
        ...

    def parts(self, in_order: bool) -> list[str]:
        """Return sub-questions; empty for a simple question. With `in_order`, `#1` refers to the first answer."""
        ...

    def judges(self, judgement: str, right: bool, number: int = 0) -> bool:
        """Return `right`, the judgement by rules; a player that makes mistakes may reverse it."""
        ...
