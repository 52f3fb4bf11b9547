"""Who a caller is, where nothing stands before LangGraph's `Auth` that would have turned others away."""

from typing import Any

import pytest
from langgraph_sdk import Auth

from hopgraph.tools.apps.server import langgraph_auth


@pytest.mark.parametrize(("client", "let_in"), [("127.0.0.1", True), ("::1", True), ("192.0.2.7", False)])
async def test_without_keys_this_machine_alone_is_let_in(
    client: str, let_in: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOPGRAPH_API_KEY", raising=False)
    monkeypatch.setattr(langgraph_auth, "_keys", dict[str, str])
    scope: dict[str, Any] = {"client": (client, 50_000)}
    if let_in:
        assert await langgraph_auth.authenticate({}, scope) == {"identity": "local"}
        return
    with pytest.raises(Auth.exceptions.HTTPException) as refused:
        await langgraph_auth.authenticate({}, scope)
    assert refused.value.status_code == 403
