"""Security for a LangGraph server, and the web app inside one: `"http": {"app": "….langgraph_app:guard"}`.

`guard` has no endpoints; `app` is the web app behind the same guard. Their settings come from the environment:
`HOPGRAPH_MODEL` and the chat's other settings, `HOPGRAPH_API_KEY`, `HOPGRAPH_HOSTS`, `HOPGRAPH_ORIGINS`, and
`HOPGRAPH_THREADS`, where the page stores its threads. Without a key only local connections are allowed, and the server
starts only on a loopback address; with one, any host name is accepted, or only those in `HOPGRAPH_HOSTS`.
"""

import json
import logging
import os
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tracers.context import register_configure_hook
from langgraph.config import get_config
from starlette.applications import Starlette
from typing_extensions import override

from hopgraph.state import SettingsError
from hopgraph.tools.apps.server.caller_settings import LIMITS, TRUST_CALLERS, callers_are_trusted, read_limit
from hopgraph.tools.apps.server.guards import ServerGuard
from hopgraph.tools.apps.server.identity import HeaderUsers
from hopgraph.tools.apps.server.langgraph_auth import daily_calls
from hopgraph.tools.apps.server.server_options import OWNER, serving_options
from hopgraph.tools.apps.variables import refuse_misspelt_variables

STUDIO = "https://smith.langchain.com"


def __getattr__(name: str) -> Starlette:
    """Create either app on first access rather than on import."""
    if name not in {"app", "guard"}:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    app = Starlette()
    if name == "app":
        from hopgraph.tools.apps.server.web_app import create_app

        app = create_app(serving_options(threads=os.environ.get("HOPGRAPH_THREADS") or None), alone=False)
    refuse_misspelt_variables()
    options = serving_options(host=_bound_host(), origins=_named_origins())
    if isinstance(options.user_of, HeaderUsers):
        raise SettingsError(
            "HOPGRAPH_USER_HEADER is not read by a LangGraph server; use keys, tokens or HOPGRAPH_USER_OF"
        )
    if options.documents:
        raise SettingsError("a LangGraph server does not read HOPGRAPH_DOCUMENTS; use HOPGRAPH_RETRIEVER")
    read_limit("HOPGRAPH_QUESTIONS_PER_MINUTE")  # report an invalid number now rather than at the first question
    if options.has_users:
        daily_calls()  # likewise
        counter = _CallCounter()
        register_configure_hook(ContextVar("hopgraph_calls", default=counter), inheritable=True)
    app.add_middleware(ServerGuard, options=options)
    if callers_are_trusted():
        warning = "%s is set: callers choose models, addresses and files of this machine"
        logging.getLogger(__name__).warning(warning, TRUST_CALLERS)
    else:
        # Limits that the operator has not set: runs read missing settings from this process's environment.
        for limit, most in LIMITS.items():
            variable = f"HOPGRAPH_{limit.upper()}"
            os.environ[variable] = os.environ.get(variable) or str(most)
    globals()[name] = app
    return app


class _CallCounter(BaseCallbackHandler):
    run_inline = True

    @override
    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        daily_calls().count(get_config().get("configurable", {}).get("langgraph_auth_user_id", OWNER))


def _bound_host() -> str:
    """Return the address that `langgraph dev` listens on; other servers run in a container, on every address."""
    developing = os.environ.get("LANGSMITH_LANGGRAPH_API_VARIANT") == "local_dev"
    return (urlsplit(os.environ.get("LANGGRAPH_API_URL", "")).hostname if developing else None) or "0.0.0.0"  # noqa: S104


def _named_origins() -> list[str]:
    """Read `http.cors.allow_origins` of the server's JSON; Studio's origin if there is none."""
    described: dict[str, Any] = json.loads(os.environ.get("LANGGRAPH_HTTP") or "{}")
    return (described.get("cors") or {"allow_origins": [STUDIO]}).get("allow_origins", [])
