"""Twelve long answers over three protocols: the same plain Markdown, whole and streamed."""

import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp.client.client import Client

from hopgraph.nodes.core.long_answer import LongAnswer
from support.long_answers import REQUESTS, always, writes
from support.servers.openai_server import OpenAIServer
from support.servers.protocols import agent_request
from support.servers.web_app import WebApp, open_app, without_page

SHOWN = 5
"""Passages that `one_step` finds."""


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[WebApp]:
    with OpenAIServer(writes()) as model:
        settings = {"model": f"openai:m?base_url={model.base_url}", "use_method": "one_step", "links": False}
        async with open_app(without_page(tmp_path, settings=settings)) as opened:
            yield opened


def chunks(reply: httpx.Response) -> list[dict[str, Any]]:
    lines = [each.removeprefix("data: ") for each in reply.text.splitlines() if each.startswith("data: ")]
    return [json.loads(each) for each in lines if each != "[DONE]"]


async def over_openai(client: httpx.AsyncClient, *said: str, stream: bool = False) -> Any:
    roles = ("user", "assistant", "user")
    messages = [{"role": role, "content": text} for role, text in zip(roles, said, strict=False)]
    asked = {"model": "one_step", "messages": messages, "stream": stream}
    return await client.post("/v1/chat/completions", json=asked)


async def over_ag_ui(client: httpx.AsyncClient, question: str) -> str:
    given = agent_request(question, thread=str(uuid.uuid4()), forwardedProps={})
    events = chunks(await client.post("/ag-ui", json=given))
    return "".join(each["delta"] for each in events if each["type"] == "TEXT_MESSAGE_CONTENT")


@pytest.mark.slow
async def test_three_protocols_give_the_same_plain_markdown(app: WebApp) -> None:
    async with httpx.AsyncClient(base_url=app.url, timeout=60) as client, Client(f"{app.url}/mcp") as mcp:
        for question, reply in REQUESTS.items():
            answer = LongAnswer(SHOWN)
            expected = answer.write(reply)
            whole = (await over_openai(client, question)).json()
            message = whole["choices"][0]["message"]
            streamed = chunks(await over_openai(client, question, stream=True))
            result: Any = await mcp.call_tool("one_step", {"question": question})
            texts = [
                message["content"],
                "".join(each["choices"][0]["delta"].get("content", "") for each in streamed),
                await over_ag_ui(client, question),
                "".join(block.text for block in result.content),
            ]
            assert len({*texts}) == 1, question
            assert texts[0].startswith(f"{expected}\n\n")
            sources = texts[0].removeprefix(expected).split("\n\n")
            assert sum(each.startswith("[") and each[1:2].isdigit() for each in sources) == len(answer.cited)
            found = whole["hopgraph"]
            assert (found["answer"], found["markdown"], len(found["citations"])) == (expected, True, len(answer.cited))
            assert result.structured_content["answer"] == expected
            for number, each in enumerate(message["annotations"], start=1):
                place = each["url_citation"]
                assert texts[0][place["start_index"] : place["end_index"]] == f"[{number}]"


async def test_a_follow_up_sees_a_long_answer_and_its_sources(tmp_path: Path) -> None:
    model = always("Picasso painted it [1].\n\n- It is **large** [2]")
    with OpenAIServer(model) as server:
        settings = {"model": f"openai:m?base_url={server.base_url}", "links": False}
        options = without_page(tmp_path, settings=settings)
        async with open_app(options) as app, httpx.AsyncClient(base_url=app.url, timeout=60) as client:
            question = "Explain who painted Guernica."
            said = (await over_openai(client, question)).json()["choices"][0]["message"]
            await over_openai(client, question, said["content"], "And when?")
    [asked] = [each for each in model.calls if each.role == "chat/condense_question"]
    titles = "; ".join(each["title"] for each in said["annotations"])
    assert f"Assistant: Picasso painted it . - It is **large** (sources: {titles})" in str(asked.messages[-1].text)
