"""An entailment model behind HTTP: `http://HOST:PORT`, in the format of Text Embeddings Inference.

A POST to `/predict` (or to the path that the address has) with

    {"inputs": [["premise", "hypothesis"], …], "truncate": true}

gives for each pair the probabilities of all labels, in any order:

    [[{"label": "entailment", "score": 0.93}, {"label": "neutral", "score": 0.05}, …], …]

The label that says entailment is found by its name, or named with `?label=NAME`. The server's limits hold: a
premise that is too long for its model is cut there. A key is taken from HOPGRAPH_ENTAILMENT_API_KEY.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from hopgraph.state import EntailmentChecker
from hopgraph.tools.io.background import run_in_background
from hopgraph.tools.io.json_server import Server
from hopgraph.tools.io.redact import redact
from hopgraph.tools.scoring.entailment.labels import entailing_label

KEY_VARIABLE = "HOPGRAPH_ENTAILMENT_API_KEY"
PAIRS_PER_REQUEST = 32
"""What TEI takes in one request unless it is told otherwise."""

Pair = tuple[str, str]


@dataclass(frozen=True)
class RemoteEntailment:
    """Scores pairs by a server's `/predict`."""

    name: str
    server: Server
    label: str | None
    threshold: float = 0.5

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Score (premise, hypothesis) pairs; from a thread that is not the background loop's.

        Returns:
            One probability per pair, in order; an empty list for no pairs.

        Raises:
            ModelError: the server cannot be reached, refuses, or answers in another form.
        """
        return run_in_background(self.ascore(pairs)) if pairs else []

    async def ascore(self, pairs: Sequence[Pair]) -> list[float]:
        """Score pairs without blocking the event loop; see `score`."""
        parts = [pairs[first : first + PAIRS_PER_REQUEST] for first in range(0, len(pairs), PAIRS_PER_REQUEST)]
        found = await asyncio.gather(*(self._predict(part) for part in parts))
        return [score for part in found for score in part]

    async def _predict(self, pairs: Sequence[Pair]) -> list[float]:
        def read(answer: Any) -> list[float]:
            if len(answer) != len(pairs):
                raise ValueError(f"{len(answer)} results for {len(pairs)} pairs")
            return [self._probability(each) for each in answer]

        return await self.server.post({"inputs": [list(pair) for pair in pairs], "truncate": True}, read)

    def _probability(self, result: list[dict[str, Any]]) -> float:
        return float(result[entailing_label([str(each["label"]) for each in result], self.label)]["score"])


def remote_entailment(spec: str) -> EntailmentChecker:
    """Make a checker of a server's address; nothing is sent before the first pair.

    Raises:
        SpecError: it is no address.
    """
    parts = urlsplit(spec)
    asked = dict(parse_qsl(parts.query))
    label = asked.pop("label", None)
    url = urlunsplit(parts._replace(path=parts.path.rstrip("/") or "/predict", query=urlencode(asked)))
    return RemoteEntailment(redact(spec), Server(url, KEY_VARIABLE), label)
