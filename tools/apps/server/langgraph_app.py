"""The web app for a LangGraph server: `"http": {"app": "hopgraph.tools.apps.server.langgraph_app:app"}` in its JSON.

Its settings come from the environment: `HOPGRAPH_MODEL` and the others of the chat, `HOPGRAPH_API_KEY`,
`HOPGRAPH_HOSTS`, `HOPGRAPH_ORIGINS`, and `HOPGRAPH_THREADS`, where the page stores its threads. The server has an MCP
endpoint and a start page of its own, so the app leaves these out. Without a key only the machine itself may use these
endpoints; with one the app is reached by any name, or by those of `HOPGRAPH_HOSTS` alone. The server's own endpoints
are not guarded by the app.
"""

import os

from fastapi import FastAPI

from hopgraph.tools.apps.server.server_options import (
    ServingOptions,
    hosts_from_environment,
    keys_from_environment,
    origins_from_environment,
)
from hopgraph.tools.apps.server.web_app import create_app


def __getattr__(name: str) -> FastAPI:
    """Create the app on first access rather than on import."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    options = ServingOptions(
        keys=keys_from_environment(),
        origins=origins_from_environment(),
        hosts=hosts_from_environment(),
        threads=os.environ.get("HOPGRAPH_THREADS") or None,
    )
    globals()[name] = app = create_app(options, alone=False)
    return app
