"""Two users, three sets of documents, four protocols: no user reads another group's documents or learns of them."""

import asyncio
import json
import re
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from hopgraph.state import SettingsError
from hopgraph.tools.apps.cli import main
from hopgraph.tools.apps.server.document_sets import DocumentSets, load_documents_of
from hopgraph.tools.apps.server.identity import to_user_id
from hopgraph.tools.apps.server.server_options import ServingOptions, serving_options
from hopgraph.tools.retrieval import build_index
from support.servers.by_hand import Person, by_hand
from support.servers.trap import ANN, BEN
from support.servers.web_app import WebApp, open_app

SETS = ("hr", "sales", "all")
_NAMES = (
    "Harbour Lighthouse Orchard Quarry Bakery Library Stadium Chapel Foundry Brewery Theatre Aqueduct Windmill "
    "Observatory Greenhouse Tannery Shipyard Monastery Cannery Distillery Museum Viaduct Racecourse Arsenal Granary"
)
TOPICS = _NAMES.split()
METHODS = ("one_step", "migres", "cascade", "self_ask", "agent")
KEYS = {"ann": ANN, "ben": BEN}


def secret(name: str) -> str:
    """Return what only the passages of a set have."""
    return f"{name.capitalize()}secret"


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Sets whose passages differ in a word alone, so that each answers every question as well as the others do."""
    folder, text = tmp_path_factory.mktemp("sets"), "{topic} is a painting. {topic} was painted by {name} Lindqvist."
    for name in SETS:
        lines = [
            {"_id": topic, "title": f"{topic} of {secret(name)}", "text": text.format(topic=topic, name=secret(name))}
            for topic in TOPICS
        ]
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
        build_index(folder / f"{name}.jsonl", folder / name, format="beir")
    return {name: f"bm25:{folder / name}" for name in SETS}


@pytest.fixture
def groups() -> dict[str, set[str]]:
    return {"ann": {"hr", "all"}, "ben": {"sales", "all", "a set that there is not"}}


@pytest.fixture
async def app(
    tmp_path: Path, indexes: Mapping[str, str], groups: Mapping[str, set[str]], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[WebApp]:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    monkeypatch.setenv("HOPGRAPH_SECOND_RETRIEVER", indexes["hr"])  # what only applies where there are no sets
    options = ServingOptions(
        threads=tmp_path / "t.sqlite",
        keys={key: user for user, key in KEYS.items()},
        documents=indexes,
        documents_of=lambda user: groups.get(user, ()),
    )
    async with open_app(options) as opened:
        yield opened


def client(app: WebApp, user: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=app.url, headers={"Authorization": f"Bearer {KEYS[user]}"}, timeout=120)


async def by_v1(app: WebApp, user: str, method: str, question: str, documents: str = "") -> str:
    asked = {"model": method, "messages": [{"role": "user", "content": question}], "stream": True}
    async with client(app, user) as http:
        return (await http.post("/v1/chat/completions", json={**asked, "hopgraph": {"documents": documents}})).text


async def by_ag_ui(
    app: WebApp, user: str, method: str, question: str, documents: str = "", thread: str = "", **more: Any
) -> str:
    props = {"hopgraph": {"method": method, "documents": documents}}
    message = {"id": uuid.uuid4().hex, "role": "user", "content": question}
    run = {"threadId": thread or uuid.uuid4().hex, "runId": "r", "messages": [message], "forwardedProps": props}
    async with client(app, user) as http:
        return (await http.post("/ag-ui", json={**run, "tools": [], "context": [], "state": {}, **more})).text


async def by_mcp(app: WebApp, user: str, method: str, question: str, documents: str = "") -> str:
    said = list[str]()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        said.append(message or "")

    headers = {"Authorization": f"Bearer {KEYS[user]}"}
    given = {"question": question, **({"documents": documents} if documents else {})}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=120) as http,
        Client(streamable_http_client(f"{app.url}/mcp", http_client=http)) as tools,
    ):
        listed = await tools.list_tools()
        result = await tools.call_tool(method, given, progress_callback=hear)
        return f"{listed.model_dump_json()} {said} {result.model_dump_json()}"


async def by_page(app: WebApp, user: str, method: str, question: str, documents: str = "") -> str:
    async with by_hand(app.url, KEYS[user]) as person:
        return await asked_on_page(person, question, method, f"@{documents}" if documents else "")


async def asked_on_page(person: Person, question: str, method: str = "one_step", corpus: str = "") -> str:
    """Open the page in a tab, then ask there."""
    tab = uuid.uuid4().hex
    loaded = await person.call("load", [None], tab)
    return loaded + await person.call("ask", [None, question, method, None, corpus, []], tab)


PROTOCOLS = (by_v1, by_ag_ui, by_mcp, by_page)


@pytest.mark.timeout(600)
@pytest.mark.slow
async def test_no_protocol_gives_another_groups_passages(app: WebApp, groups: Mapping[str, set[str]]) -> None:
    """Of 100 questions, by all their steps, sources, lists and answers; each is answered from what is open."""
    crossed, answered = list[str](), 0
    for number, topic in enumerate(TOPICS):
        question, user = f"Who painted {topic}?", ("ann", "ben")[number % 2]
        method, own = METHODS[number % len(METHODS)], "" if number % 3 else {"ann": "hr", "ben": "sales"}[user]
        replies = [(each, await each(app, user, method, question, own)) for each in PROTOCOLS]
        for protocol, said in replies:
            foreign = set(SETS) - groups[user]
            crossed += [f"{protocol.__name__} {user} {topic}" for name in foreign if secret(name) in said]
            crossed += [f"{protocol.__name__} {user} {name}/" for name in foreign if f"{name}/" in said]
            answered += any(f"{secret(name)} Lindqvist" in said for name in groups[user])
    assert crossed == []
    assert answered == 4 * len(TOPICS) == 100


async def test_a_set_of_others_is_refused_like_none(app: WebApp) -> None:
    for protocol in (by_v1, by_ag_ui, by_mcp):
        for name in ("sales", "nopes"):
            line = await protocol(app, "ann", "one_step", "Who painted Harbour?", name)
            assert f"documents: '{name}' is not available to you; leave it out, or use hr, all" in line
            assert "secret Lindqvist" not in line
    async with by_hand(app.url, ANN) as ann:  # a form that was not offered is refused before it is read
        for name in ("sales", "nopes"):
            line = await asked_on_page(ann, "Who painted Harbour?", corpus=f"@{name}")
            assert "secret Lindqvist" not in line


async def test_no_setting_of_a_callers_names_what_is_asked(app: WebApp, indexes: Mapping[str, str]) -> None:
    asked = {"model": "one_step", "messages": [{"role": "user", "content": "Who painted Harbour?"}]}
    place = indexes["sales"]
    for settings in (
        {"retriever": place},
        {"second_retriever": place},
        {"methods": {"one_step": {"retriever": place}}},
        {"documents": ["sales"]},
        {"documents": {"name": "sales"}},
    ):
        async with client(app, "ann") as http:
            reply = await http.post("/v1/chat/completions", json={**asked, "hopgraph": settings})
        assert reply.status_code == 400, settings
        assert "secret" not in reply.text.lower(), settings


@pytest.mark.slow
async def test_an_upload_is_asked_with_what_is_open_and_no_more(app: WebApp, tmp_path: Path) -> None:
    question = "Who painted Harbour?"
    async with by_hand(app.url, ANN) as ann:
        place = await ann.uploaded(
            "Ownsecret.txt", "Harbour is a painting. Harbour was painted by Ownsecret Lindqvist."
        )
        await ann.call("_add", [None, json.dumps([place]), None, "papers", "english"])
        (corpus,) = [each.parent.name for each in tmp_path.glob("documents/*/*/corpus.json")]
        both = await asked_on_page(ann, question, corpus=f"{corpus}+")
        alone = await asked_on_page(ann, question, corpus=corpus)
    assert "Ownsecret" in both
    assert "Hrsecret" in both
    assert "Salessecret" not in both
    assert "Ownsecret" in alone
    assert "Hrsecret" not in alone
    async with by_hand(app.url, BEN) as ben:
        for chosen in (corpus, f"{corpus}+", "@own", "@../own"):
            said = await asked_on_page(ben, question, corpus=chosen)
            assert "secret Lindqvist" not in said


async def test_a_document_of_a_set_is_opened_by_its_users_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    for name in ("hr", "sales"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "harbour.txt").write_text(f"Harbour was painted by {secret(name)} Lindqvist.")
        build_index(tmp_path / name, tmp_path / f"{name}.index")
    options = ServingOptions(
        threads=tmp_path / "t.sqlite",
        keys={ANN: "ann", BEN: "ben"},
        documents={name: f"bm25:{tmp_path / name}.index" for name in ("hr", "sales")},
        documents_of=lambda user: {"ann": ["hr"], "ben": ["sales"]}[user],
    )
    async with open_app(options) as app, by_hand(app.url, ANN) as ann, by_hand(app.url, BEN) as ben:
        said = await asked_on_page(ann, "Who painted Harbour?")
        (link,) = set(re.findall(r"documents/@hr/[0-9a-f]{32}", said))
        assert (await ann.client.get(f"/chat/{link}")).text == "Harbour was painted by Hrsecret Lindqvist."
        for other in (link, link.replace("@hr", "@nothing"), link.replace("@hr", "app")):
            assert (await ben.client.get(f"/chat/{other}")).status_code == 404
        own = await ben.client.get(f"/chat/{link.replace('@hr', '@sales')}")
        assert own.text == "Harbour was painted by Salessecret Lindqvist."


async def test_a_group_that_is_lost_closes_its_conversations(app: WebApp, groups: dict[str, set[str]]) -> None:
    """Also for a follow-up, which would be understood by what was answered; others stay open, and it can be deleted."""
    question = "Who painted Harbour?"
    assert "Hrsecret" in await by_ag_ui(app, "ann", "one_step", question, thread="both")
    assert "Allsecret" in await by_ag_ui(app, "ann", "one_step", question, "all", thread="one")
    async with by_hand(app.url, ANN) as ann:
        assert "Hrsecret" in await ann.call("load", ["both"])
        groups["ann"] = {"all"}
        tab = uuid.uuid4().hex
        for function, values in (
            ("load", ["both"]),
            ("rename", [None, "Other"]),
            ("ask", [None, "Who painted Lighthouse?", "one_step", None, "", []]),
            ("resume", [None]),
        ):
            said = await ann.call(function, values, tab)
            assert "secret Lindqvist" not in said, function
            assert "no longer access" in said, function
        assert "secret" not in (await ann.client.get("/chat/conversations/both")).text
        assert "Allsecret" in await ann.call("load", ["one"])
        answer = {"interruptId": "x", "status": "resolved", "payload": "approve"}
        follow_ups: list[dict[str, Any]] = [{}, {"resume": [answer]}]
        for more in follow_ups:
            said = await by_ag_ui(app, "ann", "one_step", "Who painted Lighthouse?", thread="both", **more)
            assert "no longer access" in said
            assert "secret Lindqvist" not in said
        groups["ann"] = {"hr", "all"}
        assert "Hrsecret" in await ann.call("load", ["both"])
        groups["ann"] = {"all"}
        await ann.call("delete", [None], tab)
        assert await app.service.threads.documents_of("ann", "both") == set()


async def test_a_review_that_waits_is_not_resumed_with_what_was_lost(app: WebApp, groups: dict[str, set[str]]) -> None:
    props = {"hopgraph": {"method": "one_step", "review_evidence": True}}
    question = "Who painted Harbour?"
    said = await by_ag_ui(app, "ann", "one_step", question, thread="waits", forwardedProps=props)
    interrupt = next(json.loads(line[6:]) for line in said.splitlines() if "RUN_FINISHED" in line)["outcome"]
    groups["ann"] = {"all"}
    answer = [{"interruptId": interrupt["interrupts"][0]["id"], "status": "resolved", "payload": "approve"}]
    changed = {"hopgraph": {"method": "one_step", "review_evidence": True, "allow_changed_settings": True}}
    for given in (props, changed):
        said = await by_ag_ui(app, "ann", "one_step", "", thread="waits", resume=answer, forwardedProps=given)
        assert "no longer access" in said
        assert "secret Lindqvist" not in said


async def test_who_may_ask_nothing_is_told_so(app: WebApp, groups: dict[str, set[str]]) -> None:
    groups["ann"] = set()
    for protocol in PROTOCOLS:
        said = await protocol(app, "ann", "one_step", "Who painted Harbour?")
        assert "you do not have access to any documents" in said
        assert not [name for name in SETS if secret(name) in said]


async def test_a_function_that_fails_opens_nothing(tmp_path: Path, indexes: Mapping[str, str]) -> None:
    async def fail(user: str) -> Sequence[str]:
        await asyncio.sleep(0)
        raise RuntimeError("the directory is down")

    options = ServingOptions(
        threads=tmp_path / "t.sqlite", keys={ANN: "ann"}, documents=indexes, documents_of=fail, page=False
    )
    async with open_app(options) as app:
        said = await by_v1(app, "ann", "one_step", "Who painted Harbour?")
    assert "internal error (RuntimeError)" in said
    assert "secret" not in said


def test_a_file_says_who_may_ask_what(tmp_path: Path) -> None:
    """It is read each time, and what cannot be read opens nothing."""
    file = tmp_path / "groups.json"
    file.write_text(json.dumps({"auth0|7": ["hr"], "ben": [], "*": ["all"]}))
    of_user = load_documents_of(str(file))
    sets = DocumentSets(dict.fromkeys(SETS, "sample"), of_user)
    assert asyncio.run(sets.names_for(to_user_id("auth0|7"))) == ["hr"]
    assert asyncio.run(sets.names_for("ben")) == []
    assert asyncio.run(sets.names_for("cid")) == ["all"]
    file.write_text('{"cid": "all"}')
    with pytest.raises(SettingsError, match=r"cannot be read: write \{"):
        asyncio.run(sets.names_for("cid"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"documents": {"hr": "sample"}}, "must be set together"),
        ({"documents_of": "os:getcwd"}, "must be set together"),
        ({"documents": {"h/r": "sample"}, "documents_of": "os:getcwd"}, "invalid name"),
        ({"documents": {"own": "sample"}, "documents_of": "os:getcwd"}, "invalid name"),
        (
            {"documents": {"hr": "sample"}, "documents_of": "os:getcwd", "settings": {"retriever": "sample"}},
            "retriever: the app's documents are set by `documents`",
        ),
        (
            {
                "documents": {"hr": "sample"},
                "documents_of": "os:getcwd",
                "settings": {"methods": {"migres": {"second_retriever": "sample"}}},
            },
            "second_retriever: the app's documents are set by `documents`",
        ),
        ({"documents": {"hr": "sample"}, "documents_of": "nothing.json"}, "nothing.json cannot be read"),
    ],
)
def test_sets_that_are_not_whole_are_refused_at_the_start(given: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        ServingOptions(**given)


def test_the_environment_names_sets(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("HOPGRAPH_DOCUMENTS", '{"hr": "bm25:/nowhere"}')
    monkeypatch.setenv("HOPGRAPH_DOCUMENTS_OF", "os:listdir")
    assert serving_options().documents == {"hr": "bm25:/nowhere"}
    assert main(("chat", "--no-browser", "--port", "0")) == 1
    assert "/nowhere" in capsys.readouterr().err, "each is opened before the page is"
    assert main(("chat", "--no-browser", "--port", "0", "--corpus", "sample")) == 2
    assert "leave it out" in capsys.readouterr().err
    monkeypatch.setenv("HOPGRAPH_DOCUMENTS", "hr=bm25:/nowhere")
    with pytest.raises(SettingsError, match="HOPGRAPH_DOCUMENTS: write JSON such as"):
        serving_options()
