"""Rerankers behind HTTP: Text Embeddings Inference, and what speaks the format of Jina and Cohere, as vLLM does.

* `http://HOST:PORT` or `http://HOST:PORT/rerank`: TEI. `{"query", "texts", "raw_scores"}` gives
  `[{"index", "score"}]`; the scores are logits.
* the same with `?model=NAME`, or an address that ends in `/v1/rerank` or `/v2/rerank`: `{"model", "query",
  "documents"}` gives `{"results": [{"index", "relevance_score"}]}`; the scores are as the server makes
  them, mostly in [0, 1].

`rerank:` before the address says the same. A key is taken from HOPGRAPH_RERANKER_API_KEY.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from hopgraph.state import Reranker
from hopgraph.tools.io.background import run_in_background
from hopgraph.tools.io.json_server import Server
from hopgraph.tools.io.redact import redact
from hopgraph.tools.scoring.rerankers.by_query import Pair, in_order, parts_of

KEY_VARIABLE = "HOPGRAPH_RERANKER_API_KEY"
TEXTS_PER_REQUEST = 32
"""What TEI takes in one request unless it is told otherwise."""
_VERSIONED = ("/v1/rerank", "/v2/rerank")


@dataclass(frozen=True)
class RemoteReranker:
    """Scores pairs by a server's `/rerank`."""

    name: str
    server: Server
    model: str | None
    """The model's name where the server speaks Jina's and Cohere's format (empty: its only one); None: TEI."""
    threshold: float | None = None

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Score (query, text) pairs; from a thread that is not the background loop's.

        Returns:
            One score per pair, in order; an empty list for no pairs.

        Raises:
            ModelError: the server cannot be reached, refuses, or answers in another form.
        """
        return run_in_background(self.ascore(pairs)) if pairs else []

    async def ascore(self, pairs: Sequence[Pair]) -> list[float]:
        """Score pairs without blocking the event loop; see `score`."""
        parts = parts_of(pairs, TEXTS_PER_REQUEST)
        return in_order(pairs, parts, await asyncio.gather(*(self._rerank(query, texts) for query, texts in parts)))

    async def _rerank(self, query: str, texts: list[str]) -> list[float]:
        if self.model is None:
            body: dict[str, Any] = {"query": query, "texts": texts, "raw_scores": True, "truncate": True}
        else:
            named = {"model": self.model} if self.model else {}
            body = {**named, "query": query, "documents": texts, "top_n": len(texts)}
        return await self.server.post(body, lambda answer: _by_index(answer, len(texts)))


def _by_index(answer: Any, texts: int) -> list[float]:
    """Put the scores of an answer in the order of the texts; servers send the best first."""
    results = cast("list[dict[str, Any]]", answer if isinstance(answer, list) else answer["results"])
    scores = {
        int(each["index"]): float(each["relevance_score"] if "relevance_score" in each else each["score"])
        for each in results
    }
    if scores.keys() != set(range(texts)):
        raise ValueError(f"{len(scores)} scores for {texts} texts")
    return [scores[index] for index in range(texts)]


def remote_reranker(spec: str) -> Reranker:
    """Make a reranker of a server's address; nothing is sent before the first pair.

    Raises:
        SpecError: what follows is no address.
    """
    parts = urlsplit(spec.removeprefix("rerank:"))
    asked = dict(parse_qsl(parts.query))
    model = asked.pop("model", None)
    path = parts.path.rstrip("/")
    if path.endswith(_VERSIONED):
        model = model or ""
    url = urlunsplit(
        parts._replace(path=path or ("/rerank" if model is None else "/v1/rerank"), query=urlencode(asked))
    )
    return RemoteReranker(redact(spec), Server(url, KEY_VARIABLE), model)
