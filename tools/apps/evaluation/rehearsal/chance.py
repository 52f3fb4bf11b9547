"""Chance that falls the same way each time: a number from 0 to 1 out of a hash."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage


def unit(*parts: object) -> float:
    """Draw a number from 0 (included) to 1 (excluded); the same parts always give the same."""
    digest = hashlib.blake2b("\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


def fingerprint(messages: Sequence[BaseMessage]) -> str:
    """Hash messages, kinds and texts, in order."""
    digest = hashlib.blake2b(digest_size=16)
    for message in messages:
        digest.update(f"{message.type}\x1f{message.text}\x1e".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


@dataclass(frozen=True)
class Chance:
    """The luck of one prompt: each decision in it falls by itself."""

    seed: int
    error: float
    prompt: str
    """The fingerprint of the prompt."""

    def errs(self, decision: str, number: int = 0) -> bool:
        """Tell whether a decision is wrong; `number` tells decisions of one kind apart."""
        return self.happens(self.error, decision, number)

    def happens(self, rate: float, decision: str, number: int = 0) -> bool:
        """Tell whether something happens that happens at a rate."""
        return unit(self.seed, self.prompt, decision, number) < rate

    def place(self, choice: str, many: int) -> int:
        """Choose one of many places, from 0."""
        return int(unit(self.seed, self.prompt, choice) * many)
