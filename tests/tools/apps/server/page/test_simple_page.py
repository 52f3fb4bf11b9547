"""The simple page: only asking, in the user's language and with the operator's style."""

import re
from pathlib import Path

import pytest

from hopgraph.state import SettingsError
from hopgraph.tools.apps.server.page.page_components import (
    BLACK,
    DARK_PAGE,
    WHITE,
    contrast,
    palette,
    parse_color,
    readable_on,
)
from hopgraph.tools.apps.server.page.texts import (
    ENGLISH,
    LANGUAGES,
    read_asset,
    read_problems,
    texts_by_language,
    texts_for,
)
from hopgraph.tools.apps.server.server_options import ServingOptions
from hopgraph.tools.retrieval import build_index
from support.servers.browsing import Chat, Open, Serve

HOPS = "Where was the painter of Guernica born?"
HIDDEN = ["#hg-method", "#hg-reviewed", "#hg-settings", "#hg-picture"]


@pytest.mark.slow
def test_the_simple_page_has_only_question_answer_and_sources(serve: Serve, open_chat: Open, tmp_path: Path) -> None:
    (tmp_path / "logo.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'/>")
    look = {
        "title": "Ask <ACME>",
        "logo": tmp_path / "logo.svg",
        "color": "#0f766e",
        "welcome": "## Welcome\n\nAsk about the *handbook*. <script>alert(1)</script> [bad](javascript:alert(1))",
        "footer": "Internal · [Privacy](https://example.org/privacy)",
        "examples": (HOPS, "<b>?"),
    }
    chat = open_chat(serve(simple=True, **look))
    assert chat.page.get_by_role("heading", level=1).inner_text() == "Ask <ACME>"
    assert str(chat.page.locator("#hg-top img").get_attribute("src")).startswith("data:image/svg+xml;base64,")
    assert chat.page.locator(".hg-examples button").all_inner_texts() == [HOPS, "<b>?"]
    welcome = chat.page.locator(".hg-welcome")
    assert welcome.locator("h2").inner_text() == "Welcome"
    assert welcome.locator("em").inner_text() == "handbook"
    assert welcome.locator("script, a").count() == 0
    assert chat.page.locator("#hg-footer a").get_attribute("href") == "https://example.org/privacy"
    fill = chat.page.locator("#hg-send").evaluate("each => getComputedStyle(each).backgroundColor")
    assert fill == "rgb(15, 118, 110)"
    chat.page.get_by_role("button", name=HOPS).click()
    chat.last.locator(".hg-answer").wait_for()
    assert chat.last.locator(".hg-said").inner_text().startswith("Málaga")
    steps = chat.last.locator(".hg-steps")
    assert re.fullmatch(r"Looked up \d+ passages in \d search(es)?", steps.inner_text())
    steps.locator("summary").click()
    assert HOPS in steps.locator("li").first.inner_text()
    shown = chat.page.locator("body").inner_text()
    assert not any(word in shown for word in ("offline:extractive", "cascade", "MIGRES", "corpus sample"))
    assert not any(chat.page.locator(each).count() for each in HIDDEN)
    assert chat.page.locator("#hg-notice").inner_text() == (
        "No language model is connected; fixed rules extract short answers."
    )


def tab_to(chat: Chat, name: str) -> None:
    """Press Tab until the element with this name has the focus."""
    called = "(each => each.getAttribute('aria-label') || each.labels?.[0]?.innerText || each.innerText || '')"
    for _ in range(60):
        chat.page.keyboard.press("Tab")
        if str(chat.page.evaluate(f"{called}(document.activeElement)")).startswith(name):
            return
    raise AssertionError(f"the keyboard does not reach {name}")


