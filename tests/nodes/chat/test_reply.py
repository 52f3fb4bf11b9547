"""The text of a reply: numbered sources, remarks, no markup."""

import re
from typing import Any
from uuid import UUID

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from hopgraph.nodes.chat.reply import turn_text
from hopgraph.nodes.core.marked_text import escape_markup, unescape_markup
from hopgraph.state import Citation
from hopgraph.tools.prompts import clean
from support.node_inputs import citation


def found(answer: str, *citations: Citation, stop_reason: Any = "answered") -> Any:
    return {
        "question": "Who?",
        "answer": answer,
        "markdown": False,
        "citations": list(citations),
        "stop_reason": stop_reason,
    }


def test_the_reply_numbers_what_it_quotes() -> None:
    assert turn_text(found("Ada", citation("A*", "Ada\npainted [it]."), citation("", ""))) == (
        "Ada [1][2]\n\n[1] A\\*: “Ada painted [it].”\n\n[2] a passage without a title"
    )


def test_a_source_is_named_by_its_file_and_page_or_address() -> None:
    handbook: Citation = {**citation("Leave", "30 days."), "source": "hr/hand_book.pdf", "page": 3, "section": "Leave"}
    web: Citation = {**citation("", "Ada."), "passage_id": str(UUID(int=7)), "source": "https://a:b@example.org/x?y=1"}
    plain: Citation = {**citation("", "Ada."), "passage_id": "doc-7"}
    assert turn_text(found("Ada", handbook, web, plain)).splitlines()[2::2] == [
        "[1] Leave · hr/hand_book.pdf, page 3: “30 days.”",
        "[2] example.org/x · example.org/x: “Ada.”",
        "[3] doc-7: “Ada.”",
    ]


def test_own_knowledge_is_no_passage() -> None:
    assert turn_text(found("Ada", citation("x", "I know it.", "model"))) == (
        "Ada [1]\n\n[1] the model's own knowledge: “I know it.”"
    )
    assert "the model's own knowledge" in turn_text(found("Ada"))


def test_the_end_of_the_budget_is_told() -> None:
    assert "best answer so far" in turn_text(found("Ada", citation("A", "q"), stop_reason="budget"))
    assert turn_text(found("", stop_reason="budget")).startswith("The search reached its budget before")
    assert turn_text(found("", stop_reason="max_iterations")) == "I found no answer in the documents to: Who?"


SIGNS = st.text(st.sampled_from("`*_[](){}<>~$|#+-!:&;=\\/. a1Bé")) | st.text()


@given(SIGNS)
@example("a ***b** c*d_e_ f_ ~~g~~ __init__")
@example("![a](b) [c]: d <b> &amp; \\* \\")
def test_markdown_shows_a_text_as_it_is(text: str) -> None:
    shown = escape_markup(text)
    assume(not re.match(r"\d+[.)](\s|$)", shown))  # a list of one, which is shown as it is, too
    blocks = MarkdownIt("commonmark").enable(["strikethrough", "table"]).parse(shown)
    assert {each.type for each in blocks} <= {"paragraph_open", "inline", "paragraph_close"}
    parts = [part for each in blocks for part in each.children or []]
    assert {part.type for part in parts} <= {"text", "text_special"}
    assert "".join(part.content for part in parts) == unescape_markup(shown) == " ".join(clean(text).split())


@pytest.mark.parametrize(
    "text", ["amount_eur", "Delfin > Overview", "$5 or US$6", "R&D", "C#, #1", "a < b", "2 * 3", "~5", "a|b", "[sic]"]
)
def test_ordinary_characters_are_not_escaped(text: str) -> None:
    assert escape_markup(text) == text
