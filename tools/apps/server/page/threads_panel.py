"""The threads on the left of the page: choosing, renaming and deleting them."""

from typing import Any

from hopgraph.tools.apps.server.page.parts import Left
from hopgraph.tools.apps.server.threads import MAX_TITLE, Thread
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.text.sanitize import sanitize_line


def threads_panel() -> Left:
    """Make the panel."""
    gr: Any = require("gradio", "chat")
    new = gr.Button("New conversation", variant="primary", size="sm")
    threads = gr.Radio([], label="Conversations", elem_classes="hg-threads")
    with gr.Column(visible=False, elem_classes="hg-manage") as manage:
        title = gr.Textbox(label="Title", max_lines=1, max_length=MAX_TITLE)
        with gr.Row():
            rename = gr.Button("Rename", size="sm", min_width=60)
            delete = gr.Button("Delete", size="sm", min_width=60)
        with gr.Column(visible=False, elem_classes="hg-sure") as sure:
            gr.HTML("<p>Delete this conversation for good?</p>")
            with gr.Row():
                delete_it = gr.Button("Delete it", variant="stop", size="sm", min_width=60)
                keep_it = gr.Button("Keep it", size="sm", min_width=60)
    return Left(new, threads, manage, title, rename, delete, sure, delete_it, keep_it)


def thread_choices(threads: list[Thread]) -> list[tuple[str, str]]:
    """Name threads for the list: their titles, with their ids."""
    return [(sanitize_line(each["title"]) or "untitled", each["id"]) for each in threads]
