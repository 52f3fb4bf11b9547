"""An HTTP server on loopback that receives traces of LangSmith's client and OpenTelemetry's exporter."""

import gzip
import json
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

_LIMITS = {
    "use_multipart_endpoint": False,
    "size_limit": 100,
    "size_limit_bytes": 20_000_000,
    "scale_up_nthreads_limit": 4,
    "scale_up_qsize_trigger": 1000,
    "scale_down_nempty_trigger": 4,
}


@dataclass
class TraceReceiver:
    """The traces received."""

    paths: list[str] = field(default_factory=list[str])
    """Of every request."""
    runs: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """LangSmith's, as they began or as a whole."""
    spans: list[str] = field(default_factory=list[str])
    """Names of OpenTelemetry's."""

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/{path:path}", self._take, methods=["GET", "POST", "PATCH"])])

    async def _take(self, request: Request) -> Response:
        path, body = request.url.path, await request.body()
        self.paths.append(path)
        if request.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        if path == "/info":
            return JSONResponse({"version": "0.10", "batch_ingest_config": _LIMITS})
        if path == "/runs/batch":
            self.runs += json.loads(body).get("post", [])
        if path == "/v1/traces":
            received = ExportTraceServiceRequest.FromString(body)
            scopes = [scope for resource in received.resource_spans for scope in resource.scope_spans]
            self.spans += [span.name for scope in scopes for span in scope.spans]
        return JSONResponse({})
