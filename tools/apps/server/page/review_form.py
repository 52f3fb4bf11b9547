"""Reviews on the page: a form for each request of a paused run, one at a time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hopgraph.nodes.core.human_review import question_of_others
from hopgraph.tools.apps.server.page.html_text import inline_html, problem_html
from hopgraph.tools.apps.server.page.texts import Texts
from hopgraph.tools.text.sanitize import sanitize_line

REVIEW_SETTINGS = {"queries": "review_queries", "evidence": "review_evidence"}


@dataclass(frozen=True, eq=False)
class ReviewRequest:
    """A request for a review; compared by identity, since Gradio hashes its state and a payload is unhashable."""

    id: str
    payload: Any  # what the run paused with
    answer: Mapping[str, Any] | str | None = None

    @property
    def kind(self) -> str:
        """Return the kind of review: queries or evidence."""
        return str(self.payload["kind"])

    @property
    def items(self) -> Sequence[Mapping[str, Any]]:
        """The queries or passages to review."""
        return self.payload[self.kind]


def answer_next(asked: Sequence[ReviewRequest], answer: Mapping[str, Any] | str) -> list[ReviewRequest]:
    """Answer the first open request."""
    first = next(each for each in asked if each.answer is None)
    return [replace(each, answer=answer) if each is first else each for each in asked]


def review_form(gr: Any, asked: Sequence[ReviewRequest], t: Texts, connect: Callable[..., None]) -> None:
    """Build the form for the first open request, if any, inside a `gr.render`.

    `connect(button, inputs, make)` connects a button; `make` turns the inputs' values into the answer.
    """
    number, one = next(((at, each) for at, each in enumerate(asked, start=1) if each.answer is None), (0, None))
    if one is None:
        return
    if told := question_of_others(one.payload):
        with gr.Column(elem_classes="hg-review"):
            gr.HTML(f'<div class="hg-review-head"><h3>{inline_html(told)}</h3></div>')
            answer = gr.Textbox(label=t("your_answer"), interactive=True, max_lines=8)
            connect(gr.Button(t("answer"), variant="primary", size="sm"), [answer], str)
        return
    size = len(one.items)
    problem = problem_html(t.problem(str(one.payload.get("problem") or "")))
    question = inline_html(t("review_for", question=str(one.payload.get("question", ""))))
    of_all = f" ({number}/{len(asked)})" if len(asked) > 1 else ""
    title = inline_html(t(f"review_{one.kind}", n=str(one.payload["hop"])) + of_all)
    with gr.Column(elem_classes="hg-review"):
        gr.HTML(f'<div class="hg-review-head"><h3>{title}</h3><p>{question}</p>{problem}</div>')
        rows = [_row(gr, one, t, *each) for each in enumerate(one.items, start=1)]
        more, is_query = t("further_queries"), one.kind == "queries"
        further = gr.Textbox(label=more, lines=2, max_lines=8, visible=is_query, interactive=True)
        with gr.Row():
            use = gr.Button(t("use_ticked"), variant="primary", size="sm", min_width=90)
            approve = gr.Button(t("approve"), size="sm", min_width=90)
            reject = gr.Button(t("reject_all"), size="sm", min_width=90)

    def edit(*values: Any) -> dict[str, Any]:
        *written, added = (each or "" for each in values[size:])  # a hidden field has the value None
        staying = [
            {"text": text} if one.kind == "queries" else {"id": item["id"], "text": text}
            for item, stays, text in zip(one.items, values[:size], written, strict=True)
            if stays and text.strip()
        ]
        new = [{"text": line.strip()} for line in added.splitlines() if line.strip()]
        return {"action": "edit", one.kind: [*staying, *new]} if staying or new else {"action": "reject"}

    connect(use, [*(keep for keep, _ in rows), *(text for _, text in rows), further], edit)
    connect(approve, [], lambda: {"action": "approve"})
    connect(reject, [], lambda: {"action": "reject"})


def _row(gr: Any, one: ReviewRequest, t: Texts, number: int, item: Mapping[str, Any]) -> tuple[Any, Any]:
    """Build an item's checkbox and text; most passages cannot be edited."""
    about = " · ".join(item.get("titles", ())) or item.get("why", "")
    label = f"{number}. {sanitize_line(str(about))}".strip()
    editable = one.kind == "queries" or bool(item.get("editable", True))
    with gr.Row(elem_classes="hg-review-row"):
        # `interactive`, since Gradio may make a field read-only if no function fills it.
        return (
            gr.Checkbox(True, label=t("keep_item", n=number), container=False, interactive=True, scale=0, min_width=90),
            gr.Textbox(item["text"], label=label, interactive=editable, lines=1, max_lines=6, scale=1),
        )
