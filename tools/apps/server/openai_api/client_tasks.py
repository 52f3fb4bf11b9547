"""What a chat app asks of a model for itself: a title, tags, follow-up questions.

Open WebUI sends each as a user message, after every answer. None is a question about the documents, so none is looked
up.
"""

import json
import re

from hopgraph.tools.text.sanitize import truncate_line

_PREFIX = "### Task:\n"
_REQUESTED_KEY = re.compile(r'\{\s*"(title|tags|follow_ups|queries|text)"\s*:')
"""The key of the JSON object that it asks for."""
_FIRST_MESSAGE = re.compile(r"<chat_history>\s*USER:\s*(.+)")
_MAX_TITLE = 60


def task_reply(message: str) -> str | None:
    """Answer a task of a chat app: the question as the title, else an empty value; None for any other message."""
    key = _REQUESTED_KEY.search(message) if message.startswith(_PREFIX) and "<chat_history>" in message else None
    if not key:
        return None
    first = _FIRST_MESSAGE.search(message)
    title = truncate_line(first[1], _MAX_TITLE) if first else ""
    values: dict[str, str | list[str]] = {"title": title, "text": ""}
    return json.dumps({key[1]: values.get(key[1], [])}, ensure_ascii=False)
