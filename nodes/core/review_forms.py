"""Reviews in the formats of LangChain's front ends: what they show as buttons, and what they send back.

Agent Chat UI shows `action_requests` with `review_configs` (those of LangChain's `HumanInTheLoopMiddleware`) and sends
`{"decisions": […]}`; Agent Inbox shows `action_request` with `config` and sends a list of one response. Each review is
one action, whose arguments a person can edit as text: all queries, one per line, or each piece of evidence.
"""

from collections.abc import Mapping
from typing import Any, cast

from langgraph.types import interrupt
from pydantic import JsonValue

_ACTIONS = {"queries": "send_queries", "evidence": "use_evidence"}
_MEANT = {"approve": "approve", "accept": "approve", "reject": "reject", "ignore": "reject"}


class UnusableError(ValueError):
    """The reply to a review is unusable; the message says why and is shown to the person."""


def pause_for_decision(payload: Mapping[str, Any]) -> object:
    """Pause with a payload in front ends' formats, too; return the resume value in the payload's format.

    UnusableError: it is a front end's decision with nothing usable.
    """
    kind = str(payload["kind"])
    decisions = ["approve", "edit", "reject", *(["respond"] if kind == "queries" else [])]
    shown = {**payload, **_buttons(payload, kind, decisions)}
    return _plain_decision(interrupt(shown, response_schema=_response_schema(kind, decisions)), kind)


def _buttons(payload: Mapping[str, Any], kind: str, decisions: list[str]) -> dict[str, JsonValue]:
    name, shown = _ACTIONS[kind], payload[kind]
    text = [str(payload.get("problem", "")), str(payload["instructions"])]
    if kind == "queries":
        arguments: dict[str, JsonValue] = {kind: "\n".join(each["text"] for each in shown)}
    else:
        arguments = {each["id"]: each["text"] for each in shown}
        text += [f"{each['id']}: {', '.join(each['titles'])}" for each in shown]
    description = "\n".join(filter(None, text))
    return {
        "action_requests": [{"name": name, "args": arguments, "description": description}],
        "review_configs": [{"action_name": name, "allowed_decisions": [*decisions]}],
        "action_request": {"action": name, "args": arguments},
        "config": {
            "allow_accept": True,
            "allow_edit": True,
            "allow_respond": "respond" in decisions,
            "allow_ignore": True,
        },
        "description": description,
    }


def _response_schema(kind: str, decisions: list[str]) -> dict[str, Any]:
    own = {"action": {"enum": ["approve", "edit", "reject"]}, kind: {"type": "array"}}
    decision = {"type": "object", "properties": {"type": {"enum": decisions}}, "required": ["type"]}
    one = {"type": "array", "items": decision, "minItems": 1, "maxItems": 1}
    return {
        "anyOf": [
            {"type": "object", "properties": own, "required": ["action"]},
            {"type": "object", "properties": {"decisions": one}, "required": ["decisions"]},
            {"type": ["boolean", "string", "array"]},
        ]
    }


def _plain_decision(given: object, kind: str) -> object:
    """Convert a front end's decision to our form; anything else is returned as it is."""
    sent: object = cast("Mapping[str, object]", given).get("decisions") if isinstance(given, Mapping) else given
    entries = cast("list[object]", sent) if isinstance(sent, list) else []
    if not all(isinstance(each, Mapping) and "type" in each for each in entries) or not entries:
        return cast("object", given)
    if len(entries) > 1:
        raise UnusableError(f"expected one decision for the whole review, got {len(entries)}")
    decision = cast("Mapping[str, Any]", entries[0])
    said, content = decision["type"], decision.get("args")
    if isinstance(said, str) and said in _MEANT:
        return {"action": _MEANT[said]}
    if said == "edit":
        action = decision.get("edited_action", content)
        arguments = cast("Mapping[str, Any]", action).get("args") if isinstance(action, Mapping) else None
        return {"action": "edit", kind: _edited(arguments, kind)}
    message = decision.get("message", content)
    if said in ("respond", "response") and kind == "queries" and isinstance(message, str):
        return {"action": "edit", kind: _lines(message)}
    raise UnusableError(f"a decision must be of an offered type, with its arguments; got {decision!r:.80}")


def _edited(arguments: object, kind: str) -> object:
    """Parse the arguments of an edited action: queries as a list or as lines; evidence without emptied entries."""
    edited = cast("dict[str, object]", arguments) if isinstance(arguments, dict) else {}
    if kind == "queries":
        queries = edited.get(kind)
        return _lines(queries) if isinstance(queries, str) else queries
    kept = {key: text for key, text in edited.items() if not (isinstance(text, str) and not text.strip())}
    return [{"id": key, "text": text} for key, text in kept.items()] if edited else None


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]
