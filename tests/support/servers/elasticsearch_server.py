"""The few endpoints of Elasticsearch that hopgraph calls, over real HTTP, with their documented meaning.

Not the real thing: one shard, no persistence, BM25 with exact lengths of documents (Lucene stores long ones
in one byte, rounded) and exact nearest neighbors (Lucene walks a graph). What it does not know it refuses,
as a server refuses what it does not know.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from support.servers.loopback import LoopbackServer

_PRODUCT = {"X-Elastic-Product": "Elasticsearch"}


class RefusedError(Exception):
    """A response with status 400, 404 or 409."""

    def __init__(self, status: int, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.status, self.kind, self.reason = status, kind, reason


@dataclass
class StoredIndex:
    """One index."""

    similarity: dict[str, dict[str, Any]]
    mappings: dict[str, Any]
    written: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    searchable: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """What was written before the last refresh."""
    counts: dict[str, dict[str, Counter[str]]] = field(default_factory=dict[str, dict[str, Counter[str]]])
    """Of a field's words, by document; of what is searchable."""

    def refresh(self) -> None:
        self.searchable, self.counts = dict(self.written), {}

    def write(self, key: str, document: dict[str, Any]) -> None:
        properties = self.mappings["properties"]
        for name, value in document.items():
            if name not in properties:
                raise RefusedError(400, "strict_dynamic_mapping_exception", f"[{name}] is not allowed")
            dims = properties[name].get("dims")
            if dims is not None and len(value) != dims:
                raise RefusedError(400, "document_parsing_exception", f"[{name}] has {len(value)} dims, not {dims}")
        if len(key.encode()) > 512:
            raise RefusedError(400, "illegal_argument_exception", "the id is longer than 512 bytes")
        self.written[key] = document

    def match(self, name: str, text: str) -> dict[str, float]:
        """Score by BM25 as Lucene writes it; a term that the query repeats counts each time."""
        mapped = self.mappings["properties"][name]
        if mapped["analyzer"] != "whitespace":
            raise RefusedError(400, "illegal_argument_exception", f"analyzer {mapped['analyzer']}")
        parameters = self.similarity[mapped["similarity"]]
        k1, b = parameters["k1"], parameters["b"]
        if name not in self.counts:
            self.counts[name] = {key: Counter(each.get(name, "").split()) for key, each in self.searchable.items()}
        counts = self.counts[name]
        lengths = {key: count.total() for key, count in counts.items()}
        average = sum(lengths.values()) / max(1, sum(map(bool, lengths.values())))
        scores: Counter[str] = Counter()
        for term in text.split():
            having = [key for key, count in counts.items() if term in count]
            idf = math.log(1 + (len(counts) - len(having) + 0.5) / (len(having) + 0.5))
            for key in having:
                tf = counts[key][term]
                scores[key] += idf * tf / (tf + k1 * (1 - b + b * lengths[key] / average))  # pyright: ignore[reportArgumentType]
        return dict(scores)

    def nearest(self, name: str, query_vector: list[float], k: int, num_candidates: int) -> dict[str, float]:
        mapped = self.mappings["properties"].get(name)
        if mapped is None or mapped["type"] != "dense_vector" or mapped["similarity"] != "max_inner_product":
            raise RefusedError(400, "query_shard_exception", f"[{name}] is not a dense_vector by inner product")
        if len(query_vector) != mapped["dims"] or not k <= num_candidates <= 10_000:
            raise RefusedError(
                400, "illegal_argument_exception", "the query vector has another dimension, or k is too large"
            )
        products = {key: _product(each[name], query_vector) for key, each in self.searchable.items() if name in each}
        best = sorted(products, key=products.__getitem__, reverse=True)[:k]
        return {key: products[key] + 1 if products[key] >= 0 else 1 / (1 - products[key]) for key in best}


def _product(left: list[float], right: list[float]) -> float:
    return sum(one * other for one, other in zip(left, right, strict=True))


