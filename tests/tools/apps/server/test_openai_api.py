"""The OpenAI-compatible endpoint, by the official client, LangChain's, and plain HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

from hopgraph.graphs import METHODS
from hopgraph.state import Citation
from hopgraph.tools.apps.server.openai_api import citation_annotations, read_request
from hopgraph.tools.apps.server.server_options import ServingOptions
from hopgraph.tools.apps.server.service import model_names
from hopgraph.tools.models.offline import RuleBasedModel
from support.servers.endpoints import QUESTION, asked, by_model, until_active, until_idle
from support.servers.faults import ErrorStatus, Slow
from support.servers.openai_server import OpenAIServer
from support.servers.scripted_model import ScriptedChatModel
from support.servers.web_app import WebApp, open_app, without_page
from support.waiting import PATIENCE

ASK: Any = [{"role": "user", "content": QUESTION}]
GUERNICA: Any = [{"role": "user", "content": "Who painted Guernica?"}]


@pytest.fixture
async def client(app: WebApp) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=app.base_url, api_key="none", max_retries=0, timeout=120) as opened:
        yield opened


async def posted(app: WebApp, body: Any, content: bytes | None = None) -> httpx.Response:
    async with httpx.AsyncClient(timeout=120) as http:
        given = json.dumps(body).encode() if content is None else content
        return await http.post(f"{app.base_url}/chat/completions", content=given)


def wanted(**fields: Any) -> dict[str, Any]:
    return {"model": "one_step", "messages": GUERNICA, **fields}


def cited_as_ask(message: Any, found: Any) -> None:
    """Compare citations with those of `hopgraph ask --json`, and check their offsets in the text."""
    expected = asked()
    assert found["answer"] == expected["answer"] == "Guadalajara"
    assert found["citations"] == expected["citations"]
    assert found["stop_reason"] == expected["stop_reason"]
    given = [each if isinstance(each, dict) else each.model_dump() for each in message["annotations"]]
    assert [each["passage_id"] for each in given] == [each["passage_id"] for each in expected["citations"]]
    for number, (each, citation) in enumerate(zip(given, expected["citations"], strict=True), start=1):
        where = each["url_citation"]
        assert message["content"][where["start_index"] : where["end_index"]] == f"[{number}]"
        assert where["title"] == each["title"] == citation["title"]
        assert where["url"] == f"passage:{citation['passage_id']}"
        assert each["quote"] == citation["quote"]


async def test_the_methods_are_listed_as_models(client: openai.AsyncOpenAI) -> None:
    listed = [model.id async for model in client.models.list()]
    assert listed == [*model_names(), "task"]
    assert set(listed) - {"auto", "task"} <= METHODS.keys()
    assert (await client.models.retrieve("migres")).owned_by == "hopgraph"
    with pytest.raises(openai.NotFoundError) as refused:
        await client.models.retrieve("gpt-9")
    assert refused.value.code == "model_not_found"


async def test_the_official_client_gets_what_ask_gets(client: openai.AsyncOpenAI) -> None:
    completion: Any = await client.chat.completions.create(model="migres", messages=ASK)
    choice = completion.choices[0]
    cited_as_ask(choice.message.model_dump(), completion.hopgraph)
    assert choice.finish_reason == "stop"
    assert completion.model == completion.hopgraph["method"] == "migres"
    assert choice.message.content.startswith("Guadalajara [1][2]\n\n[1] Pan's Labyrinth: “")
    assert "- **search** Guillermo del Toro born\n" in choice.message.reasoning_content
    # The method's usage, plus that of reading the message.
    used, spent = completion.hopgraph["usage"], asked(method="migres")["usage"]
    assert spent["prompt_tokens"] <= used["prompt_tokens"] <= spent["prompt_tokens"] + 1000
    assert completion.usage.prompt_tokens == used["prompt_tokens"]
    assert completion.usage.completion_tokens == used["completion_tokens"]
    assert completion.usage.total_tokens == used["prompt_tokens"] + used["completion_tokens"]


async def test_a_stream_gives_the_same_with_its_steps_first(client: openai.AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(
        model="migres", messages=ASK, stream=True, stream_options={"include_usage": True}
    )
    chunks: list[Any] = [chunk async for chunk in stream]
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    steps = [number for number, delta in enumerate(deltas) if getattr(delta, "reasoning_content", None)]
    texts = [number for number, delta in enumerate(deltas) if delta.content]
    assert deltas[0].role == "assistant"
    assert len(steps) > 3
    assert max(steps) < min(texts)
    content = "".join(delta.content or "" for delta in deltas)
    noted = [each for delta in deltas for each in getattr(delta, "annotations", None) or []]
    cited_as_ask({"content": content, "annotations": noted}, chunks[-2].hopgraph)
    assert [chunk.choices[0].finish_reason for chunk in chunks[:-1]] == [None] * (len(chunks) - 2) + ["stop"]
    assert chunks[-1].choices == []
    assert chunks[-1].usage.prompt_tokens == chunks[-2].hopgraph["usage"]["prompt_tokens"] > 0
    assert len({chunk.id for chunk in chunks}) == 1


async def test_a_sentence_answer_is_streamed_while_it_is_written(tmp_path: Path) -> None:
    """The citations follow; only the last step sees the system message."""
    with OpenAIServer(RuleBasedModel()) as server:
        settings = {"model": f"openai:any?base_url={server.base_url}", "answer_type": "sentence"}
        async with (
            open_app(without_page(tmp_path, settings=settings)) as app,
            openai.AsyncOpenAI(base_url=app.base_url, api_key="none", max_retries=0, timeout=120) as client,
        ):
            messages: Any = [{"role": "system", "content": "Answer in Latin."}, *ASK]
            stream = await client.chat.completions.create(model="migres", messages=messages, stream=True)
            deltas = [chunk.choices[0].delta async for chunk in stream]
    content = "".join(delta.content or "" for delta in deltas)
    assert content.startswith("The answer is Guadalajara [1][2].\n\n[1] Pan's Labyrinth: “")
    assert len([delta for delta in deltas if delta.content]) > 2
    noted = [each["url_citation"] for delta in deltas for each in getattr(delta, "annotations", None) or []]
    assert [content[each["start_index"] : each["end_index"]] for each in noted] == ["[1]", "[2]"]
    styled = {each.role for each in server.requests if "Latin" in str(each.body)}
    assert styled == {"migres/write_sentence"}


async def test_a_stream_has_usage_only_on_request(app: WebApp) -> None:
    reply = await posted(app, wanted(stream=True))
    assert reply.headers["content-type"].startswith("text/event-stream")
    events = [line.removeprefix("data: ") for line in reply.text.splitlines() if line]
    assert events[-1] == "[DONE]"
    assert all("usage" not in json.loads(event) for event in events[:-1])


async def test_langchains_client_works(app: WebApp) -> None:
    given: Any = {"base_url": app.base_url, "api_key": "none", "model": "migres", "timeout": 120}
    model = ChatOpenAI(**given)
    reply = await model.ainvoke(QUESTION)
    assert reply.text.startswith("Guadalajara [1][2]")
    pieces = [piece async for piece in ChatOpenAI(**given, stream_usage=True).astream(QUESTION)]
    assert "".join(piece.text for piece in pieces) == reply.text
    agent: Any = create_agent(model, tools=[])
    told = await agent.ainvoke({"messages": [("user", QUESTION)]})
    assert told["messages"][-1].text == reply.text


async def test_a_follow_up_uses_the_messages_of_the_request(client: openai.AsyncOpenAI) -> None:
    first = await client.chat.completions.create(model="auto", messages=GUERNICA)
    said: Any = {"role": "assistant", "content": first.choices[0].message.content}
    then: Any = {"role": "user", "content": [{"type": "text", "text": "Where was he born?"}]}
    second: Any = await client.chat.completions.create(model="auto", messages=[*GUERNICA, said, then])
    assert second.hopgraph["answer"] == "Málaga"
    alone: Any = await client.chat.completions.create(model="auto", messages=[then])
    assert alone.hopgraph["answer"] != "Málaga"


async def test_null_fields_count_as_missing(app: WebApp) -> None:
    parts = [{"type": "text", "text": None}, {"text": "Who painted Guernica?"}]
    null = {"n": None, "stream": None, "stream_options": {"include_usage": None}, "tool_choice": None}
    reply = await posted(app, wanted(messages=[{"role": "user", "content": parts}], **null))
    assert reply.status_code == 200


async def test_parameters_of_other_models_are_accepted(client: openai.AsyncOpenAI) -> None:
    tool: Any = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    system: Any = {"role": "system", "content": "Answer as a pirate. " * 50}
    later: Any = {"role": "developer", "content": "Be brief."}
    completion: Any = await client.chat.completions.create(
        model="one_step",
        messages=[system, *GUERNICA, later],
        temperature=1.7,
        max_tokens=3,
        stop=["P"],
        tools=[tool],
        tool_choice="auto",
        response_format={"type": "json_object"},
        user="somebody",
    )
    assert completion.hopgraph["answer"] == "Pablo Picasso"
    assert "pirate" not in completion.choices[0].message.reasoning_content


async def test_settings_of_a_method_are_applied(client: openai.AsyncOpenAI) -> None:
    completion: Any = await client.chat.completions.create(
        model="migres", messages=ASK, extra_body={"hopgraph": {"max_iterations": 1}}
    )
    assert completion.hopgraph["stop_reason"] == "max_iterations"
    assert completion.hopgraph["usage"]["iterations"] == 1


async def test_a_budget_that_ends_a_run_is_reported(client: openai.AsyncOpenAI) -> None:
    completion: Any = await client.chat.completions.create(
        model="migres", messages=ASK, extra_body={"hopgraph": {"max_llm_calls": 2}}
    )
    assert completion.hopgraph["stop_reason"] == "budget"
    assert completion.choices[0].finish_reason == "length"


async def test_a_model_may_be_named_by_its_short_name(client: openai.AsyncOpenAI) -> None:
    completion: Any = await client.chat.completions.create(model="cor", messages=ASK)
    assert completion.model == completion.hopgraph["method"] == "chain_of_reviews"
    assert (await client.models.retrieve("cor")).id == "chain_of_reviews"


@pytest.mark.parametrize(
    ("fields", "status", "said"),
    [
        ({"model": "gpt-4"}, 404, "method 'gpt-4' is unknown; available: auto, migres"),
        ({"model": None}, 400, "model"),
        ({"messages": []}, 400, "messages"),
        ({"messages": [{"role": "assistant", "content": "Yes."}]}, 400, "the last message must have the role user"),
        ({"messages": [{"role": "king", "content": "Yes."}]}, 400, "messages.0.role"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 400, "'image_url' is not supported"),
        ({"n": 2}, 400, "n: must be 1"),
        ({"tool_choice": "required"}, 400, "callers' tools are not supported"),
        ({"hopgraph": {"max_iterations": 3}}, 400, "max_iterations"),
        ({"hopgraph": {"retriever": "bm25:/etc"}}, 400, "setting 'retriever' can only be set"),
        ({"hopgraph": {"cache_dir": "/tmp/x"}}, 400, "'cache_dir' can only be set by the operator of this server"),  # noqa: S108
        ({"hopgraph": {"history_turns": 10**9}}, 400, "history_turns"),
        ({"hopgraph": ["model"]}, 400, "hopgraph"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_unsupported_requests_are_refused(
    app: WebApp, fields: dict[str, Any], status: int, said: str, stream: bool
) -> None:
    reply = await posted(app, wanted(**fields, stream=stream))
    error = reply.json()["error"]
    assert reply.status_code == status
    assert said in error["message"]
    assert "\n" not in error["message"]
    assert error["type"] == "invalid_request_error"
    assert app.service.admission.active == 0


HOSTILE: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "no JSON": lambda: b'{"model": "one_step", "messages": [',
    "no object": lambda: b"[1, 2]",
    "no UTF-8": lambda: b'{"model": "\xff\xfe"}',
    "half a pair of surrogates": lambda: json.dumps(wanted(model="\ud800")).encode(),
    "deep nesting": lambda: json.dumps(wanted()).encode()[:-1] + b', "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep settings": lambda: json.dumps(wanted()).encode()[:-1] + b', "hopgraph": {"a": ' + b"[" * 5000 + b"}",
    "a huge number": lambda: json.dumps(wanted()).encode()[:-1] + b', "n": ' + b"9" * 100_000 + b"}",
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_bodies_are_refused(app: WebApp, name: str) -> None:
    reply = await posted(app, None, HOSTILE[name]())
    assert reply.status_code == 400
    assert reply.json()["error"]["type"] == "invalid_request_error"
    assert len(reply.text) < 1000


async def test_an_unreadable_message_gets_a_plain_reply(app: WebApp) -> None:
    reply = await posted(app, wanted(messages=[{"role": "user", "content": "x" * 500_000}]))
    message = reply.json()["choices"][0]["message"]
    assert message["content"].startswith("I cannot read this message")
    assert message["annotations"] == []
    assert len(reply.text) < 2000


async def test_only_the_last_of_very_many_messages_are_read(app: WebApp) -> None:
    many = [{"role": "user", "content": f"Who painted picture {number}?"} for number in range(20_000)]
    reply = await posted(app, wanted(messages=[*many, *GUERNICA], hopgraph={"history_turns": 0}))
    assert reply.json()["hopgraph"]["answer"] == "Pablo Picasso"


async def test_markup_and_surrogates_from_a_model_are_returned_as_text(tmp_path: Path) -> None:
    def reply(role: str, _: Any) -> str:
        return json.dumps({"answer": "<img src=x onerror=alert(1)> ![a](http://evil/)\ud83d", "explanation": "\ud83d"})

    with OpenAIServer(ScriptedChatModel(replies=reply)) as server:
        given = {"model": f"openai:any?base_url={server.base_url}", "parse_retries": 0}
        async with open_app(ServingOptions(settings=given, threads=tmp_path / "t.sqlite", page=False)) as app:
            plain = (await posted(app, wanted(model="direct"))).json()
            streamed = await posted(app, wanted(model="direct", stream=True))
    assert r"\<img src=x onerror=alert(1)> ![a\](http://evil/)" in plain["choices"][0]["message"]["content"]
    assert "\\\\<img" in streamed.text
    assert "[DONE]" in streamed.text


async def test_a_model_error_is_reported_in_one_line_without_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hopgraph.tools.apps.server.openai_api._STATUS_WAITS", PATIENCE)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-0123456789abcdef")
    with OpenAIServer(RuleBasedModel(), api_key="sk-another-key-9876543210") as server:
        options = by_model(server, tmp_path)
        async with open_app(options) as app:
            replies = [await posted(app, wanted(model="auto", stream=stream)) for stream in (False, True)]
            async with openai.AsyncOpenAI(base_url=app.base_url, api_key="x") as client:
                before = len(server.requests)
                await asyncio.sleep(1.1)  # as long as a refusal holds
                with pytest.raises(openai.InternalServerError) as failed:
                    await client.chat.completions.create(model="direct", messages=GUERNICA)
                assert len(server.requests) == before + 1  # the client did not retry
    assert replies[0].status_code == failed.value.status_code == 502
    assert replies[0].json()["error"]["code"] == "model_failed"
    assert replies[1].status_code == 502  # it had not begun
    for text in (*(reply.text for reply in replies), str(failed.value)):
        assert "secret" not in text
        assert "another-key" not in text


@pytest.mark.parametrize("method", ["direct", "one_step"])
async def test_a_stream_whose_first_model_call_fails_has_its_status(
    tmp_path: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hopgraph.tools.apps.server.openai_api._STATUS_WAITS", PATIENCE)  # a busy machine needs longer
    with OpenAIServer(RuleBasedModel()) as server:
        server.fail_when(f"{method}/answer", ErrorStatus(500, "out of memory"))
        options = by_model(server, tmp_path)
        async with open_app(options) as app:
            reply = await posted(app, wanted(model=method, stream=True))
    assert reply.status_code == 502
    assert reply.json()["error"]["code"] == "model_failed"
    assert reply.headers["x-should-retry"] == "false"


async def test_the_client_raises_an_error_late_in_a_stream(tmp_path: Path) -> None:
    with OpenAIServer(RuleBasedModel()) as server:
        server.fail_when("migres/decide", ErrorStatus(500, "out of memory"))
        options = by_model(server, tmp_path)
        async with (
            open_app(options) as app,
            openai.AsyncOpenAI(base_url=app.base_url, api_key="x", max_retries=0) as client,
        ):
            stream = await client.chat.completions.create(model="migres", messages=ASK, stream=True)
            seen = 0

            async def read() -> None:
                nonlocal seen
                async for _ in stream:
                    seen += 1

            with pytest.raises(openai.APIError, match="HTTP 500"):
                await read()
    assert seen >= 2  # so that it has begun


def test_an_earlier_reply_is_understood() -> None:
    def read(text: str) -> Any:
        messages = [*GUERNICA, {"role": "assistant", "content": text}, *GUERNICA]
        return read_request(json.dumps(wanted(messages=messages)).encode()).conversation()[1].additional_kwargs

    text = "Pablo\\_Picasso [1][2]\n\n[1] Guernica \\[1937\\] · art.pdf, page 3: “He: “painted” it.”"
    text += "\n\n[2] a passage without a title"
    cited = [{"title": "Guernica [1937]"}, {"title": "a passage without a title"}]
    assert read(text) == {"answer": "Pablo_Picasso", "citations": cited}
    for other in ("Hello.", "[1]", "a [b]", ""):
        assert not read(other or "x")


async def test_a_turn_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    with OpenAIServer(RuleBasedModel(), latency=30) as server:
        options = by_model(server, tmp_path, turn_seconds=0.3)
        async with open_app(options) as app:
            plain = await posted(app, wanted())
            streamed = await posted(app, wanted(stream=True))
            await until_idle(app.service)
    assert plain.status_code == 504
    assert "took longer than 0.3 seconds" in plain.json()["error"]["message"]
    assert "took longer than 0.3 seconds" in streamed.text


@pytest.mark.parametrize("stream", [False, True])
async def test_a_disconnect_ends_the_turn_and_frees_its_slot(tmp_path: Path, stream: bool) -> None:
    with OpenAIServer(RuleBasedModel()) as server:
        server.fail_when("one_step/read", Slow(60))
        server.fail_when("one_step/answer", Slow(60))
        options = by_model(server, tmp_path, max_running=1)
        async with open_app(options) as app:
            running = asyncio.create_task(posted(app, wanted(stream=stream)))
            await until_active(app.service, 1, 60)
            waiting = asyncio.create_task(posted(app, wanted(stream=stream)))
            await until_active(app.service, 2, 60)
            waiting.cancel()
            await until_active(app.service, 1, 60)
            running.cancel()
            await until_idle(app.service)


@pytest.mark.slow
async def test_excess_requests_are_refused_and_retried_by_the_client(tmp_path: Path) -> None:
    with OpenAIServer(RuleBasedModel()) as server:
        server.hold()
        options = by_model(server, tmp_path, max_running=1, max_waiting=0)
        async with open_app(options) as app:
            first = asyncio.create_task(posted(app, wanted()))
            async with asyncio.timeout(60):
                while not server.requests:  # noqa: ASYNC110 - it tells nobody
                    await asyncio.sleep(0.01)
            refused = [await posted(app, wanted(stream=stream)) for stream in (False, True)]
            server.release()
            async with openai.AsyncOpenAI(base_url=app.base_url, api_key="x", max_retries=30) as client:
                patient = await client.chat.completions.create(model="one_step", messages=GUERNICA)
            assert (await first).status_code == 200
    for reply in refused:
        assert reply.status_code == 429
        assert reply.headers["retry-after"] == "1"
        assert reply.json()["error"]["code"] == "rate_limit_exceeded"
    assert str(patient.choices[0].message.content).startswith("Pablo Picasso")


TITLE = """### Task:
Generate a concise, 3-5 word title with an emoji summarizing the chat history.
### Output:
JSON format: { "title": "your concise title here" }
### Examples:
- { "title": "Stock Market Trends" }
### Chat History:
<chat_history>
USER: Who painted Guernica?
ASSISTANT: Pablo Picasso [1]
</chat_history>"""


async def test_tasks_of_a_chat_app_run_no_search(app: WebApp) -> None:
    for stream in (False, True):
        reply = await posted(app, wanted(messages=[{"role": "user", "content": TITLE}], stream=stream))
        events = [json.loads(line[6:]) for line in reply.text.splitlines() if line.startswith("data: {")]
        said = (
            "".join(event["choices"][0]["delta"].get("content", "") for event in events)
            if stream
            else reply.json()["choices"][0]["message"]["content"]
        )
        assert json.loads(said) == {"title": "Who painted Guernica?"}


async def test_titles_can_be_requested_by_system_message_or_task_model(app: WebApp) -> None:
    instruction = {"role": "system", "content": "Please generate a concise title for the conversation.\n\n||>Title:"}
    said = {"role": "user", "content": 'User:\n"Who painted Guernica?"\nAI:\n"Pablo Picasso"'}
    both = {"role": "system", "content": f"{instruction['content']}\n{said['content']}"}
    for messages in ([instruction, said], [both]):
        reply = await posted(app, wanted(messages=messages))
        assert reply.json()["choices"][0]["message"]["content"] == "Who painted Guernica?"
    earlier = [{"role": "user", "content": "Who painted Guernica?"}, {"role": "assistant", "content": "Pablo Picasso"}]
    reply = await posted(app, wanted(messages=[*earlier, {"role": "system", "content": "Summarize this."}]))
    assert reply.json()["choices"][0]["message"]["content"] == "Who painted Guernica?"
    forced = {"type": "function", "function": {"name": "title"}}  # as by LibreChat
    reply = await posted(app, wanted(messages=[both], tools=[forced], tool_choice=forced))
    assert reply.status_code == 200
    reply = await posted(app, wanted(model="task", messages=[{"role": "user", "content": "Titel? Guernica"}]))
    assert reply.json()["choices"][0]["message"]["content"] == "Titel? Guernica"
    assert reply.json()["usage"]["total_tokens"] == 0


def test_citation_offsets_match_the_marks_in_any_answer() -> None:
    def citation(key: str) -> Citation:
        return Citation(passage_id=key, title=key, quote="q", start=0, end=1, kind="passage")

    cited = [citation(f"p {number}/ü") for number in range(1, 12)] + [citation("https://example.org/a")]
    marks = "".join(f"[{number}]" for number in range(1, 13))
    text = f"\N{MUSICAL SYMBOL G CLEF} \\[1\\] \\[2\\] says so {marks}\n\n[1] p: “q”"
    for number, each in enumerate(citation_annotations(text, cited), start=1):
        where = each["url_citation"]
        assert text[where["start_index"] : where["end_index"]] == f"[{number}]"
        assert where["start_index"] >= text.index(marks)
    assert citation_annotations(text, cited)[0]["url_citation"]["url"] == "passage:p%201%2F%C3%BC"
    assert citation_annotations(text, cited)[11]["url_citation"]["url"] == "https://example.org/a"
    assert citation_annotations("Nothing.", []) == []
    placed: Citation = {**citation("a#1"), "source": "a.pdf", "page": 3, "url": "https://example.org/a.pdf"}
    [written] = citation_annotations("A [1]", [placed])
    assert written["url_citation"]["url"] == "https://example.org/a.pdf"
    assert (written["source"], written["page"], "section" in written) == ("a.pdf", 3, False)
