"""Tasks that a chat app sends to a model for itself, e.g. for a title or tags: answered without a model or a search.

Open WebUI puts the conversation between <chat_history> tags and mostly asks for JSON; LibreChat writes it as lines of
"User:" and "AI:"; others ask at the end of the conversation itself. Anything else is a question. An app can also send
its tasks to the model `task`, which treats every message as one.
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
_USER = re.compile(r"^(?:\|\|>|- )?(?:USER|Human|you)[^\S\n]*:\s*(.+)", re.MULTILINE | re.IGNORECASE)
_OTHER = re.compile(r"^(?:\|\|>|- )?(?:AI|Assistant|Response|Bot)[^\S\n]*:", re.MULTILINE | re.IGNORECASE)
_QUOTED = re.compile(r'(?:"""|```|(?<=: )"|(?<=only\. )")\s*(.+)', re.IGNORECASE)
_FOLLOWING = re.compile(r"\bfollowing (?:\w+ )?(?:message|query|request)\b[^\n]*:\s+(?=\S)", re.IGNORECASE)
_DEMAND = re.compile(
    r"(?:#[^\n]*\n+)?(?:you are [^.\n]*[.\n]\s*)?(?:goal: )?(?:please\s+)?(?:your task|analy[sz]e|based on|come up"
    r"|create|detect|extract|generate|give|make|name|produce|provide|reply|respond|return|suggest|summari[sz]e|write)\b",
    re.IGNORECASE,
)
_PRODUCT = re.compile(r"\b(?:titles?|headers?|names?|tags?|emojis?|follow-ups?)\b", re.IGNORECASE)
_SUBJECT = re.compile(
    r"\b(?:conversation|chat|discussion|session|messages?|expression|(?:this|the following) (?:query|request))\b",
    re.IGNORECASE,
)
_NO_MORE = re.compile(
    r"\bonly\b|\bnothing else\b|\b(?:no|without|not use?ing|avoid) \w*\s?(?:punct|quot)", re.IGNORECASE
)
_OF_THIS = re.compile(r"\btitle\b[^.?\n]*\b(?:our|this) (?:conversation|chat|discussion)\b", re.IGNORECASE)
_TOOLS = "Available Tools:"
_LISTS = frozenset({"tags", "follow_ups", "queries", "tool_calls"})
_EMOJI = "💬"


def task_reply(message: str, first_question: str = "", *, certain: bool = False) -> str | None:
    """Return the reply to a task: a title is the shortened first question, other values are empty; None for a question.

    Args:
        message: The last message of a request.
        first_question: The user's first message, if it is not the last.
        certain: Whether it is known to be a task, e.g. by the model's name.
    """
    before, _, rest = message.strip().partition(_OPEN)
    said, closed, after = rest.rpartition(_CLOSE)
    if not (closed and said.startswith("\n") and (not said.strip() or _TURN.match(said.lstrip()))):
        (before, said), after = _split_lines(message.strip(), first_question), ""
        if not said and not certain:
            return None
    elif not certain and ((_HEADING in before and not before.startswith(_HEADING)) or _asks(before) or _asks(after)):
        return None
    questions = _USER.findall(said or message) or [said.strip() or message]
    title = truncate_line(questions[0].strip('" '), MAX_FIRST_TITLE)
    key = _KEY.search(before) or _KEY.search(after)
    if not key:
        return _EMOJI if re.search(r"\bfitting emoji\b", before) else title
    values: dict[str, str | list[str]] = {"text": "", "prompt": questions[-1].strip(), "emoji": _EMOJI}
    value = [] if key[2] or key[1] in _LISTS else values.get(key[1], title)
    return json.dumps({key[1]: value}, ensure_ascii=False)


def system_task_reply(system: str, message: str) -> str | None:
    """Return the reply to a task that a system message sets for the user's message; None if it sets none."""
    if system.startswith(_TOOLS):  # Open WebUI asks a model to choose from these
        return json.dumps({"tool_calls": []})
    reply = task_reply(f"{system}\n\n{message}")
    demanded = _is_demand(system) and _NO_MORE.search(system)
    return task_reply(message, certain=True) if reply is None and demanded else reply


def _is_demand(text: str) -> bool:
    return bool(_DEMAND.match(text) and _PRODUCT.search(text) and _SUBJECT.search(text)) and not _asks(text)


def _split_lines(message: str, first_question: str) -> tuple[str, str]:
    """Return the task, and the conversation that it is about, which is empty if the message is a question."""
    user, quoted, following = (each.search(message) for each in (_USER, _QUOTED, _FOLLOWING))
    place = user.start() if user and _OTHER.search(message, user.end()) else -1
    if place < 0:
        place = quoted.start() if quoted else following.end() if following else len(message)
    before, said = message[:place], message[place:]
    if not _is_demand(before):
        return message, ""
    if not said and first_question and _OF_THIS.search(before):
        said = first_question
    return before, _QUOTED.sub(r"\1", said).rstrip('"`') if quoted and not user else said


def _asks(text: str) -> bool:
    """Return whether the first or last line ends with a question mark."""
    lines = text.strip().splitlines()
    return any(line.rstrip().endswith("?") for line in lines[:1] + lines[-1:])