@pytest.mark.slow
def test_the_page_can_be_used_by_keyboard(serve: Serve, open_chat: Open, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "quon.txt").write_text("The river Quon begins in the Blue Hills.")
    build_index(tmp_path / "texts", tmp_path / "index")
    chat = open_chat(serve(simple=True, settings={"retriever": f"bm25:{tmp_path / 'index'}"}))
    press = chat.page.keyboard.press
    tab_to(chat, "Your question")
    chat.page.keyboard.type("Where does the river Quon begin?")
    press("Enter")
    chat.last.locator(".hg-answer").wait_for()
    tab_to(chat, "Looked up")
    press("Enter")
    chat.last.locator(".hg-steps li").first.wait_for()
    tab_to(chat, "Source 1")
    press("Enter")
    opened = chat.page.locator(".hg-opened:popover-open")
    opened.wait_for()
    tab_to(chat, "Open the document")
    press("Escape")
    opened.wait_for(state="detached")
    tab_to(chat, "Edit")
    press("Enter")
    tab_to(chat, "Cancel")
    press("Enter")
    assert chat.page.evaluate("document.activeElement.dataset.act") == "edit"
    tab_to(chat, "Add your own documents")
    press("Enter")
    tab_to(chat, "Choose files")
    chat.page.locator("#hg-documents input[type=file]").set_input_files(tmp_path / "texts" / "quon.txt")
    chat.page.get_by_text("uploaded", exact=True).wait_for()
    tab_to(chat, "Remove quon.txt")
    tab_to(chat, "Index documents")
    press("Enter")
    chat.page.get_by_text("1 passage indexed.").wait_for()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("locale", "send", "looked_up"),
    [("de-AT", "Senden", "nachgeschlagen"), pytest.param("fr", "Envoyer", "en ", marks=pytest.mark.long)],
)
def test_the_page_uses_the_browsers_language(
    serve: Serve, open_chat: Open, locale: str, send: str, looked_up: str
) -> None:
    chat = open_chat(serve(simple=True), locale=locale)
    assert chat.page.evaluate("document.documentElement.lang") == locale[:2]
    chat.page.locator("#hg-box textarea").fill(HOPS)
    chat.page.get_by_role("button", name=send, exact=True).click()
    chat.last.locator(".hg-actions").wait_for()
    assert looked_up in chat.last.locator(".hg-steps").inner_text()
    chat.last.get_by_role("button", name=texts_for(locale)("edit"), exact=True).click()
    chat.last.get_by_role("button", name=texts_for(locale)("save_and_ask")).wait_for()
    english = texts_by_language()["en"]
    keys = ("new_conversation", "menu", "conversations", "add_documents", "ask_again", "app_documents")
    shown = chat.page.locator("body").inner_text()
    assert not any(english[key] in shown for key in keys if english[key] != texts_for(locale)(key))


@pytest.mark.slow
def test_problems_are_reported_in_the_browsers_language(serve: Serve, open_chat: Open, tmp_path: Path) -> None:
    settings = {"model": "openai:any?base_url=http://127.0.0.1:9/v1", "request_retries": 0}
    chat = open_chat(serve(simple=True, settings=settings), wait=False, locale="de-DE")
    chat.page.locator("#hg-box textarea").fill(HOPS)
    chat.page.get_by_role("button", name="Senden", exact=True).click()
    chat.last.get_by_text("ist nicht erreichbar. Versuchen Sie es später noch einmal.").wait_for()
    chat.page.get_by_role("button", name="Eigene Dokumente hinzufügen").click()
    refused = {"a.exe": b"MZ\0", "b.pdf": b"%PDF-1.4 broken", "c.docx": b"no archive", "d.txt": b"\xff\xfe\x00R\n"}
    for name, content in refused.items():
        (tmp_path / name).write_bytes(content)
    chat.page.locator("#hg-documents input[type=file]").set_input_files([tmp_path / name for name in refused])
    chat.page.get_by_text("Dateityp .exe wird nicht unterstützt").wait_for()
    chat.page.get_by_role("button", name="Dokumente indexieren", exact=True).click()
    chat.page.get_by_text("Keine der Dateien kann gelesen werden.").wait_for()
    lines = chat.page.locator("#hg-indexed li").all_inner_texts()
    assert [line.split()[1] for line in lines] == ["ist"] * 3
    shown = chat.page.locator("body").inner_text()
    assert not [each["en"] for pattern, each in read_problems() if pattern.search(shown)]


def test_every_text_has_the_same_placeholders_in_every_language() -> None:
    texts = texts_by_language()
    assert {*texts} == {*LANGUAGES}
    for key, english in texts["en"].items():
        for language in LANGUAGES:
            assert places(texts[language][key]) == places(english), (language, key)
    for _, each in read_problems():
        assert {*each} == {*LANGUAGES}
        assert all(places(each[language]) <= places(each["en"]) for language in LANGUAGES), each


def places(text: str) -> set[str]:
    return set(re.findall(r"{\w+}", text))


