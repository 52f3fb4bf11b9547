"""Options of a question: the method, its settings, own documents, a review."""

import json
from pathlib import Path

import pytest

from support.servers.browsing import Chat, Open, Serve

HOPS = "Where was the painter of Guernica born?"


@pytest.mark.long
def test_own_documents_are_searched_with_the_apps_and_can_be_changed(
    serve: Serve, open_chat: Open, tmp_path: Path
) -> None:
    for name, text in {
        "zorbia": "Zorbia is an island. Its capital is Plim.",
        "plim": "Plim lies on the river Quon.",
        "quon": "The river Quon is 40 km long. It begins in the Blue Hills.",
    }.items():
        (tmp_path / f"{name}.txt").write_text(text)
    chat = open_chat(serve())
    panel, notice = chat.page.locator("#hg-documents"), chat.page.locator("#hg-notice")
    chat.unfold("Add your own documents")
    panel.get_by_text("Only you can search the documents you add here.").wait_for()
    assert not panel.locator("#hg-extend").is_visible()
    panel.locator("input[type=file]").set_input_files([tmp_path / "zorbia.txt", tmp_path / "plim.txt"])
    chat.page.get_by_label("Name of these documents").fill("Islands")
    chat.page.get_by_role("button", name="Index documents").click()
    chat.page.get_by_text("“Islands”: 2 passages indexed.").wait_for()
    assert "Pablo Picasso" not in chat.ask("Who painted Guernica?")
    chat.choose("Documents", "Islands (2 passages) + all shared documents")
    notice.get_by_text("corpus “Islands” + sample").wait_for()
    assert "Pablo Picasso" in chat.ask("Who painted Guernica?")
    assert "Plim" in chat.ask("What is the capital of Zorbia?")
    # Add a file and remove one; the choice stays.
    panel.locator("input[type=file]").set_input_files([tmp_path / "quon.txt"])
    panel.locator("#hg-extend").click()
    chat.page.get_by_text("“Islands”: 3 passages indexed.").wait_for()
    notice.get_by_text("corpus “Islands” + sample").wait_for()
    assert "Blue Hills" in chat.ask("Where does the river Quon begin?")
    panel.locator("#hg-gone input").click()
    chat.page.get_by_role("option", name="zorbia.txt").click()
    chat.page.keyboard.press("Escape")
    panel.locator("#hg-remove").click()
    chat.page.get_by_text("“Islands”: 2 passages indexed.").wait_for()
    assert "Plim" not in chat.ask("What is the capital of Zorbia?")
    assert chat.page.get_by_role("alert").filter(has_text="Error").count() == 0
    assert chat.page.get_by_role("button", name="Index documents").is_enabled()
    chat.page.reload()
    chat.ready()
    notice.get_by_text("corpus “Islands” + sample").wait_for()
    assert str(tmp_path) not in chat.page.locator("body").inner_text()


@pytest.mark.slow
def test_method_and_settings(chat: Chat) -> None:
    chat.choose("Method", "MIGRES")
    chat.settled("MIGRES · model offline:extractive")
    chat.unfold("Settings")
    limit = chat.page.locator("#hg-setting-max_iterations input[type=number]")
    limit.fill("1")
    limit.press("Tab")
    chat.settled("changed: max_iterations")
    chat.ask(HOPS)
    steps = chat.last.locator(".hg-steps")
    assert "migres" in steps.locator("summary").first.inner_text()
    assert steps.locator(".hg-group > summary").count() == 1
    # Another method starts with its default settings.
    chat.choose("Method", "IRCoT")
    chat.settled("IRCoT · model")
    chat.ask("Who painted Guernica?")
    assert "ircot" in chat.last.locator(".hg-steps summary").first.inner_text()


