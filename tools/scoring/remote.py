"""Rerankers and entailment checkers behind HTTP.

Rerankers, in the format of Text Embeddings Inference (TEI), or of Jina and Cohere, which vLLM serves too:

* `http://HOST:PORT` or `http://HOST:PORT/rerank`: TEI. `{"query", "texts", "raw_scores"}` returns
  `[{"index", "score"}]`; the scores are logits.
* the same with `?model=NAME`, or an address that ends in `/v1/rerank` or `/v2/rerank`: `{"model", "query",
  "documents"}` returns `{"results": [{"index", "relevance_score"}]}`; the scores are the server's, mostly in [0, 1].

The prefix `rerank:` is optional. A key is read from HOPGRAPH_RERANKER_API_KEY.

Entailment checkers, in TEI's format: `{"inputs": [["premise", "hypothesis"], …], "truncate": true}`, sent to `/predict`
or to the address's path, returns for each pair the probabilities of all labels, in any order:
`[[{"label": "entailment", "score": 0.93}, …], …]`. The label for entailment is recognized by its name, or chosen with
`?label=NAME`. The server truncates premises that are too long. A key is read from HOPGRAPH_ENTAILMENT_API_KEY.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

from hopgraph.state import EntailmentChecker, Reranker
from hopgraph.tools.io.json_server import JsonServer, split_address
from hopgraph.tools.io.redact import redact
from hopgraph.tools.scoring.pair_scorers import Pair, PairScorer, entailing_label, group_by_query, scores_of_pairs

PER_REQUEST = 32
"""Texts or pairs per request; TEI's default limit."""


def remote_reranker(spec: str) -> Reranker:
    """Return a reranker for a server's address (else SpecError); nothing is sent before the first pair."""
    address, model = split_address(spec.removeprefix("rerank:"), "model")
    if address.path.endswith(("/v1/rerank", "/v2/rerank")):
        model = model or ""
    path = address.path or ("/rerank" if model is None else "/v1/rerank")
    server = JsonServer(address._replace(path=path).geturl(), "HOPGRAPH_RERANKER_API_KEY")

    async def rerank(query: str, texts: list[str]) -> list[float]:
        if model is None:
            body: dict[str, Any] = {"query": query, "texts": texts, "raw_scores": True, "truncate": True}
        else:
            named = {"model": model} if model else {}
            body = {**named, "query": query, "documents": texts, "top_n": len(texts)}
        return await server.request("POST", lambda response: _scores_by_index(response, len(texts)), json=body)

    async def score(pairs: Sequence[Pair]) -> list[float]:
        groups = group_by_query(pairs, PER_REQUEST)
        return scores_of_pairs(pairs, groups, await asyncio.gather(*(rerank(*group) for group in groups)))

    return PairScorer(redact(spec), None, score)


def _scores_by_index(response: Any, texts: int) -> list[float]:
    """Return the scores of a response in the order of the texts; servers send the best first."""
    results = cast("list[dict[str, Any]]", response if isinstance(response, list) else response["results"])
    scores = {
        int(each["index"]): float(each["relevance_score"] if "relevance_score" in each else each["score"])
        for each in results
    }
    if scores.keys() != set(range(texts)):
        raise ValueError(f"{len(scores)} scores for {texts} texts")
    return [scores[index] for index in range(texts)]


def remote_entailment(spec: str) -> EntailmentChecker:
    """Return a checker for a server's address (else SpecError); nothing is sent before the first pair."""
    address, label = split_address(spec, "label")
    server = JsonServer(address._replace(path=address.path or "/predict").geturl(), "HOPGRAPH_ENTAILMENT_API_KEY")

    async def predict(pairs: Sequence[Pair]) -> list[float]:
        body = {"inputs": [list(pair) for pair in pairs], "truncate": True}
        return await server.request("POST", lambda response: _probabilities(response, len(pairs), label), json=body)

    async def score(pairs: Sequence[Pair]) -> list[float]:
        parts = [pairs[first : first + PER_REQUEST] for first in range(0, len(pairs), PER_REQUEST)]
        return [score for part in await asyncio.gather(*map(predict, parts)) for score in part]

    return PairScorer(redact(spec), 0.5, score)


def _probabilities(response: list[list[dict[str, Any]]], pairs: int, label: str | None) -> list[float]:
    if len(response) != pairs:
        raise ValueError(f"{len(response)} results for {pairs} pairs")
    chosen = (each[entailing_label([str(one["label"]) for one in each], label)] for each in response)
    return [float(each["score"]) for each in chosen]