def test_every_translated_problem_is_reported_by_the_code() -> None:
    root = Path(__file__).parents[5]
    code = "".join(path.read_text("utf-8") for folder in ("nodes", "tools") for path in (root / folder).rglob("*.py"))
    for _, each in read_problems():
        pieces = sorted(re.split(r"{\w+}|[;:] ", each["en"]), key=len)[-2:]
        assert any(piece in code for piece in pieces), each["en"]


def test_a_problem_is_translated_after_its_subject() -> None:
    german = texts_for("de")
    assert german.problem("a: b.txt: the file is empty") == "a: b.txt: ist leer"
    assert german.problem("the question has 9 characters; the limit is 5") == (
        "Die Frage hat 9 Zeichen; höchstens 5 sind möglich."
    )
    about = "Automatic method · model offline:extractive · corpus sample (bundled sample)"
    assert german.problem(about) == (
        "Automatische Methode · Modell offline:extractive · Dokumente sample (mitgeliefertes Beispiel)"
    )
    for line in ("", "another: thing", "x: " * 2_000):
        assert german.problem(line) == line
    assert ENGLISH.problem("the file is empty") == "the file is empty"


@pytest.mark.parametrize(("language", "one_thousand"), [("en", "1,234"), ("de", "1.234"), ("fr", "1\u202f234")])
def test_numbers_have_the_separators_of_the_language(language: str, one_thousand: str) -> None:
    texts = texts_for(language)
    assert texts.count("passages", 1234).startswith(f"{one_thousand} ")
    assert f" {one_thousand} " in texts.problem("the question has 1,234 characters; the limit is 1,000")


def test_zero_is_singular_in_french() -> None:
    assert texts_for("fr").count("passages", 0) == "0 passage"
    assert texts_for("de").count("passages", 0) == "0 Textstellen"


def test_french_has_no_breaking_space_before_punctuation() -> None:
    every = [*texts_by_language()["fr"].values(), *(each["fr"] for _, each in read_problems())]
    assert [text for text in every if re.search(r" [:;?!»]|« |'", text)] == []


def test_every_text_is_used() -> None:
    folder = Path(__file__).parents[5] / "tools" / "apps" / "server" / "page"
    code = "".join(path.read_text("utf-8") for path in folder.iterdir() if path.suffix in (".py", ".js", ".html"))
    unused = [key for key in texts_by_language()["en"] if not re.search(rf'["\'.]{key}\b', code)]
    plural = [key for key in unused if not re.search(rf'"{re.sub("_(one|many)$", "", key)}"', code)]
    assert [key for key in plural if not key.startswith(("stage_", "review_"))] == []


def test_the_upload_script_has_the_texts_of_refused_uploads() -> None:
    script = read_asset("uploads.js")
    texts = [each for each in texts_by_language()["fr"] if each.startswith("upload_")]
    assert len(texts) == 6
    assert [key for key in texts if f'"{key}"' not in script] == []


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("de-DE,de;q=0.9,en;q=0.8", "de"),
        ("pt-BR, fr;q=0.5, en;q=0.4", "fr"),
        ("en;q=0.1,es", "es"),
        ("", "en"),
        ("zh, *;q=0.1", "en"),
        ("de;q=x, fr;q=0.2", "fr"),
        (",;q=1,;;," * 9999, "en"),
    ],
)
def test_the_preferred_supported_language_is_chosen(accepted: str, language: str) -> None:
    assert texts_for(accepted).language == language


@pytest.mark.parametrize("color", ["#ffffff", "#000000", "#ffff00", "#0f766e", "#4f46e5", "#7f7f7f"])
def test_text_contrast_is_sufficient_for_any_color(color: str) -> None:
    rgb = parse_color(color)
    assert contrast(readable_on(rgb, WHITE), WHITE) >= 4.5
    assert contrast(readable_on(rgb, DARK_PAGE), DARK_PAGE) >= 4.5
    shades = palette(rgb)
    assert len(shades) == 11
    assert contrast(parse_color(shades[6]), WHITE) >= 4.5
    assert contrast(WHITE, BLACK) == pytest.approx(21)


@pytest.mark.parametrize("color", ["red", "#fff", "#12345g", "#0f766e;}body{display:none"])
def test_a_malformed_color_is_refused(color: str) -> None:
    with pytest.raises(SettingsError, match="write it as #RRGGBB"):
        ServingOptions(color=color)
