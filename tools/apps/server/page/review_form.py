"""Review on the page: what a paused run asks, as a form, and what a person makes of it.

A run pauses with one question for each of its branches that has one (`nodes.core.human_review`). They are asked one
after the other; when all are answered the run goes on.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from langgraph.types import Command, Interrupt

from hopgraph.tools.apps.server.page.html_text import inline_html
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.text.sanitize import sanitize_line

Action = Literal["approve", "edit", "reject"]

_WANTED = {"queries": "review_queries", "evidence": "review_evidence"}
"""What can be reviewed, and the setting that asks for it."""

REVIEW_KINDS = tuple(_WANTED)


@dataclass(frozen=True, eq=False)
class ReviewRequest:
    """One question to a person; each is its own, as Gradio hashes what it keeps, and a payload has no hash."""

    id: str
    payload: Mapping[str, Any]
    answer: Mapping[str, Any] | None = None
    """What to resume with; None until it is answered."""

    @property
    def kind(self) -> str:
        """What is to be reviewed: queries or evidence."""
        return str(self.payload["kind"])

    @property
    def items(self) -> Sequence[Mapping[str, Any]]:
        """The list that is shown."""
        return self.payload[self.kind]


def review_settings(kinds: Sequence[str]) -> dict[str, bool]:
    """Make the settings that ask for a review of these kinds."""
    return {_WANTED[kind]: True for kind in kinds}


def reviewed(changes: Mapping[str, Any]) -> list[str]:
    """List the kinds whose review these settings ask for."""
    return [kind for kind, setting in _WANTED.items() if changes.get(setting) is True]


def review_requests(interrupts: Sequence[Interrupt]) -> list[ReviewRequest]:
    """List what a run asks."""
    return [ReviewRequest(each.id, each.value) for each in interrupts]


def answered(asked: Sequence[ReviewRequest], answer: Mapping[str, Any]) -> list[ReviewRequest]:
    """Answer the first question that is open."""
    number = next(number for number, each in enumerate(asked) if each.answer is None)
    return [replace(each, answer=answer) if at == number else each for at, each in enumerate(asked)]


def resume_command(asked: Sequence[ReviewRequest]) -> Command[Any] | None:
    """Make what the run goes on with; None while a question is open."""
    if not asked or any(each.answer is None for each in asked):
        return None
    return Command(resume={each.id: each.answer for each in asked})


def edited(asked: ReviewRequest, kept: Sequence[bool], texts: Sequence[str], added: str = "") -> dict[str, Any]:
    """Make the answer that keeps some of the items, with these texts.

    Args:
        asked: the question.
        kept: which items stay, in their order.
        texts: their texts.
        added: further queries, one on each line; empty for none.
    """
    staying = [
        {"text": text} if asked.kind == "queries" else {"id": item["id"], "text": text}
        for item, keep, text in zip(asked.items, kept, texts, strict=True)
        if keep and text.strip()
    ]
    new = [{"text": line.strip()} for line in added.splitlines() if line.strip()]
    return {"action": "edit", asked.kind: [*staying, *new]} if staying or new else {"action": "reject"}


def review_form(asked: Sequence[ReviewRequest], answer: Callable[..., None]) -> None:
    """Make the form for the first open question, inside a `gr.render`.

    Args:
        asked: all questions; without an open one nothing is made.
        answer: connects a button: `answer(button, inputs, make)`, where `make` turns the inputs' values into the
            answer.
    """
    gr: Any = require("gradio", "chat")
    number = next((number for number, each in enumerate(asked) if each.answer is None), None)
    if number is None:
        return
    one = asked[number]
    size = len(one.items)
    of_all = f" ({number + 1} of {len(asked)})" if len(asked) > 1 else ""
    with gr.Column(elem_classes="hg-review"):
        gr.HTML(_heading(one, of_all))
        keep, texts = _rows(gr, one)
        added = gr.Textbox(
            label="Further queries, one on each line",
            lines=2,
            max_lines=8,
            visible=one.kind == "queries",
            interactive=True,
        )
        with gr.Row():
            use = gr.Button("Use what is ticked", variant="primary", size="sm", min_width=90)
            approve = gr.Button("Approve as shown", size="sm", min_width=90)
            reject = gr.Button("Reject all", size="sm", min_width=90)

    def make(*values: Any) -> dict[str, Any]:
        *written, new = (each or "" for each in values[size:])  # a field that is not shown gives none
        return edited(one, values[:size], written, new)

    answer(use, [*keep, *texts, added], make)
    answer(approve, [], lambda: {"action": "approve"})
    answer(reject, [], lambda: {"action": "reject"})


def _heading(one: ReviewRequest, of_all: str) -> str:
    problem = one.payload.get("problem")
    said = f'<p class="hg-problem" role="alert">{inline_html(str(problem))}</p>' if problem else ""
    question = inline_html(str(one.payload.get("question", "")))
    title = f"Review the {inline_html(one.kind)}, iteration {inline_html(str(one.payload['hop']))}{of_all}"
    return f'<div class="hg-review-head"><h3>{title}</h3><p>for: {question}</p>{said}</div>'


def _rows(gr: Any, one: ReviewRequest) -> tuple[list[Any], list[Any]]:
    """Make a row for each item: whether it stays, and its text, which can be changed where it is not a passage's.

    What no function fills Gradio may show as fixed, so that each says whether it can be changed.
    """
    keep: list[Any] = []
    texts: list[Any] = []
    for number, item in enumerate(one.items, start=1):
        about = " · ".join(item.get("titles", ())) or item.get("why", "")
        name = f"{number}. {sanitize_line(str(about))}".strip()
        with gr.Row(elem_classes="hg-review-row"):
            keep.append(
                gr.Checkbox(True, label=f"keep {number}", container=False, interactive=True, scale=0, min_width=90)
            )
            editable = one.kind == "queries" or bool(item.get("editable", True))
            texts.append(gr.Textbox(item["text"], label=name, interactive=editable, lines=1, max_lines=6, scale=1))
    return keep, texts
