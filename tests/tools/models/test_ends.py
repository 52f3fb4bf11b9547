"""Why a reply ended, by whatever name its provider gives that; and servers that refuse a limit by its older name."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from hopgraph.graphs.baselines import direct, react
from hopgraph.tools.models.offline import RuleBasedModel
from hopgraph.tools.models.parse import is_only_reasoning
from hopgraph.tools.models.send import _read_reply  # pyright: ignore[reportPrivateUsage]
from support.servers.faults import ErrorStatus
from support.servers.openai_server import OpenAIServer
from support.servers.traffic import RecordedRequest


@pytest.mark.parametrize(
    "metadata",
    [
        {"finish_reason": "length"},
        {"finish_reason": "MAX_TOKENS"},
        {"stop_reason": "max_tokens"},
        {"stopReason": "max_tokens"},
        {"done_reason": "length"},
        {"incomplete_details": {"reason": "max_output_tokens"}},
    ],
)
def test_a_reply_that_was_cut_off_is_told_by_every_provider(metadata: dict[str, Any]) -> None:
    reply = _read_reply(AIMessage('{"answer": "Li', response_metadata=metadata), [])
    assert "cut off" in reply.problem


@pytest.mark.parametrize(
    ("text", "only"),
    [("", True), ("Let me think: first", True), ("<think>so", True), ('{"answer": "L', False), (" \n ", False)],
)
def test_what_was_cut_off_before_it_began(text: str, only: bool) -> None:
    assert is_only_reasoning(text) == only


def refusing(key: str) -> Callable[[RecordedRequest], bool]:
    return lambda request: key in json.dumps(request.body)


def test_bounds_that_are_refused_of_one_schema_only() -> None:
    with OpenAIServer(RuleBasedModel()) as server:
        server.fail_when(refusing('"pattern"'), ErrorStatus(400, "the grammar has no patterns"))
        context = react.Context(model=f"openai:any?base_url={server.base_url}")
        direct.graph.invoke({"question": "Who painted Guernica?"}, context=direct.Context(model=context.model))
        result = react.graph.invoke({"question": "Who painted Guernica?"}, context=context)
        assert result["usage"]["llm_calls"] > 0
        assert any("pattern" in json.dumps(request.body) for request in server.requests)
