"""A model's Markdown written anew: inert for every client, its marks settled, what nothing supports marked."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from hopgraph.nodes.core.long_answer import LongAnswer, Statement, write_so_far
from support.hostile_markdown import HOSTILE_MARKDOWN
from support.hostile_text import ANY_TEXT
from support.long_answers import REQUESTS

ACTIVE = {"html_block", "html_inline", "link_open", "image"}
MARKDOWN = st.lists(
    st.sampled_from(
        [*"\n\n\n  -*_`~|#>[]()!<&\\:.19az", "```", "\n\n", "[1]", "[2]: ", "- ", "1. ", "|-|-|\n", "](", "<b>"]
    ),
    max_size=60,
).map("".join)


def active_parts(markdown: str) -> set[str]:
    """What a client draws that knows all of CommonMark, its HTML and tables, but text and its form."""
    client = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    client.validateLink = lambda _: True  # type: ignore[method-assign] - as careless clients do
    found = {each.type for token in client.parse(markdown) for each in [token, *(token.children or ())]}
    return found & ACTIVE


def test_hostile_markdown_is_inert() -> None:
    assert len(HOSTILE_MARKDOWN) >= 300
    assert sum(bool(active_parts(each)) for each in HOSTILE_MARKDOWN) > 150
    assert [each for each in HOSTILE_MARKDOWN if active_parts(LongAnswer(3).write(each))] == []


@pytest.mark.parametrize("text", ["_.()", "So._(https://evil.example)", "A 1.[x](y)"])
def test_a_mark_is_no_part_of_a_link(text: str) -> None:
    assert not active_parts(LongAnswer(3).write(text))


@given(MARKDOWN | ANY_TEXT)
@example("_.()")
@settings(max_examples=400)
def test_whatever_a_model_writes_is_inert_and_is_never_taken_back(text: str) -> None:
    whole = LongAnswer(3).write(text)
    assert not active_parts(whole)
    so_far = ""
    for end in range(len(text) + 1):
        begun = write_so_far(text[:end], 3)
        assert begun.startswith(so_far)
        so_far = begun
    assert whole.startswith(so_far)


@pytest.mark.parametrize("text", REQUESTS.values())
def test_what_is_written_has_the_form_of_the_reply_and_no_escapes(text: str) -> None:
    client = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    answer = LongAnswer(5)
    written = answer.write(text)
    forms = [[each.type for each in client.parse(form)] for form in (text, written)]
    assert forms[0] == forms[1]
    assert answer.cited
    assert "\\" not in written.replace("\\|", "")


def test_marks_are_numbered_as_they_come_and_name_sources_alone() -> None:
    answer = LongAnswer(4)
    assert answer.write("A b [3]. C d [1,3][9]. `x[2]` e [4]") == "A b [1]. C d [2][1]. `x[2]` e [3]"
    assert answer.cited == {3: 1, 1: 2, 4: 3}
    assert answer.statements == [Statement("A b.", (3,)), Statement("C d.", (1, 3)), Statement("x[2] e", (4,))]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("It is so.", "It is so. [?]"),
        ("It is so [7].", "It is so. [?]"),
        ("**It is so.** It is not [1].", "**It is so.** [?] It is not [1]."),
        ("It is so.[1] It is not. [1] Dr. Who came in 1963.", "It is so.[1] It is not. [1] Dr. Who came in 1963. [?]"),
        ("- so [1]\n- not\n- this:\n  - so", "- so [1]\n- not [?]\n- this:\n  - so [?]"),
        ("|a|b|\n|-|-|\n|c|d|\n|e|[1]|", "| a | b |\n| --- | --- |\n| c | d [?] |\n| e | [1] |"),
        ("# Title\n\n**Title**\n\nLike this:\n\n```\ncode\n```\n\n---", None),
    ],
)
def test_what_names_no_source_is_marked(text: str, written: str | None) -> None:
    assert LongAnswer(2).write(text) == (text if written is None else written)


def test_what_is_rejected_is_marked_behind_its_sources() -> None:
    assert LongAnswer(2, {1}).write("A b [1]. C d [2]. E f [1].") == "A b [1]. C d [2]. [?] E f [1]."