class ElasticsearchServer:
    """Serve on a free port of the loopback interface between `start` and `close`; a context manager."""

    def __init__(self, api_key: str = "", product: bool = True) -> None:
        self.indexes: dict[str, StoredIndex] = {}
        self.requests: list[str] = []
        """Method and path, in order."""
        self.fail_bulk_after: int | None = None
        """Answer 503 to every bulk request once this many were done."""
        self.bulks = 0
        self._api_key, self._headers = api_key, _PRODUCT if product else {}
        routes = [
            Route("/_bulk", self._route(self._bulk), methods=["PUT", "POST"]),
            Route("/{index}", self._route(self._index), methods=["HEAD", "PUT"]),
            Route("/{index}/_mapping", self._route(self._mapping), methods=["GET", "PUT"]),
            Route("/{index}/_refresh", self._route(self._refresh), methods=["POST"]),
            Route("/{index}/_count", self._route(self._count), methods=["GET", "POST"]),
            Route("/{index}/_search", self._route(self._search), methods=["POST"]),
            Route("/{index}/_delete_by_query", self._route(self._delete_by_query), methods=["POST"]),
        ]
        self._server = LoopbackServer(Starlette(routes=routes))
        self.url = self._server.url

    def __enter__(self) -> "ElasticsearchServer":
        self._server.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.close()

    def _route(self, answer: Callable[[Request, bytes], Any]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            self.requests.append(f"{request.method} {request.url.path}")
            if self._api_key and request.headers.get("authorization") != f"ApiKey {self._api_key}":
                return self._error(RefusedError(401, "security_exception", "missing authentication credentials"))
            try:
                return JSONResponse(answer(request, await request.body()), headers=self._headers)
            except RefusedError as refused:
                return self._error(refused)

        return endpoint

    def _error(self, refused: RefusedError) -> Response:
        cause = {"type": refused.kind, "reason": refused.reason}
        body = {"error": {**cause, "root_cause": [cause]}, "status": refused.status}
        return JSONResponse(body, refused.status, headers=self._headers)

    def _named(self, request: Request) -> StoredIndex:
        name = request.path_params["index"]
        if name not in self.indexes:
            raise RefusedError(404, "index_not_found_exception", f"no such index [{name}]")
        return self.indexes[name]

    def _index(self, request: Request, body: bytes) -> Any:
        name = request.path_params["index"]
        if request.method == "HEAD":
            self._named(request)
            return {}
        if name != name.lower() or re.search(r'[\\/*?"<>| ,#]', name):
            raise RefusedError(400, "invalid_index_name_exception", f"Invalid index name [{name}], must be lowercase")
        if name in self.indexes:
            raise RefusedError(400, "resource_already_exists_exception", f"index [{name}] already exists")
        wanted = json.loads(body)
        self.indexes[name] = StoredIndex(wanted["settings"]["index"]["similarity"], wanted["mappings"])
        return {"acknowledged": True, "index": name}

    def _mapping(self, request: Request, body: bytes) -> Any:
        index = self._named(request)
        if request.method == "GET":
            return {request.path_params["index"]: {"mappings": index.mappings}}
        change = json.loads(body)
        if set(change) != {"_meta"}:
            raise RefusedError(400, "mapper_parsing_exception", f"cannot change {sorted(change)}")
        index.mappings |= change
        return {"acknowledged": True}

    def _bulk(self, _request: Request, body: bytes) -> Any:
        if self.fail_bulk_after is not None and self.bulks >= self.fail_bulk_after:
            raise RefusedError(503, "unavailable_shards_exception", "primary shard is not active")
        self.bulks += 1
        lines = [json.loads(line) for line in body.splitlines()]
        items: list[Any] = []
        for action, document in zip(lines[::2], lines[1::2], strict=True):
            about = action["index"]
            item: dict[str, Any] = {"_index": about["_index"], "_id": about["_id"], "status": 200}
            try:
                if about["_index"] not in self.indexes:
                    raise RefusedError(404, "index_not_found_exception", f"no such index [{about['_index']}]")
                self.indexes[about["_index"]].write(about["_id"], document)
            except RefusedError as refused:
                item |= {"status": refused.status, "error": {"type": refused.kind, "reason": refused.reason}}
            items.append({"index": item})
        return {"took": 1, "errors": any("error" in item["index"] for item in items), "items": items}

    def _refresh(self, request: Request, _body: bytes) -> Any:
        self._named(request).refresh()
        return {"_shards": {"total": 1, "successful": 1, "failed": 0}}

    def _count(self, request: Request, _body: bytes) -> Any:
        return {"count": len(self._named(request).searchable)}

    def _delete_by_query(self, request: Request, body: bytes) -> Any:
        index, ((name, values),) = self._named(request), json.loads(body)["query"]["terms"].items()
        if index.mappings["properties"][name] != {"type": "keyword"}:
            raise RefusedError(400, "query_shard_exception", f"[{name}] is no keyword")
        found = [key for key, each in index.searchable.items() if each.get(name) in values]  # as last refreshed
        for key in found:
            index.written.pop(key, None)
        return {"deleted": len(found), "failures": []}

    def _sorted(self, index: StoredIndex, wanted: dict[str, Any]) -> Any:
        """Page through the documents that have a keyword field, by another one."""
        name, ((by, _),) = wanted["query"]["exists"]["field"], wanted["sort"][0].items()
        after = wanted.get("search_after", [""])[0]
        found = sorted((each[by], key) for key, each in index.searchable.items() if name in each and each[by] > after)
        hits = [
            {"_id": key, "sort": [value], "_source": {each: index.searchable[key][each] for each in wanted["_source"]}}
            for value, key in found[: wanted["size"]]
        ]
        return {"hits": {"hits": hits}}

    def _search(self, request: Request, body: bytes) -> Any:
        index, wanted = self._named(request), json.loads(body)
        if "sort" in wanted:
            return self._sorted(index, wanted)
        if unknown := set(wanted) - {"query", "size", "_source"}:
            raise RefusedError(400, "parsing_exception", f"unknown key {sorted(unknown)}")
        if wanted["size"] > 10_000:
            raise RefusedError(400, "illegal_argument_exception", "Result window is too large")
        ((kind, query),) = wanted["query"].items()
        if kind == "match":
            ((name, said),) = query.items()
            scores = index.match(name, said["query"])
        elif kind == "knn":
            scores = index.nearest(query.pop("field"), **query)
        else:
            raise RefusedError(400, "parsing_exception", f"unknown query [{kind}]")
        hits = [
            {
                "_id": key,
                "_score": scores[key],
                "_source": {name: value for name, value in index.searchable[key].items() if name in wanted["_source"]},
            }
            for key in sorted(scores, key=scores.__getitem__, reverse=True)[: wanted["size"]]
        ]
        return {"hits": {"total": {"value": len(scores), "relation": "eq"}, "hits": hits}}
