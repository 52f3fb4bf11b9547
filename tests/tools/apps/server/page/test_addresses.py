"""Conversations have URLs, continue in the background, and can be exported; sources link to documents."""

from pathlib import Path

import httpx
import pytest

from hopgraph.tools.models.offline import RuleBasedModel
from hopgraph.tools.retrieval import build_index
from support.company_folder import write_company
from support.servers.browsing import Chat, Open, Serve
from support.servers.openai_server import OpenAIServer
from support.waiting import wait_until

WHO, HOPS = "Who painted Guernica?", "Where was the painter of Guernica born?"


@pytest.mark.slow
def test_a_conversation_has_a_url(serve: Serve, open_chat: Open) -> None:
    app = serve()
    chat = open_chat(app)
    assert "conversation=" not in chat.page.url
    chat.ask(WHO)
    first = chat.page.url
    assert "?conversation=" in first
    chat.page.get_by_role("button", name="New conversation").click()
    chat.page.get_by_text("Ask your documents").wait_for()
    assert "conversation=" not in chat.page.url
    chat.ask(HOPS)
    second = chat.page.url
    assert second != first
    for _ in range(2):  # a question sent while the previous turn ends is not lost
        chat.page.go_back()
        chat.page.get_by_text("Ask your documents").wait_for()
        chat.page.go_back()
        chat.last.locator(".hg-question", has_text=WHO).wait_for()
        assert chat.page.url == first
        chat.page.go_forward()
        chat.page.go_forward()
        chat.last.locator(".hg-question", has_text=HOPS).wait_for()
        assert chat.page.url == second
    another = open_chat(app)
    another.page.goto(second)
    another.last.locator(".hg-question", has_text=HOPS).wait_for()
    another.page.goto(f"{app.url}/chat/?conversation={'0' * 32}")
    another.page.get_by_text("Ask your documents").wait_for()
    assert "conversation=" not in another.page.url


@pytest.mark.slow
def test_a_second_conversation_can_start_while_one_is_answered(serve: Serve, open_chat: Open) -> None:
    with OpenAIServer(RuleBasedModel()) as model:
        chat = open_chat(serve(settings={"model": f"openai:m?base_url={model.base_url}", "use_method": "migres"}))
        model.hold(after=2)
        chat.write(HOPS)
        chat.last.locator(".hg-step").nth(2).wait_for()
        chat.page.get_by_role("button", name="New conversation").click()
        chat.page.get_by_text("Ask your documents").wait_for()
        chat.write(WHO)
        chat.last.locator(".hg-question", has_text=WHO).wait_for()
        assert chat.threads.count() == 2
        chat.threads.nth(1).click()  # the first one, still running
        chat.last.locator(".hg-question", has_text=HOPS).wait_for()
        chat.last.locator(".hg-running").wait_for()
        chat.threads.filter(has_text=WHO).click()
        chat.last.locator(".hg-question", has_text=WHO).wait_for()
        chat.threads.nth(1).click()
        chat.last.locator(".hg-running").wait_for()
        model.release()
        chat.ended()
        assert chat.last.locator(".hg-answer").inner_text().startswith("Málaga")
        assert chat.turns.count() == 1
        chat.threads.filter(has_text=WHO).click()
        chat.last.locator(".hg-question", has_text=WHO).wait_for()
        chat.ended()
        assert chat.last.locator(".hg-answer").inner_text().startswith("Pablo Picasso")


@pytest.mark.slow
def test_a_conversation_is_exported_as_markdown(chat: Chat) -> None:
    chat.ask(HOPS)
    chat.ask("Hello!")
    chat.manage()
    with chat.page.expect_download() as download:
        chat.page.get_by_role("link", name="Export as Markdown").click()
    assert download.value.suggested_filename == f"{HOPS}.md".replace("?", "_")
    written = Path(download.value.path()).read_text("utf-8")
    assert written.startswith(f"# {HOPS}\n\n## {HOPS}\n\nMálaga [1][2]\n\n[1] ")
    assert "“Pablo Picasso, born in Málaga on 25 October 1881, was the son of a drawing teacher.”" in written
    assert "## Hello!\n" in written


@pytest.mark.slow
def test_a_source_links_to_its_document(serve: Serve, open_chat: Open, tmp_path: Path) -> None:
    (tmp_path / "company").mkdir()
    write_company(tmp_path / "company")
    build_index(tmp_path / "company", tmp_path / "index", skip_invalid=True)
    app = serve(settings={"retriever": f"bm25:{tmp_path / 'index'}", "use_method": "one_step"})
    chat = open_chat(app)

    def first_source(question: str) -> str:
        chat.ask(question)
        return chat.last.locator(".hg-sources li").first.inner_text().replace("\n", " ")

    assert "products/catalogue.pdf, page " in first_source("What is the maximum pressure of the NP-440?")
    chat.last.locator(".hg-source").first.click()
    link = chat.page.locator(".hg-opened:popover-open").get_by_role("link", name="Open the document")
    assert "#page=" in str(link.get_attribute("href"))
    sent = httpx.get(f"{app.url}/chat/{link.get_attribute('href')}")
    assert sent.content == (tmp_path / "company" / "products" / "catalogue.pdf").read_bytes()
    chat.page.keyboard.press("Escape")
    assert "Phone" in first_source("What is the phone number of customer 007123?")
    assert chat.last.locator(".hg-sources table th").nth(2).inner_text() == "Phone"
    chat.last.locator(".hg-source").first.click()
    opened = chat.page.locator(".hg-opened:popover-open")
    assert opened.locator("tr:has(mark)").all_inner_texts() == [
        "007123\tOrm Seafood\t0049 431 22330\t31.12.2026\t12.5%"
    ]
    chat.page.keyboard.press("Escape")
    assert "reports/report_05.md" in first_source("What was the revenue in May 2024?")
    chat.last.locator(".hg-source").first.click()
    with chat.page.expect_popup() as popup:
        chat.page.locator(".hg-opened:popover-open").get_by_role("link", name="Open the document").click()
    popup.value.wait_for_load_state()
    assert "1685 thousand" in popup.value.locator("body").inner_text()


@pytest.mark.slow
def test_a_document_opens_at_the_quote(serve: Serve, open_chat: Open, tmp_path: Path) -> None:
    folder, filler = tmp_path / "texts", "".join(f"Paragraph {number} says nothing.\n\n" for number in range(400))
    folder.mkdir()
    (folder / "long.txt").write_text(
        f"{filler}The lighthouse of Quonholm was painted green\nby Ada Brandt.\n\n{filler}"
    )
    build_index(folder, tmp_path / "index")
    chat = open_chat(serve(settings={"retriever": f"bm25:{tmp_path / 'index'}", "use_method": "one_step"}))
    assert "corpus texts" in chat.page.locator("#hg-notice").inner_text()
    chat.ask("Who painted the lighthouse of Quonholm green?")
    chat.last.locator(".hg-source").first.click()
    with chat.page.expect_popup() as popup:
        chat.page.locator(".hg-opened:popover-open").get_by_role("link", name="Open the document").click()
    popup.value.wait_for_load_state()
    wait_until(lambda: popup.value.evaluate("scrollY > 1000"))
