"""Milvus: embedded (Milvus Lite, a local file) or a cluster.

Both get the same calls, but Lite has only the `standard` tokenizer (which splits our terms like `whitespace`), returns
BM25 distances below 0 where a cluster returns scores above 0, and counts document frequencies within each of its
segments (at most 100,000 rows), so that scores of a larger collection differ slightly between segments.
"""

import json
import logging
import os
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
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

TOKEN = "HOPGRAPH_MILVUS_TOKEN"  # noqa: S105 - the name of an environment variable
"""Variable with a cluster's token (`user:password` or a key)."""
_PROPERTY, _SPARSE = "hopgraph", "sparse"
_LITE_SECONDS = 1800.0
"""Lite builds its BM25 index in memory at a process's first search: over a minute for 100,000 passages."""
_MAX_ID, _MAX_FIELD = 512, 65_535
"""Milvus's limits, in bytes."""
_READ_AT_ONCE = 1000  # files per request
_LETTERS = re.compile(r"\w+")
_opening = Lock()


class MilvusEngine:
    """One Milvus collection. Its calls block, so make them in a thread; any number may run at once.

    Each raises CorpusError if the server cannot be reached or refuses; the constructor also SpecError without the
    package.
    """

    def __init__(self, address: EngineAddress) -> None:
        self.address = address
        self._seconds = CALL_SECONDS
        connection: dict[str, Any] = {"uri": address.uri, "timeout": CONNECT_SECONDS}
        if not address.remote:
            path = Path(address.uri).expanduser().absolute()
            if not path.parent.is_dir():
                raise CorpusError(f"{address}: there is no folder {path.parent}")
            connection["uri"] = str(path)
            self._seconds = _LITE_SECONDS
            # An idle client pings by default; Lite's server takes that for an attack and closes the connection.
            connection["grpc_options"] = {"grpc.keepalive_permit_without_calls": False}
        elif token := os.environ.get(TOKEN):
            connection["token"] = token
        os.environ.setdefault("GRPC_VERBOSITY", "ERROR")  # else it logs each process started meanwhile
        self._milvus: Any = require("pymilvus", "milvus")
        self._grpc: Any = require("grpc", "milvus")
        if not address.remote:
            require("milvus_lite", "milvus")
        # They log tracebacks of errors that we report as one line.
        for name in ("pymilvus.decorators", "milvus_lite.server_manager"):
            logging.getLogger(name).disabled = True
        one = "" if address.remote else "; a local file can be open in one process at a time"
        with self._translate_errors(f"cannot be opened{one}"), _opening:
            self._client: Any = self._milvus.MilvusClient(**connection)
        self._loaded = False

    def load_info(self) -> CollectionInfo | None:
        """Return the collection's info, from `parse_collection_info`; None if there is no such collection."""
        if not self._call("cannot be read", "has_collection"):
            return None
        found = self._call("cannot be read", "describe_collection")
        return parse_collection_info(str(self.address), found.get("properties", {}).get(_PROPERTY))

    def create(self, info: CollectionInfo) -> None:
        """Create the empty collection."""
        kinds = self._milvus.DataType
        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("id", kinds.VARCHAR, is_primary=True, max_length=_MAX_ID)
        for name in ("title", "text", METADATA, FILE, FILE_RECORD):
            schema.add_field(name, kinds.VARCHAR, max_length=_MAX_FIELD)
        schema.add_field(
            TERMS,
            kinds.VARCHAR,
            max_length=_MAX_FIELD,
            enable_analyzer=True,
            analyzer_params={"tokenizer": "whitespace" if self.address.remote else "standard"},
        )
        schema.add_field(_SPARSE, kinds.SPARSE_FLOAT_VECTOR)
        bm25 = self._milvus.FunctionType.BM25
        schema.add_function(self._milvus.Function("bm25", bm25, [TERMS], [_SPARSE]))
        indexes = self._client.prepare_index_params()
        parameters: dict[str, Any] = {"bm25_k1": info.k1, "bm25_b": info.b}
        if not self.address.remote:
            # Lite 3.2 reads only parameters inside `params`, and would use its defaults 1.5 and 0.75.
            parameters = {"params": parameters}
        indexes.add_index(_SPARSE, index_type="SPARSE_INVERTED_INDEX", metric_type="BM25", params=parameters)
        if info.embedding:
            schema.add_field(VECTOR, kinds.FLOAT_VECTOR, dim=info.embedding.dimension)
            indexes.add_index(VECTOR, index_type="AUTOINDEX", metric_type="IP", params={})
        self._call(
            "the collection cannot be created",
            "create_collection",
            schema=schema,
            index_params=indexes,
            properties={_PROPERTY: info.model_dump_json()},
        )

    def save_info(self, info: CollectionInfo) -> None:
        """Replace the info stored with the collection."""
        self._call("cannot be written", "alter_collection_properties", properties={_PROPERTY: info.model_dump_json()})

    def upsert(self, rows: Sequence[EngineRow]) -> None:
        """Store passages, replacing those with the same ids."""
        data = [{**self._strings(row), **({VECTOR: row.vector} if row.vector else {})} for row in rows]
        self._call("cannot be written", "upsert", data=data)

    def rejection_reason(self, row: EngineRow) -> str:
        """Return why a passage cannot be stored; empty if it can."""
        for name, value in self._strings(row).items():
            limit = _MAX_ID if name == "id" else _MAX_FIELD
            if len(value.encode()) > limit:
                what = f"its {name} has more than {limit:,} bytes, which Milvus cannot hold"
                return f"the passage {row.passage.id!r}: {what}"
        return ""

    def _strings(self, row: EngineRow) -> dict[str, str]:
        key, title, text, metadata = row.passage
        strings = {"id": key, "title": title, "text": text, METADATA: json.dumps(dict(metadata), ensure_ascii=False)}
        return {**strings, FILE: row.file, FILE_RECORD: row.file_record, TERMS: self._words(row.terms)}

    def list_files(self) -> dict[str, str]:
        """Return the `file_record` of each complete file, by its `file`."""
        wanted = {"filter": f'{FILE_RECORD} != ""', "output_fields": [FILE, FILE_RECORD]}
        self._call("cannot be read", "load_collection")
        if not self.address.remote:  # Lite has no iterators, and needs none
            found = self._call("cannot be read", "query", **wanted)
        else:
            options = {"batch_size": _READ_AT_ONCE, "consistency_level": "Strong", **wanted}
            pages = self._call("cannot be read", "query_iterator", **options)
            with self._translate_errors("cannot be read"):
                found = [each for page in iter(pages.next, []) for each in page]
        return {each[FILE]: each[FILE_RECORD] for each in found}

    def delete_files(self, files: Sequence[str]) -> None:
        """Delete the passages of files, complete or not, by their `file`."""
        for start in range(0, len(files), _READ_AT_ONCE):
            named = json.dumps(list(files[start : start + _READ_AT_ONCE]))  # digests need no escaping
            self._call("cannot be written", "delete", filter=f"{FILE} in {named}")

    def finish(self) -> int:
        """Make all stored passages searchable; return their number."""
        for method in ("flush", "load_collection"):
            self._call("cannot be written", method, timeout=None)
        rows = self._call("cannot be written", "query", filter="", output_fields=["count(*)"], timeout=None)
        return int(rows[0]["count(*)"])

    def search_terms(self, terms: Sequence[str], k: int) -> list[Hit]:
        """Return at most k passages by BM25; each repetition of a term counts."""
        found = self._search(self._words(terms), _SPARSE, "BM25", k)
        return [hit._replace(score=abs(hit.score)) for hit in found]

    def search_vector(self, vector: list[float], k: int) -> list[Hit]:
        """Return at most k passages by inner product."""
        return self._search(vector, VECTOR, "IP", k)

    def _search(self, query: str | list[float], field: str, metric: str, k: int) -> list[Hit]:
        if not self._loaded:
            self._call("cannot be searched", "load_collection")
            self._loaded = True
        (found,) = self._call(
            "cannot be searched",
            "search",
            data=[query],
            anns_field=field,
            limit=k,
            search_params={"metric_type": metric, "params": {}},
            output_fields=["title", "text", METADATA],
        )
        hits: list[Hit] = []
        for each in found:
            fields = each["entity"]
            passage = StoredPassage(each["id"], fields["title"], fields["text"], json.loads(fields[METADATA]))
            hits.append(Hit(passage, float(each["distance"])))
        return hits

    def _words(self, terms: Sequence[str]) -> str:
        if self.address.remote:
            return " ".join(terms)
        # Lite's tokenizer splits at everything but letters, digits and _.
        return " ".join(term if _LETTERS.fullmatch(term) else f"x{term.encode().hex()}" for term in terms)

    def _call(self, what: str, method: str, **options: Any) -> Any:
        """Call a method of the client; a failure is reported as `what`."""
        with self._translate_errors(what):
            return getattr(self._client, method)(self.address.collection, **{"timeout": self._seconds, **options})

    @contextmanager
    def _translate_errors(self, what: str) -> Generator[None]:
        try:
            yield
        except self._milvus.MilvusException as error:
            raise engine_error(self.address, what, error.message) from None
        except self._grpc.RpcError as error:  # pymilvus does not wrap time-outs
            raise engine_error(self.address, what, error.details()) from None
