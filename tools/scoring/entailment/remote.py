"""An entailment model behind HTTP: `http://HOST:PORT`, in the format of Text Embeddings Inference.

A POST to `/predict` (or to the address's own path) with

    {"inputs": [["premise", "hypothesis"], …], "truncate": true}

returns for each pair the probabilities of all labels, in any order:

    [[{"label": "entailment", "score": 0.93}, {"label": "neutral", "score": 0.05}, …], …]

The entailment label is recognized by its name, or chosen with `?label=NAME`. The server cuts premises that are
too long for its model. A key is read from HOPGRAPH_ENTAILMENT_API_KEY.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from hopgraph.state import EntailmentChecker
from hopgraph.tools.io.json_server import JsonServer, split_address
from hopgraph.tools.io.redact import redact
from hopgraph.tools.scoring.entailment.labels import entailing_label
from hopgraph.tools.scoring.pair_scorers import Pair, PairScorer

KEY_VARIABLE = "HOPGRAPH_ENTAILMENT_API_KEY"
PAIRS_PER_REQUEST = 32
"""TEI's default limit."""


def remote_entailment(spec: str) -> EntailmentChecker:
    """Return a checker for a server's address; nothing is sent before the first pair.

    Raises:
        SpecError: not an address.
    """
    address, label = split_address(spec, "label")
    server = JsonServer(address._replace(path=address.path or "/predict").geturl(), KEY_VARIABLE)

    async def predict(pairs: Sequence[Pair]) -> list[float]:
        body = {"inputs": [list(pair) for pair in pairs], "truncate": True}
        return await server.post(body, lambda answer: _probabilities(answer, len(pairs), label))

    async def score(pairs: Sequence[Pair]) -> list[float]:
        parts = [pairs[first : first + PAIRS_PER_REQUEST] for first in range(0, len(pairs), PAIRS_PER_REQUEST)]
        return [score for part in await asyncio.gather(*map(predict, parts)) for score in part]

    return PairScorer(redact(spec), 0.5, score)


def _probabilities(answer: list[list[dict[str, Any]]], pairs: int, label: str | None) -> list[float]:
    if len(answer) != pairs:
        raise ValueError(f"{len(answer)} results for {pairs} pairs")
    chosen = (each[entailing_label([str(one["label"]) for one in each], label)] for each in answer)
    return [float(each["score"]) for each in chosen]
