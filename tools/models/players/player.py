"""Building blocks of every reply: five questions to the player of the language model."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, Self

from hopgraph.tools.models.players.prompt_reading import ParsedPrompt


@dataclass(frozen=True)
class PromptContents:
    """The information that a step lets its player use, and the kind of answer required."""

    lists: tuple[str, ...] = ()
    """The trusted blocks in addition to the passages, such as `information`."""
    passages: bool = True
    memory: bool = False
    """True if the player's own knowledge may be used."""
    wants: Literal["sure", "read", "last", "guess"] = "sure"
    """An answer only where nothing is missing, as another search may follow; what can be read in the passages; the
    best that the information supports, as nothing follows; or an answer in any case."""


class StatedFact(NamedTuple):
    """A fact that the player found or remembers."""

    text: str
    """A standalone sentence."""
    quote: str = ""
    """The passage sentence that states it, verbatim; empty if no passage does."""
    passage: int = 0
    """The number of the passage; 0 for none."""


@dataclass(frozen=True)
class PlayerAnswer:
    """An answer with its support."""

    text: str = ""
    """Empty when there is none."""
    facts: tuple[StatedFact, ...] = ()
    """Facts known on the way to the answer, even without one, in order."""
    passages: tuple[int, ...] = ()
    """The numbers of the supporting passages, in order."""
    items: tuple[int, ...] = ()
    """The numbers of the supporting items of `information`, in order."""
    confidence: int = 5
    """From 1 to 5."""


class Player(Protocol):
    """Plays a model's part in one prompt; each question says what its step allows, so that a player can obey."""

    @property
    def prompt(self) -> ParsedPrompt:
        """Return the prompt it was given."""
        ...

    def with_question(self, question: str) -> Self:
        """Return the player of the same prompt with another question."""
        ...

    def relevant(self) -> list[int]:
        """Return the numbers of the passages that help to answer, in order."""
        ...

    def facts(self, given: PromptContents) -> list[StatedFact]:
        """Return what helps to answer the question, the most useful first; empty for nothing."""
        ...

    def answer(self, given: PromptContents) -> PlayerAnswer:
        """Answer the question, in the way that `given` requires."""
        ...

    def next_questions(self, given: PromptContents, asked: list[str]) -> list[str]:
        """Return what can be asked now, most useful first, worded differently from all of `asked`."""
        ...

    def parts(self, in_order: bool) -> list[str]:
        """Decompose the question; empty for a simple one. In order; `#1` stands for the first part's answer."""
        ...

    def judges(self, judgement: str, right: bool, number: int = 0) -> bool:
        """Return a judgement that rules made of the texts in the prompt; a player that errs may reverse it."""
        ...
