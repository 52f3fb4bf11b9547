"""Long answers on the page: twelve requests at three widths, and hostile Markdown."""

import json
from typing import Any

import pytest
from markdown_it import MarkdownIt

from hopgraph.nodes.core.long_answer import LongAnswer
from hopgraph.tools.apps.server.page.html_text import markdown_html
from support.hostile_markdown import HOSTILE_MARKDOWN
from support.long_answers import REQUESTS, writes
from support.servers.browsing import Chat, Open, Serve
from support.servers.openai_server import OpenAIServer

WIDTHS = {1280: 800, 820: 1000, 360: 780}
TAGS = ["ul", "ol", "li", "table", "tr", "pre", "blockquote", "hr", "strong", "em", "s"]
COUNTS = "(each, tags) => Object.fromEntries(tags.map(tag => [tag, each.querySelectorAll(tag).length]))"
OVERFLOWS = """() => ["#hg-talk", ".hg-long", ".hg-turn"].flatMap(name => [...document.querySelectorAll(name)])
  .some(each => each.scrollWidth > each.clientWidth + 1) || document.documentElement.scrollWidth > innerWidth"""


def reference(markdown: str) -> dict[str, int]:
    """Count the elements that another parser finds in a reply."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown)
    every = [each for token in tokens for each in [token, *(token.children or ())]]
    tags = [each.tag if each.type != "fence" else "pre" for each in every if each.nesting >= 0]
    return {
        name: tags.count(name)
        for name in ["ul", "ol", "li", "table", "tr", "pre", "blockquote", "hr", "strong", "em", "s"]
    }


@pytest.mark.slow
def test_twelve_long_answers_are_rendered_at_three_widths(serve: Serve, open_chat: Open) -> None:
    with OpenAIServer(writes()) as model:
        settings = {"model": f"openai:m?base_url={model.base_url}", "use_method": "one_step"}
        chat = open_chat(serve(settings=settings), permissions=["clipboard-read", "clipboard-write"])
        for question, reply in REQUESTS.items():
            chat.ask(question)
            drawn = chat.last.locator(".hg-long")
            assert drawn.evaluate(COUNTS, TAGS) == reference(reply), question
            cited = LongAnswer(5)
            cited.write(reply)
            assert chat.last.locator(".hg-sources li").count() == len(cited.cited)
            numbers = {int(each) for each in drawn.locator(".hg-cite").all_inner_texts()}
            assert numbers == {*cited.cited.values()}
    for width, height in WIDTHS.items():
        for scheme in ("light", "dark"):
            chat.page.set_viewport_size({"width": width, "height": height})
            chat.page.evaluate(f"document.body.classList.toggle('dark', {json.dumps(scheme == 'dark')})")
            assert not chat.page.evaluate(OVERFLOWS), (width, scheme)
    wide = chat.last.locator(".hg-table")
    assert wide.evaluate("each => each.scrollWidth > each.clientWidth")  # on a phone it scrolls separately
    assert wide.get_attribute("tabindex") == "0"
    chat.last.locator(".hg-long .hg-cite").first.click()
    assert chat.last.locator(".hg-opened:popover-open").count() == 1
    chat.page.keyboard.press("Escape")
    chat.last.get_by_role("button", name="Copy").click()
    chat.page.get_by_role("button", name="Copied").wait_for()
    copied = chat.page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("| Step | Who decides |")
    assert "\n\n[1] " in copied
    chat.page.reload()
    chat.ready()
    chat.last.locator(".hg-long table").wait_for()


@pytest.mark.slow
def test_hostile_markdown_renders_nothing_active(chat: Chat) -> None:
    marks = ['<button type="button">1</button>'] * 2
    for text in HOSTILE_MARKDOWN:
        for written in (text, LongAnswer(2).write(text)):
            found: Any = chat.page.evaluate(
                """html => {
                  const place = document.getElementById("hg-last").appendChild(document.createElement("div"));
                  place.innerHTML = html;
                  const active = [...place.querySelectorAll("*")].filter(each =>
                    /^(a|img|svg|script|style|iframe|details|link|object|embed|form|input)$/i.test(each.tagName)
                    || [...each.attributes].some(({name}) => /^(on|href|src|autofocus)/.test(name)));
                  place.remove();
                  return active.map(each => each.outerHTML);
                }""",
                markdown_html(written, marks),
            )
            assert found == [], text
    chat.page.wait_for_timeout(200)
    assert chat.page.evaluate("window.hit") is None
