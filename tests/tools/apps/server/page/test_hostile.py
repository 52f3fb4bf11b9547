"""Hostile text in questions, passages, titles, file names and model replies."""

import json
from pathlib import Path

import pytest

from support.servers.browsing import Chat, Open, Serve
from support.servers.openai_server import OpenAIServer
from support.servers.scripted_model import ScriptedChatModel

ATTACK = (
    "<img src=x onerror=window.hit=1><script>window.hit=1</script> [x](javascript:window.hit=1) "
    "![x](http://127.0.0.1:1/leak.png) <svg onload=window.hit=1> ${window.hit=1} {{value}} `${window.hit=1}`"
)


def harmless(chat: Chat) -> None:
    """Check that no script ran and no text became markup."""
    assert chat.page.evaluate("window.hit") is None
    inside = "#hg-middle img, #hg-middle script, .hg-threads img, #hg-right img, #hg-columns a[href^=javascript]"
    assert chat.page.locator(inside).count() == 0
    assert chat.page.locator("#hg-columns a[href*='127.0.0.1:1/']").count() == 0


@pytest.mark.slow
def test_hostile_questions_titles_passages_and_files_are_harmless(
    serve: Serve, open_chat: Open, tmp_path: Path
) -> None:
    passages = [
        {"id": ATTACK, "title": f"Guernica {ATTACK}", "text": f"Pablo Picasso {ATTACK} painted Guernica in 1937."},
        {"id": "2", "title": "Radium", "text": "Marie Curie found radium."},
    ]
    upload = tmp_path / "<img src=x onerror=window.hit=1>.jsonl"
    upload.write_text("".join(json.dumps(each) + "\n" for each in passages))
    chat = open_chat(serve())
    chat.unfold("Add your own documents")
    chat.page.locator("#hg-documents input[type=file]").set_input_files([upload])
    chat.page.get_by_label("Name of these documents").fill(ATTACK)
    chat.page.get_by_role("button", name="Index documents").click()
    chat.page.get_by_text("passages indexed").wait_for()
    harmless(chat)
    chat.choose("Method", "MIGRES")
    for kind in ("queries", "evidence"):
        chat.page.get_by_role("checkbox", name=kind).check()
    chat.settled("review_evidence")
    chat.write(f"Who painted Guernica? {ATTACK}")
    form = chat.page.locator(".hg-review")
    for _ in range(12):
        form.get_by_role("button", name="Approve as is").or_(chat.last.locator(".hg-answer")).first.wait_for()
        harmless(chat)
        if chat.last.locator(".hg-answer").count():
            break
        said = form.inner_text()
        form.get_by_role("button", name="Approve as is").click()
        chat.page.wait_for_function("said => document.querySelector('.hg-review')?.innerText !== said", arg=said)
    chat.ended()
    harmless(chat)
    assert "<img src=x onerror=window.hit=1>" in chat.last.locator(".hg-asked").inner_text()
    assert "<img" in chat.threads.first.inner_text()
    chat.page.reload()
    chat.ready()
    chat.last.wait_for()
    chat.last.locator(".hg-steps > summary").click()
    harmless(chat)


@pytest.mark.slow
def test_hostile_model_replies_are_harmless(serve: Serve, open_chat: Open) -> None:
    def reply(role: str, _: object) -> str:
        return (
            json.dumps({"answer": ATTACK, "reasoning": ATTACK, "citations": [1]}) if role.endswith("answer") else ATTACK
        )

    with OpenAIServer(ScriptedChatModel(replies=reply)) as model:
        chat = open_chat(serve(settings={"model": f"openai:m?base_url={model.base_url}", "use_method": "one_step"}))
        chat.choose("Method", "OneR-Direct")
        said = chat.ask("Who painted Guernica?")
        assert "<img src=x onerror=window.hit=1>" in said
        harmless(chat)
        chat.last.locator(".hg-steps > summary").click()
        harmless(chat)


@pytest.mark.slow
def test_the_content_security_policy_allows_only_the_apps_origin(chat: Chat) -> None:
    blocked = chat.page.evaluate(
        """() => new Promise((done) => {
          document.addEventListener("securitypolicyviolation", (event) => done(event.blockedURI));
          new Image().src = "http://127.0.0.1:1/leak.png";
        })"""
    )
    assert blocked.startswith("http://127.0.0.1:1")
    chat.requests[:] = [url for url in chat.requests if not url.startswith("http://127.0.0.1:1/")]
