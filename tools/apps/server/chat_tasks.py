"""Tasks that a chat app asks of a model for itself, e.g. a title or tags: answered without a model or a search.

Open WebUI puts the conversation between <chat_history> tags and mostly asks for JSON; LibreChat writes it as lines of
"User:" and "AI:"; others ask at the end of the conversation itself. What fits none of these is a question; an app can
send its tasks to the model `task`, for which everything is one.
"""

import json
import re

from hopgraph.tools.apps.server.service import MAX_FIRST_TITLE
from hopgraph.tools.text.sanitize import truncate_line

TASK_MODEL = "task"
_HEADING = "### Task:"
_OPEN, _CLOSE = "<chat_history>", "</chat_history>"
_TURN = re.compile(r"[A-Z]{1,20}:")
_KEY = re.compile(r'\{\s*"(\w+)"\s*:\s*(\[?)')
_USER = re.compile(r"^(?:\|\|>)?(?:USER|User|Human)[^\S\n]*:\s*(.+)", re.MULTILINE)
_OTHER = re.compile(r"^(?:\|\|>)?(?:AI|Assistant|Response|Bot)[^\S\n]*:", re.MULTILINE)
_QUOTED = re.compile(r'"""\s*(.+)')
_DEMAND = re.compile(
    r"(?:#[^\n]*\n+)?(?:please\s+)?(?:your task|analy[sz]e|based on|come up|create|detect|generate|give|make|name"
    r"|provide|reply|respond|return|suggest|summari[sz]e|write)\b",
    re.IGNORECASE,
)
_PRODUCT = re.compile(r"\b(?:titles?|headers?|names?|tags?|emojis?|follow-ups?)\b", re.IGNORECASE)
_SUBJECT = re.compile(r"\b(?:conversation|chat|discussion|session|messages?|expression)\b", re.IGNORECASE)
_OF_THIS = re.compile(r"\btitle\b[^.?\n]*\b(?:our|this) (?:conversation|chat|discussion)\b", re.IGNORECASE)
_LISTS = frozenset({"tags", "follow_ups", "queries"})
_EMOJI = "💬"


def task_reply(message: str, first_question: str = "", *, certain: bool = False) -> str | None:
    """Answer a task: a title is the first question, shortened; other values are empty; None where it is a question.

    Args:
        message: The last message of a request.
        first_question: The user's first message, where there are earlier ones.
        certain: That it is a task is known, as by the model's name.
    """
    before, _, rest = message.strip().partition(_OPEN)
    said, closed, after = rest.rpartition(_CLOSE)
    if not (closed and said.startswith("\n") and (not said.strip() or _TURN.match(said.lstrip()))):
        (before, said), after = _split_lines(message.strip(), first_question), ""
        if not said and not certain:
            return None
    elif not certain and ((_HEADING in before and not before.startswith(_HEADING)) or _asks(before) or _asks(after)):
        return None
    questions = _USER.findall(said) or [said.strip() or message]
    title = truncate_line(questions[0].strip('" '), MAX_FIRST_TITLE)
    key = _KEY.search(before) or _KEY.search(after)
    if not key:
        return _EMOJI if re.search(r"\bfitting emoji\b", before) else title
    values: dict[str, str | list[str]] = {"text": "", "prompt": questions[-1].strip(), "emoji": _EMOJI}
    value = [] if key[2] or key[1] in _LISTS else values.get(key[1], title)
    return json.dumps({key[1]: value}, ensure_ascii=False)


def _split_lines(message: str, first_question: str) -> tuple[str, str]:
    """Return what is demanded, and the conversation that it is about; empty where the message is a question."""
    user, quoted = _USER.search(message), _QUOTED.search(message)
    place = user.start() if user and _OTHER.search(message, user.end()) else quoted.start() if quoted else len(message)
    before, said = message[:place], message[place:]
    if not _DEMAND.match(before) or _asks(before) or not (_PRODUCT.search(before) and _SUBJECT.search(before)):
        return message, ""
    if not said and first_question and _OF_THIS.search(before):
        said = first_question
    return before, _QUOTED.sub(r"\1", said.removesuffix('"""')) if quoted else said


def _asks(text: str) -> bool:
    """Return whether the first or the last line is a question."""
    lines = text.strip().splitlines()
    return any(line.rstrip().endswith("?") for line in lines[:1] + lines[-1:])