@pytest.mark.long
def test_a_reopened_conversation_has_its_settings(chat: Chat) -> None:
    chat.choose("Method", "Tree of Reviews (ToR)")
    chat.settled("Tree of Reviews · model")
    chat.unfold("Settings")
    field = chat.page.get_by_label("Widths")
    field.fill("4, 2")
    field.press("Tab")
    chat.settled("changed: widths")
    chat.ask("Who painted Guernica?")
    chat.page.get_by_role("button", name="New conversation").click()
    chat.page.get_by_text("Ask your documents").wait_for()
    chat.choose("Method", "OneR-Direct")
    chat.settled("OneR-Direct · model")
    chat.ask("Who wrote Frankenstein?")
    chat.threads.nth(1).click()
    chat.settled("changed: widths")
    chat.page.wait_for_function("document.querySelector('#hg-setting-widths textarea')?.value === '[4, 2]'")
    assert chat.page.get_by_role("combobox", name="Method").input_value().startswith("Tree of Reviews (ToR)")
    # Settings changed by hand do not carry over to another method.
    field.fill("[1]")
    field.press("Tab")
    chat.threads.nth(0).click()
    chat.settled("OneR-Direct · model")
    chat.threads.nth(1).click()
    chat.page.wait_for_function("document.querySelector('#hg-setting-widths textarea')?.value === '[4, 2]'")
    chat.page.reload()
    chat.ready()
    chat.settled("changed: widths")


@pytest.mark.slow
def test_an_invalid_setting_is_reported_before_anything_runs(chat: Chat) -> None:
    chat.unfold("Settings")
    chat.unfold("Model")
    field = chat.page.get_by_label("Temperature")
    field.fill("hot")
    field.press("Tab")
    chat.settled("temperature")
    chat.write("Who painted Guernica?")
    problem = chat.page.locator("#hg-last [role=alert]")
    problem.wait_for()
    assert "temperature" in problem.inner_text()
    assert chat.turns.count() == 0
    assert chat.box.input_value() == "Who painted Guernica?"


