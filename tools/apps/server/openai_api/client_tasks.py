"""What a chat app asks of a model for itself: a title, tags, questions to go on with.

Open WebUI sends each as a message of the user's, after every answer. None is a question about the documents, so none
is looked up.
"""

import json
import re

from hopgraph.tools.text.sanitize import truncate_line

_BEGIN = "### Task:\n"
_WANTED = re.compile(r'\{\s*"(title|tags|follow_ups|queries|text)"\s*:')
"""What the JSON object that it asks for has."""
_FIRST_SAID = re.compile(r"<chat_history>\s*USER:\s*(.+)")
_TITLE = 60


def task_reply(message: str) -> str | None:
    """Answer a task of a chat app: the question as the title, of all else nothing; None for a message that is none."""
    wanted = _WANTED.search(message) if message.startswith(_BEGIN) and "<chat_history>" in message else None
    if not wanted:
        return None
    said = _FIRST_SAID.search(message)
    title = truncate_line(said[1], _TITLE) if said else ""
    nothing: dict[str, str | list[str]] = {"title": title, "text": ""}
    return json.dumps({wanted[1]: nothing.get(wanted[1], [])}, ensure_ascii=False)
