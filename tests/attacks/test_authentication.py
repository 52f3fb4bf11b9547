"""Who a caller is and how much they ask, as LangGraph's `Auth` sees it, without a server and its guard."""

from types import SimpleNamespace
from typing import Any

import pytest
from langgraph_sdk import Auth
from langgraph_sdk.auth.types import AuthContext

from hopgraph.state import SettingsError
from hopgraph.tools.apps.server import langgraph_auth
from hopgraph.tools.apps.server.caller_settings import read_limit
from hopgraph.tools.apps.server.guards import RateLimiter
from support.servers.trap import ANN


@pytest.mark.parametrize(("client", "let_in"), [("127.0.0.1", True), ("::1", True), ("192.0.2.7", False)])
async def test_without_keys_this_machine_alone_is_let_in(
    client: str, let_in: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(langgraph_auth, "_keys", dict[str, str])
    scope: dict[str, Any] = {"client": (client, 50_000)}
    if let_in:
        assert await langgraph_auth.authenticate({}, scope) == {"identity": "local"}
        return
    with pytest.raises(Auth.exceptions.HTTPException) as refused:
        await langgraph_auth.authenticate({}, scope)
    assert refused.value.status_code == 403


async def test_no_key_asks_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another user is not held up."""
    limiter = RateLimiter(1)
    monkeypatch.setattr(langgraph_auth, "_keys", lambda: {ANN: "ann"})
    monkeypatch.setattr(langgraph_auth, "_limiter", lambda: limiter)

    async def ask(user: str) -> Any:
        known: Any = SimpleNamespace(identity=user)
        context = AuthContext(resource="threads", action="create_run", user=known, permissions=[])
        handler: Any = langgraph_auth.own_threads
        return await handler(context, {"kwargs": {}})

    assert await ask("ann") == {"owner": "ann"}
    with pytest.raises(Auth.exceptions.HTTPException) as refused:
        await ask("ann")
    assert refused.value.status_code == 429
    assert int((refused.value.headers or {})["Retry-After"]) >= 1
    assert await ask("ben") == {"owner": "ben"}


@pytest.mark.parametrize("given", ["0", "many", "1.5", "-1"])
def test_a_limit_that_is_none_is_refused(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPGRAPH_QUESTIONS_PER_MINUTE", given)
    with pytest.raises(SettingsError, match="must be a whole number of at least 1"):
        read_limit("HOPGRAPH_QUESTIONS_PER_MINUTE")
