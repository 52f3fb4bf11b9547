import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from hypothesis import given, settings

from hopgraph.state import Citation, Passage
from hopgraph.tools.apps.server.page.conversation_html import conversation_html
from hopgraph.tools.apps.server.page.page_turns import PageTurn
from support.hostile_text import ANY_TEXT

TEXT = "It rains in Bergen. Oslo is dry. It rains in Bergen."


def passage(key: str = "p1", text: str = TEXT, title: str = "Weather") -> Passage:
    return Passage(id=key, title=title, text=text, score=1.0, source="sample", hop=1)


def citation(quote: str, start: int, **other: Any) -> Citation:
    made: Any = {"passage_id": "p1", "title": "Weather", "kind": "passage", **other}
    return Citation(quote=quote, start=start, end=start + len(quote), **made)


def drawn(reply: dict[str, Any], *passages: Passage, name: str = "1") -> str:
    """Return the rendered reply of a finished turn."""
    turn = PageTurn("?", name, told=reply, passages={each["id"]: each for each in passages}, ended="done")
    _, _, shown = conversation_html([turn]).partition('<div class="hg-reply" aria-live="polite">')
    return shown.partition('</div><div class="hg-actions"')[0]


def told(*citations: Citation, answer: str = "Bergen", reason: str = "answered") -> dict[str, Any]:
    return {
        "question": "Where does it rain?",
        "answer": answer,
        "citations": list(citations),
        "method": "migres",
        "stop_reason": reason,
    }


def parsed(html: str) -> ET.Element:
    return ET.fromstring(html.replace("<div popover ", '<div popover="" '))  # noqa: S314 - what we wrote ourselves


def opened(page: ET.Element, number: int) -> ET.Element:
    """Return the content that a numbered citation mark opens."""
    mark = next(each for each in page.iter("button") if each.text == str(number))
    key = mark.get("popovertarget")
    found = [each for each in page.iter("div") if each.get("id") == key]
    assert len(found) == 1
    assert found[0].get("popover") == ""
    return found[0]


def shown(element: ET.Element) -> str:
    return "".join(element.itertext())


def test_a_mark_opens_the_passage_with_the_quote_at_its_offsets() -> None:
    last = TEXT.rindex("It rains")
    page = parsed(drawn(told(citation("It rains in Bergen.", last)), passage()))
    text = next(each for each in opened(page, 1).iter("div") if each.get("class") == "hg-passage")
    assert shown(text) == TEXT
    mark = text.find("mark")
    assert mark is not None
    assert (text.text, mark.text) == (TEXT[:last], TEXT[last:])


def test_each_mark_has_a_unique_number_and_name() -> None:
    second = citation("Red.", 0, passage_id="p2", title="Colors")
    page = parsed(drawn(told(citation("Oslo is dry.", 20), second), passage(), passage("p2", "Red.", "Colors")))
    assert "Weather" in shown(opened(page, 1))
    assert "Colors" in shown(opened(page, 2))
    named = [each.get("aria-label") for each in page.iter("button") if each.get("class") == "hg-source"]
    assert named == ["Source 1: Weather", "Source 2: Colors"]


def test_a_citation_shows_its_file_and_page_or_links_to_its_url() -> None:
    file = citation("Oslo is dry.", 20, source="norway/<weather>.pdf", page=3, section="Rain")
    link = citation("Oslo is dry.", 20, source="https://example.org/a?b", url='https://example.org/a?b="c"')
    bad = citation("Oslo is dry.", 20, url="javascript:alert(1)")
    page = parsed(drawn(told(file, link, bad), passage()))
    assert "<weather>.pdf, page 3, Rain" in shown(opened(page, 1))
    [anchor] = opened(page, 2).iter("a")
    assert (anchor.get("href"), anchor.get("rel")) == ('https://example.org/a?b="c"', "noopener noreferrer")
    assert anchor.text == "example.org/a"
    assert list(opened(page, 3).iter("a")) == []


@pytest.mark.parametrize("start", [0, 3, -5, 10_000])
def test_wrong_offsets_are_replaced_by_the_position_of_the_quote(start: int) -> None:
    page = parsed(drawn(told(citation("Oslo is dry.", start)), passage()))
    box = opened(page, 1)
    assert [mark.text for mark in box.iter("mark")] == ["Oslo is dry."]
    assert TEXT in shown(box)


def test_a_quote_is_shown_if_its_passage_is_gone() -> None:
    box = opened(parsed(drawn(told(citation("Oslo is dry.", 20)))), 1)
    assert [mark.text for mark in box.iter("mark")] == ["Oslo is dry."]


def test_statements_without_a_passage_are_labeled() -> None:
    recalled = citation("I recall rain.", 0, passage_id="model:1", title="", kind="model")
    reviewed = citation("I say so.", 0, passage_id="", title="", kind="reviewer")
    text = shown(parsed(drawn(told(recalled, reviewed))))
    assert "the model's own knowledge" in text
    assert "stated by the reviewer" in text
    assert "No passage in the documents supports this" in drawn(told())


def test_a_copied_answer_has_numbered_sources_with_files_and_quotes() -> None:
    source = citation("Oslo is dry.", 20, source="norway/weather.pdf", page=3)
    turn = PageTurn("?", "1", told=told(source), passages={"p1": passage()}, ended="done")
    [button] = re.findall(r'<button type="button" data-act="copy"[^>]*>', conversation_html([turn]))
    assert 'data-text="Bergen [1]\n\n[1] Weather · norway/weather.pdf, page 3: “Oslo is dry.”"' in button


def test_an_answer_that_ended_at_the_budget_says_so() -> None:
    assert "The search reached its budget" in drawn(told(citation("Oslo is dry.", 20), reason="budget"), passage())
    none = shown(parsed(drawn(told(answer="", reason="budget"))))
    assert none == "The search reached its budget before it found an answer to: Where does it rain?"
    none = shown(parsed(drawn(told(answer="", reason="unanswerable"))))
    assert none == "I found no answer in the documents to: Where does it rain?"


def test_text_is_escaped_in_markdown_and_keeps_its_lines() -> None:
    page = parsed(drawn(told(citation("a", 0, title="*x*"), answer="**no**\n# [link](http://example.org)")))
    said = page.find("p")
    assert said is not None
    assert said.text == "**no**\n# [link](http://example.org) "


@given(ANY_TEXT, ANY_TEXT)
@settings(max_examples=150)
def test_no_external_text_becomes_markup(text: str, more: str) -> None:
    evil = f'{text}</mark></div><script>alert(1)</script><img src=x onerror=alert(1)>" autofocus onfocus="x{more}'
    source = passage(evil, evil + more + evil, evil)
    made = citation(evil, len(evil + more), passage_id=evil, title=evil)
    page = parsed(drawn({**told(made, answer=evil), "question": evil}, source, name=evil))
    assert {each.tag for each in page.iter()} == {"div", "p", "button", "ol", "li", "q", "b", "span", "mark"}
    assert not {name for each in page.iter() for name in each.attrib if name.startswith(("on", "autofocus", "src"))}