@pytest.mark.long
def test_an_unavailable_method_is_reported_and_others_work(
    serve: Serve, open_chat: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOPGRAPH_MAX_DEPTH", "deep")
    chat = open_chat(serve(settings={"use_method": "tree_of_reviews"}))
    chat.settled("HOPGRAPH_MAX_DEPTH")
    chat.choose("Method", "OneR-Direct")
    chat.settled("OneR-Direct · model")
    chat.unfold("Settings")
    chat.page.locator("#hg-setting-top_k").wait_for(state="attached")
    assert "Pablo Picasso" in chat.ask("Who painted Guernica?")


@pytest.mark.long
def test_an_invalid_setting_is_reported_at_its_field(chat: Chat) -> None:
    chat.choose("Method", "Tree of Reviews (ToR)")
    chat.unfold("Settings")
    field = chat.page.get_by_label("Widths")
    field.fill("[5,")
    told = chat.page.locator("#hg-settings [role=alert]").filter(visible=True)
    told.wait_for()
    assert told.inner_text() == "setting 'widths': write it as JSON, got '[5,'"
    chat.settled("widths")
    at, below = field.bounding_box(), told.bounding_box()
    assert at is not None
    assert below is not None
    assert 0 < below["y"] - (at["y"] + at["height"]) < 40
    field.fill("[5, 2]")
    told.wait_for(state="hidden")
    chat.settled("changed: widths")


@pytest.mark.slow
def test_own_documents(serve: Serve, open_chat: Open, tmp_path: Path) -> None:
    (tmp_path / "zorbia.txt").write_text("Zorbia is an island. Its capital is Plim, a town of 900 people.")
    (tmp_path / "plim.txt").write_text("Plim lies on the river Quon. The mayor of Plim is Anna Berg.")
    chat = open_chat(serve())
    chat.unfold("Add your own documents")
    chat.page.locator("#hg-documents input[type=file]").set_input_files(
        [tmp_path / "zorbia.txt", tmp_path / "plim.txt"]
    )
    chat.page.get_by_label("Name of these documents").fill("Islands")
    chat.page.get_by_role("button", name="Index documents").click()
    chat.page.get_by_text("“Islands”: 2 passages indexed.").wait_for()
    chat.page.locator("#hg-notice").get_by_text("Islands").wait_for()
    assert "Plim" in chat.ask("What is the capital of Zorbia?")
    chat.last.get_by_role("button", name="Source 1", exact=True).click()
    opened = chat.page.get_by_role("dialog").filter(visible=True)
    assert opened.locator("mark").inner_text() == "Its capital is Plim, a town of 900 people."
    chat.page.keyboard.press("Escape")
    assert str(tmp_path) not in chat.page.locator("body").inner_text()
    # A reopened conversation has its documents.
    chat.page.reload()
    chat.ready()
    chat.page.locator("#hg-notice").get_by_text("Islands").wait_for()
    # After deletion, the app's documents are searched.
    chat.unfold("Add your own documents")
    chat.page.get_by_role("button", name="Delete the selected documents").click()
    chat.page.get_by_role("button", name="Press again to delete permanently").click()
    chat.page.locator("#hg-notice").get_by_text("bundled sample").wait_for()
    assert "Pablo Picasso" in chat.ask("Who painted Guernica?")


@pytest.mark.slow
def test_review_of_queries(chat: Chat) -> None:
    chat.choose("Method", "MIGRES")
    chat.page.get_by_role("checkbox", name="queries").check()
    chat.settled("review_queries")
    chat.write(HOPS)
    form = chat.page.locator(".hg-review")
    form.get_by_text("Review the search queries, round 1").wait_for()
    # The review is still pending after a reload.
    chat.page.reload()
    chat.ready()
    form.get_by_text("Review the search queries, round 1").wait_for()
    form.locator("textarea").first.fill("Guernica Picasso")
    form.get_by_role("button", name="Use selected").click()
    chat.last.locator(".hg-answer").wait_for()
    chat.ended()
    assert chat.last.locator(".hg-reply").inner_text().startswith("Málaga")
    steps = chat.last.locator(".hg-steps").text_content() or ""
    assert "queries, edit: 1 in place of 1" in steps
    assert "Guernica Picasso" in steps
    assert not form.count()


@pytest.mark.slow
def test_a_review_on_a_phone_uses_the_ticked_items(serve: Serve, open_chat: Open) -> None:
    chat = open_chat(serve(), viewport={"width": 390, "height": 844})
    chat.page.get_by_role("button", name="Diagram and settings").click()
    chat.choose("Method", "OneR-Direct")
    chat.page.get_by_role("checkbox", name="evidence").check()
    chat.page.keyboard.press("Escape")
    chat.settled("review_evidence")
    chat.write("Who painted Guernica?")
    form = chat.page.locator(".hg-review")
    form.get_by_text("Review the evidence").wait_for()
    ticks, texts = form.get_by_role("checkbox"), form.locator("textarea")
    count = ticks.count()
    assert count == texts.count() > 1
    assert texts.first.is_disabled(), "a passage says what it says"
    for number in range(count):
        assert ticks.nth(number).is_enabled()
        box = texts.nth(number).bounding_box()
        assert box is not None
        assert box["width"] > 390 * 0.37
    ticks.first.uncheck()
    form.get_by_role("button", name="Use selected").click()
    form.wait_for(state="detached")
    chat.ended()
    assert f"evidence, edit: {count - 1} of {count} kept" in (chat.last.locator(".hg-steps").text_content() or "")


@pytest.mark.long
def test_two_tabs_have_separate_settings_and_conversations(serve: Serve, open_chat: Open) -> None:
    app = serve()
    one, other = open_chat(app), open_chat(app)
    one.choose("Method", "IRCoT")
    one.settled("IRCoT · model")
    one.ask("Who painted Guernica?")
    other.ask("Who wrote Frankenstein?")
    assert "one_step" in other.last.locator(".hg-steps summary").first.inner_text()
    assert one.turns.count() == other.turns.count() == 1
    assert one.ask("Where was he born?").startswith("Málaga")
    assert json.dumps(other.turns.all_inner_texts()).count("Guernica") == 0
