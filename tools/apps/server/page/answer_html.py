"""The answer on the page, with numbered marks that open the passages they cite.

The HTML is for `gr.HTML`, with all untrusted text escaped; as a chat message it would be read as Markdown, which finds
formatting and links in escaped text, too.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from hopgraph.nodes.chat.reply import not_found, remarks
from hopgraph.nodes.core.marked_text import split_at_marks
from hopgraph.state import Citation, Passage
from hopgraph.tools.apps.server.page.html_text import escape_text
from hopgraph.tools.retrieval.passage_metadata import describe_place, name_citation

_TITLE_BY_KIND: Final = {"model": "the model's own knowledge", "reviewer": "stated by the reviewer"}
"""The title where no passage supports the citation."""


def answer_html(reply: Mapping[str, Any], passages: Mapping[str, Passage], name: str) -> str:
    """Write an answer with its sources as HTML; empty where nothing was looked up, as for small talk.

    A mark is a button that opens its passage over the page, by pointer or keyboard and without a script; Escape
    closes it. `reply` is what the node `reply` wrote into its message's `additional_kwargs`. Of a passage that is not
    among `passages`, by id, only the quote is shown. The ids of the elements begin with `name`, unique on the page.
    """
    question, answer = str(reply.get("question") or ""), str(reply.get("answer") or "")
    if not question:
        return ""
    reason = reply.get("stop_reason")
    if not answer:
        return f'<div class="hg-answer"><p class="hg-note">{escape_text(not_found(question, reason))}</p></div>'
    citations = cast("list[Citation]", reply.get("citations") or [])
    numbered = [(number, escape_text(f"{name}-{number}"), each) for number, each in enumerate(citations, start=1)]
    marks = [_button("hg-cite", key, f"Source {number}", str(number)) for number, key, _ in numbered]
    parts = [f'<p class="hg-said">{_with_marks(answer, marks)}</p>']
    parts += [f'<p class="hg-note">{escape_text(remark)}</p>' for remark in remarks(citations, reason)]
    if numbered:
        parts.append(f'<ol class="hg-sources">{"".join(_source(*each) for each in numbered)}</ol>')
    parts += [_popover(number, key, each, passages.get(each["passage_id"])) for number, key, each in numbered]
    return f'<div class="hg-answer">{"".join(parts)}</div>'


def _with_marks(answer: str, marks: Sequence[str]) -> str:
    """Put the buttons where a sentence has its marks, else all of them after the answer."""
    parts = split_at_marks(answer, len(marks))
    written = [marks[int(part[1:-1]) - 1] if at % 2 else escape_text(part) for at, part in enumerate(parts)]
    return "".join(written) if len(parts) > 1 else " ".join(filter(None, [*written, "".join(marks)]))


def _button(kind: str, key: str, label: str, text: str) -> str:
    return f'<button type="button" class="{kind}" popovertarget="{key}" aria-label="{label}">{text}</button>'


def _title(citation: Citation) -> str:
    return _TITLE_BY_KIND.get(citation["kind"]) or name_citation(citation)


def _source(number: int, key: str, citation: Citation) -> str:
    title, kind = escape_text(_title(citation)), "passage" if citation["kind"] == "passage" else "other"
    quote = f"<q>{escape_text(citation['quote'])}</q>" if citation["quote"] else ""
    return f'<li class="hg-by-{kind}">{_button("hg-source", key, f"Source {number}: {title}", title)}{quote}</li>'


def _popover(number: int, key: str, citation: Citation, passage: Passage | None) -> str:
    """Write what a mark opens; a long passage scrolls, so it takes the keyboard's focus."""
    title = escape_text(_title(citation))
    close = f'<button type="button" class="hg-close" popovertarget="{key}" popovertargetaction="hide">Close</button>'
    return (
        f'<div popover id="{key}" class="hg-opened" role="dialog" aria-label="Source {number}: {title}">'
        f'<div class="hg-head"><b><span class="hg-number">{number}</span> {title}</b>{close}</div>'
        f'{_place(citation)}<div class="hg-passage" tabindex="0">{_marked(citation, passage)}</div></div>'
    )


def _place(citation: Citation) -> str:
    """Write the file, or a link to the address, and the page; empty where both are unknown."""
    place, url = escape_text(describe_place(citation)), citation.get("url", "")
    if url.startswith(("https://", "http://")):  # it has been in the browser's hands, so it is checked again
        place = f'<a href="{escape_text(url)}" target="_blank" rel="noopener noreferrer">{place or "link"}</a>'
    return place and f'<p class="hg-place">{place}</p>'


def _marked(citation: Citation, passage: Passage | None) -> str:
    """Write the passage with the quote marked, by its offsets if they match, else at its first occurrence."""
    quote, text = citation["quote"], passage["text"] if passage else ""
    start, end = citation["start"], citation["end"]
    if quote and text[start:end] != quote:
        start = text.find(quote)
        end = start + len(quote)
    marked = f"<mark>{escape_text(quote)}</mark>" if quote else ""
    if marked and text and start >= 0:
        return f"{escape_text(text[:start])}{marked}{escape_text(text[end:])}"
    return marked + (f"<p>{escape_text(text)}</p>" if text else "")
