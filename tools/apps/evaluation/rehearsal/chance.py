"""Reproducible chance: numbers from 0 to 1 out of a hash."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage


def draw(*parts: object) -> float:
    """Return a number from 0 (included) to 1 (excluded); the same parts always give the same."""
    digest = hashlib.blake2b("\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


def fingerprint(messages: Sequence[BaseMessage]) -> str:
    """Hash messages, kinds and texts, in order."""
    text = "".join(f"{message.type}\x1f{message.text}\x1e" for message in messages)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@dataclass(frozen=True)
class Chance:
    """The luck of one prompt; its decisions are independent of one another."""

    seed: int
    prompt: str
    """The fingerprint of the prompt."""

    def happens(self, rate: float, decision: str, number: int = 0) -> bool:
        """Whether something happens that happens at a rate; `number` tells decisions of one kind apart."""
        return draw(self.seed, self.prompt, decision, number) < rate

    def pick(self, choice: str, count: int) -> int:
        """Return one of `count` places, from 0."""
        return int(draw(self.seed, self.prompt, choice) * count)
