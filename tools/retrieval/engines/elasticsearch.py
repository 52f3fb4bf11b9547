"""Elasticsearch (8 or newer), through its official client.

Vectors are searched with the `knn` query and fused with BM25 here: the server's own rank fusion needs a paid license.
"""

import logging
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from hopgraph.state import CorpusError
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.retrieval.engines.engine import (
    CALL_SECONDS,
    CONNECT_SECONDS,
    FILE,
    FILE_RECORD,
    METADATA,
    TERMS,
    VECTOR,
    CollectionInfo,
    EngineAddress,
    EngineRow,
    engine_error,
    parse_collection_info,
)
from hopgraph.tools.retrieval.index import Hit
from hopgraph.tools.retrieval.passage_store import StoredPassage

API_KEY = "HOPGRAPH_ELASTICSEARCH_API_KEY"
"""Variable with the server's API key; alternatively, the address may have a user name and password."""
_META = "hopgraph"
_MAX_ID = 512  # bytes; Elasticsearch's limit
_MAX_HITS = 10_000  # the default of Elasticsearch's `index.max_result_window`


class ElasticsearchEngine:
    """One index of an Elasticsearch server, with the methods and errors of `MilvusEngine`."""

    def __init__(self, address: EngineAddress) -> None:
        self.address = address
        self._library: Any = require("elasticsearch", "elasticsearch")
        self._helpers: Any = require("elasticsearch.helpers", "elasticsearch")
        # They log unreachable nodes, which we report as one line.
        for name in ("elastic_transport.node_pool", "elastic_transport.transport"):
            logging.getLogger(name).disabled = True
        key = os.environ.get(API_KEY)
        options: dict[str, Any] = {"api_key": key} if key else {}
        with self._translate_errors("the address cannot be used"):
            self._client: Any = self._library.Elasticsearch(
                address.uri, request_timeout=CALL_SECONDS, max_retries=2, retry_on_timeout=False, **options
            )

    def load_info(self) -> CollectionInfo | None:
        """Return the collection's info, from `parse_collection_info`; None if there is no such collection."""
        with self._translate_errors("cannot be read"):
            quick = self._client.options(request_timeout=CONNECT_SECONDS, max_retries=0)
            if not quick.indices.exists(index=self.address.collection):
                return None
            # An alias stands for one index.
            (mapping,) = dict(quick.indices.get_mapping(index=self.address.collection)).values()
        return parse_collection_info(str(self.address), mapping["mappings"].get("_meta", {}).get(_META))

    def create(self, info: CollectionInfo) -> None:
        """Create the empty collection."""
        properties: dict[str, Any] = {
            "title": {"type": "text", "index": False},
            "text": {"type": "text", "index": False},
            TERMS: {"type": "text", "analyzer": "whitespace", "similarity": "hopgraph_bm25", "index_options": "freqs"},
            METADATA: {"type": "object", "enabled": False},
            FILE: {"type": "keyword"},
            FILE_RECORD: {"type": "keyword"},
        }
        if info.embedding:
            properties[VECTOR] = {
                "type": "dense_vector",
                "dims": info.embedding.dimension,
                "index": True,
                "similarity": "max_inner_product",
            }
        similarity = {"hopgraph_bm25": {"type": "BM25", "k1": info.k1, "b": info.b}}
        with self._translate_errors("the index cannot be created"):
            self._client.indices.create(
                index=self.address.collection,
                settings={"index": {"similarity": similarity}},
                mappings={
                    "dynamic": "strict",
                    "_meta": {_META: info.model_dump_json()},
                    "_source": {"excludes": [TERMS, VECTOR]},
                    "properties": properties,
                },
            )

    def save_info(self, info: CollectionInfo) -> None:
        """Replace the info stored with the collection."""
        with self._translate_errors("cannot be written"):
            self._client.indices.put_mapping(index=self.address.collection, meta={_META: info.model_dump_json()})

    def upsert(self, rows: Sequence[EngineRow]) -> None:
        """Store passages, replacing those with the same ids."""
        actions = (
            {
                "_index": self.address.collection,
                "_id": row.passage.id,
                "title": row.passage.title,
                "text": row.passage.text,
                TERMS: " ".join(row.terms),
                METADATA: dict(row.passage.metadata),
                FILE: row.file,
                **({FILE_RECORD: row.file_record} if row.file_record else {}),
                **({VECTOR: row.vector} if row.vector else {}),
            }
            for row in rows
        )
        with self._translate_errors("cannot be written"):
            self._helpers.bulk(self._client, actions, chunk_size=len(rows))

    def list_files(self) -> dict[str, str]:
        """Return the `file_record` of each complete file, by its `file`."""
        found: dict[str, str] = {}
        after: list[Any] | None = None
        with self._translate_errors("cannot be read"):
            self._client.indices.refresh(index=self.address.collection)
            while True:
                page = self._client.search(
                    index=self.address.collection,
                    query={"exists": {"field": FILE_RECORD}},
                    size=_MAX_HITS,
                    source=[FILE, FILE_RECORD],
                    sort=[{FILE: "asc"}],
                    search_after=after,
                )
                hits = page["hits"]["hits"]
                found |= {hit["_source"][FILE]: hit["_source"][FILE_RECORD] for hit in hits}
                if len(hits) < _MAX_HITS:
                    return found
                after = hits[-1]["sort"]

    def delete_files(self, files: Sequence[str]) -> None:
        """Delete the passages of files, complete or not, by their `file`."""
        with self._translate_errors("cannot be written"):
            for start in range(0, len(files), _MAX_HITS):
                some = {"terms": {FILE: list(files[start : start + _MAX_HITS])}}
                self._client.delete_by_query(index=self.address.collection, query=some, conflicts="proceed")

    def rejection_reason(self, row: EngineRow) -> str:
        """Return why a passage cannot be stored; empty if it can."""
        if len(row.passage.id.encode()) > _MAX_ID:
            what = f"its id has more than {_MAX_ID} bytes, which Elasticsearch cannot hold"
            return f"the passage {row.passage.id!r}: {what}"
        return ""

    def finish(self) -> int:
        """Make all stored passages searchable; return their number."""
        with self._translate_errors("cannot be written"):
            self._client.indices.refresh(index=self.address.collection)
            return int(self._client.count(index=self.address.collection)["count"])

    def search_terms(self, terms: Sequence[str], k: int) -> list[Hit]:
        """Return at most k passages by BM25; like our own BM25, Lucene counts each repetition of a term."""
        return self._search({"match": {TERMS: {"query": " ".join(terms)}}}, k)

    def search_vector(self, vector: list[float], k: int) -> list[Hit]:
        """Return at most k passages by inner product."""
        size = min(k, _MAX_HITS)
        candidates = min(max(100, 2 * size), _MAX_HITS)
        knn = {"field": VECTOR, "query_vector": vector, "k": size, "num_candidates": candidates}
        # Elasticsearch maps inner products to positive scores, which is undone here.
        found = self._search({"knn": knn}, k)
        return [hit._replace(score=hit.score - 1 if hit.score >= 1 else 1 - 1 / hit.score) for hit in found]

    def _search(self, query: dict[str, Any], k: int) -> list[Hit]:
        with self._translate_errors("cannot be searched"):
            found = self._client.search(
                index=self.address.collection,
                query=query,
                size=min(k, _MAX_HITS),
                source=["title", "text", METADATA],
                search_type="dfs_query_then_fetch",  # document frequencies of the whole index, not of each shard
            )
        hits: list[Hit] = []
        for hit in found["hits"]["hits"]:
            fields = hit["_source"]
            passage = StoredPassage(hit["_id"], fields["title"], fields["text"], fields.get(METADATA, {}))
            hits.append(Hit(passage, float(hit["_score"])))
        return hits

    @contextmanager
    def _translate_errors(self, what: str) -> Generator[None]:
        library = self._library
        try:
            yield
        except (library.AuthenticationException, library.AuthorizationException):
            raise CorpusError(
                f"{self.address}: the server rejects the key; set {API_KEY}, or write USER:PASSWORD@ before the host"
            ) from None
        except library.ConnectionError:
            raise engine_error(self.address, what, "no answer; is the server running at this address?") from None
        except (library.ApiError, library.TransportError, self._helpers.BulkIndexError, ValueError) as error:
            raise engine_error(self.address, what, str(error)) from None
