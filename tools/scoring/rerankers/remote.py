"""Rerankers behind HTTP: Text Embeddings Inference (TEI), and the format of Jina and Cohere, which vLLM serves too.

* `http://HOST:PORT` or `http://HOST:PORT/rerank`: TEI. `{"query", "texts", "raw_scores"}` gives
  `[{"index", "score"}]`; the scores are logits.
* the same with `?model=NAME`, or an address that ends in `/v1/rerank` or `/v2/rerank`: `{"model", "query",
  "documents"}` gives `{"results": [{"index", "relevance_score"}]}`; the scores are the server's, mostly in [0, 1].

The prefix `rerank:` is optional. A key is read from HOPGRAPH_RERANKER_API_KEY.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

from hopgraph.state import Reranker
from hopgraph.tools.io.json_server import JsonServer, split_address
from hopgraph.tools.io.redact import redact
from hopgraph.tools.scoring.pair_scorers import Pair, PairScorer
from hopgraph.tools.scoring.rerankers.by_query import group_by_query, scores_of_pairs

KEY_VARIABLE = "HOPGRAPH_RERANKER_API_KEY"
TEXTS_PER_REQUEST = 32
"""TEI's default limit."""
_VERSIONED = ("/v1/rerank", "/v2/rerank")


def remote_reranker(spec: str) -> Reranker:
    """Return a reranker for a server's address; nothing is sent before the first pair.

    Raises:
        SpecError: not an address.
    """
    address, model = split_address(spec.removeprefix("rerank:"), "model")
    if address.path.endswith(_VERSIONED):
        model = model or ""
    path = address.path or ("/rerank" if model is None else "/v1/rerank")
    server = JsonServer(address._replace(path=path).geturl(), KEY_VARIABLE)

    async def rerank(query: str, texts: list[str]) -> list[float]:
        if model is None:
            body: dict[str, Any] = {"query": query, "texts": texts, "raw_scores": True, "truncate": True}
        else:
            named = {"model": model} if model else {}
            body = {**named, "query": query, "documents": texts, "top_n": len(texts)}
        return await server.post(body, lambda answer: _scores_by_index(answer, len(texts)))

    async def score(pairs: Sequence[Pair]) -> list[float]:
        groups = group_by_query(pairs, TEXTS_PER_REQUEST)
        return scores_of_pairs(pairs, groups, await asyncio.gather(*(rerank(*group) for group in groups)))

    return PairScorer(redact(spec), None, score)


def _scores_by_index(answer: Any, texts: int) -> list[float]:
    """Return an answer's scores in the order of the texts; servers send the best first."""
    results = cast("list[dict[str, Any]]", answer if isinstance(answer, list) else answer["results"])
    scores = {
        int(each["index"]): float(each["relevance_score"] if "relevance_score" in each else each["score"])
        for each in results
    }
    if scores.keys() != set(range(texts)):
        raise ValueError(f"{len(scores)} scores for {texts} texts")
    return [scores[index] for index in range(texts)]
