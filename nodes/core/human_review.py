"""Let a person approve, edit or reject what a run is about to use: its queries or its evidence.

The run pauses by LangGraph's `interrupt`. A node that was interrupted runs again from its top when the run is
resumed, so each review is its own node, which does nothing else: no model is called twice and no event is
resumed, so each review is a separate node that does nothing else: no model is called twice and no event is
reported twice. It can be resumed with:
* `True` or "approve": use everything as shown;
* `False` or "reject": use none of it;
* a list: use these instead;
* `{"action": "approve" | "edit" | "reject"}`, with the list under "queries" or "evidence" for "edit";
* what Agent Chat UI and Agent Inbox send (`review_forms`), e.g. `{"decisions": [{"type": "approve"}]}`.

Anything else pauses again, with the reason under "problem". The person's time does not count towards
`deadline_seconds`.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from langgraph.checkpoint.base.id import UUID
from langgraph.config import get_config
from langgraph.runtime import Runtime
from pydantic import JsonValue

from hopgraph.nodes.core.review_forms import UnusableError, pause_for_decision
from hopgraph.nodes.core.step_events import current_position, emit
from hopgraph.state import Call, Context, Query, SettingsError, Update, empty_call
from hopgraph.state.events import Approved
from hopgraph.state.schemas import MAX_TEXT_CHARACTERS
from hopgraph.tools.prompts import clean

MOST_QUERIES = 50
"""Maximum queries that a person can send instead of those shown."""
_ACTIONS = {"approve": "approve", "accept": "approve", "yes": "approve", "reject": "reject", "no": "reject"}
_GREGORIAN = 0x01B21DD213814000
"""100-nanosecond steps between the start of UUID time and the epoch."""

ReadT = TypeVar("ReadT")


class Item(NamedTuple):
    """A piece of evidence as a person sees it."""

    id: str
    text: str
    titles: list[str]
    """Ids of the passages that it is, or cites."""
    editable: bool
    """A statement's text can be changed, a passage's cannot: it would not be what the corpus says."""


def check_resumable(settings: Context) -> None:
    """Raise a SettingsError for a review in a run that cannot be resumed because it has no checkpointer."""
    wanted = [name for name in ("review_queries", "review_evidence") if getattr(settings, name)]
    if wanted:
        check_checkpointer(wanted[0], "--review")


def check_checkpointer(what: str, option: str) -> None:
    """Raise a SettingsError for a pause in a run that nothing can resume; `option` is the command line's."""
    # LangGraph passes the checkpointer down under this key, also to nested graphs; it has no public name.
    if not get_config().get("configurable", {}).get("__pregel_checkpointer"):
        raise SettingsError(
            f"{what} pauses the run and needs a checkpointer to resume: compile the graph with "
            f"build().compile(checkpointer=…), or use the command line's {option} or a LangGraph server"
        )


def question_of_others(payload: object) -> str:
    """Return an external graph's interrupt as text, to be answered in text; empty for our own reviews."""
    if isinstance(payload, Mapping) and cast("Mapping[str, object]", payload).get("kind") in ("queries", "evidence"):
        return ""
    return payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False, default=str)


async def review_queries(state: Mapping[str, Any], runtime: Runtime[Any]) -> Update:
    """Pause until a person has reviewed the `queries`, if any, about to be sent; writes `approved`.

    In an edited list, an unchanged text keeps its position; the others fill the free positions, and the rest is added.
    """
    queries: list[Query] = state["queries"]
    hop: int = state["iteration"]
    if not queries:
        return {"approved": [], **_reviewed(None)}
    payload: dict[str, JsonValue] = {
        "kind": "queries",
        "question": state["question"],
        "hop": hop,
        "queries": [{"text": query["text"], "why": query["why"]} for query in queries],
        "instructions": "Approve, reject, or edit: pass the list of queries to send instead.",
    }
    action, texts = _ask_person(payload, read_queries)
    if action == "edit":
        approved = _in_places(queries, texts)
    else:
        approved = [query if action == "approve" else None for query in queries]
    kept = [query["text"] for query in approved if query]
    emit(runtime, Approved(kind="queries", action=action, hop=hop, shown=len(queries), kept=kept))
    return {"approved": approved, **_reviewed(runtime)}


def approve_evidence(
    items: Sequence[Item], runtime: Runtime[Any], *, question: str, hop: int
) -> tuple[dict[str, str], dict[str, Any]]:
    """Pause until a person has reviewed the evidence, if any, for the next answer.

    Returns the remaining texts by id, in the person's order, and the update that records the review.
    """
    everything = {item.id: item.text for item in items}
    if not items:
        return everything, _reviewed(None)
    payload: dict[str, JsonValue] = {
        "kind": "evidence",
        "question": question,
        "hop": hop,
        "evidence": [item._asdict() for item in items],
        "instructions": 'Approve, reject, or edit: pass the list of what to keep, by "id", with a new "text" for '
        "statements (editable) to change.",
    }
    action, edited_texts = _ask_person(payload, lambda given: read_evidence(given, items))
    kept = {"approve": everything, "reject": {}}.get(action, edited_texts)
    texts = list(kept.values())
    emit(runtime, Approved(kind="evidence", action=action, hop=hop, shown=len(items), kept=texts))
    return kept, _reviewed(runtime)


def _ask_person(payload: Mapping[str, JsonValue], read: Callable[[list[object]], ReadT]) -> tuple[str, ReadT]:
    """Pause until a resume value can be used; returns the action and the parsed list."""
    problem: dict[str, JsonValue] = {}
    while True:
        try:
            given = pause_for_decision({**payload, **problem})
            action, entries = read_decision(given, str(payload["kind"]))
            return action, read(entries)
        except UnusableError as error:
            problem = {"problem": str(error)}


def read_decision(given: object, kind: str) -> tuple[str, list[object]]:
    """Parse the action ("approve", "edit" or "reject"), and the list that replaces the one shown; empty without "edit".

    `kind`, "queries" or "evidence", is the key of the list in an object. UnusableError: it is none of the accepted
    forms.
    """
    word, entries = given, given
    if isinstance(given, Mapping):
        fields = cast("Mapping[str, object]", given)
        word = fields.get("action")
        entries = fields.get(kind) if word == "edit" else None
        if word == "edit" and not isinstance(entries, list):
            raise UnusableError(f'"edit" needs the new list under "{kind}"')
    if isinstance(entries, list):
        return ("edit", cast("list[object]", entries)) if entries else ("reject", [])
    if isinstance(word, bool):
        return ("approve" if word else "reject"), []
    if isinstance(word, str) and (action := _ACTIONS.get(word.strip().lower())):
        return action, []
    raise UnusableError(f'expected "approve", "reject", a list, or {{"action": …}}; got {given!r:.80}')


def read_queries(given: Sequence[object]) -> list[str]:
    """Parse a list of queries into texts, without repeats, in order; UnusableError says why one cannot be sent."""
    texts: list[str] = []
    for entry in given:
        text = cast("Mapping[str, object]", entry).get("text") if isinstance(entry, Mapping) else entry
        shown = " ".join(clean(text).split()) if isinstance(text, str) else ""
        if not shown:
            raise UnusableError(f'a query must be a string, or an object with one under "text"; got {entry!r:.80}')
        if len(shown) > MAX_TEXT_CHARACTERS:
            raise UnusableError(f"a query has {len(shown):,} characters; the limit is {MAX_TEXT_CHARACTERS:,}")
        texts.append(shown)
    if len(texts) > MOST_QUERIES:
        raise UnusableError(f"at most {MOST_QUERIES} queries are allowed, got {len(texts):,}")
    return list(dict.fromkeys(texts))


def read_evidence(given: Sequence[object], items: Sequence[Item]) -> dict[str, str]:
    """Parse a list of evidence into texts by id, in order; UnusableError says what is wrong with an entry."""
    by_id = {item.id: item for item in items}
    kept: dict[str, str] = {}
    for entry in given:
        fields: Mapping[str, object] = (
            cast("Mapping[str, object]", entry) if isinstance(entry, Mapping) else {"id": entry}
        )
        key = fields.get("id")
        if not isinstance(key, str) or key not in by_id:
            raise UnusableError(f"no evidence has the id {key!r:.80}; shown are: {', '.join(by_id)[:200]}")
        text = fields.get("text", by_id[key].text)
        shown = clean(text).strip() if isinstance(text, str) else ""
        if not shown or len(shown) > max(MAX_TEXT_CHARACTERS, len(by_id[key].text)):
            raise UnusableError(f"evidence {key!r}: its text must be 1 to {MAX_TEXT_CHARACTERS:,} characters long")
        if text != by_id[key].text and not by_id[key].editable:
            raise UnusableError(f"evidence {key!r} is a passage: it can be left out, but its text cannot be changed")
        kept[key] = by_id[key].text if text == by_id[key].text else shown
    return kept


def _in_places(queries: Sequence[Query], texts: Sequence[str]) -> list[Query | None]:
    """Put an edited list into the positions of the proposed queries, then append the rest."""
    shown = {query["text"] for query in queries}
    new = iter([text for text in texts if text not in shown])
    placed: list[Query | None] = []
    for query in queries:
        if query["text"] in texts:
            placed.append(query)
        else:
            text = next(new, None)
            placed.append(None if text is None else Query({**query, "text": text}))
    return [*placed, *(Query(text=text, why="") for text in new)]


def step_start_time(runtime: Runtime[Any]) -> float:
    """Return when the node's superstep started, by its checkpoint's id, else now; in seconds since the epoch."""
    info = runtime.execution_info
    if info is None or not info.checkpoint_id:
        return time.time()
    return (UUID(info.checkpoint_id).time - _GREGORIAN) / 1e7


def _reviewed(runtime: Runtime[Any] | None) -> Update:
    """Record that the review took place and, given its runtime, how long the person took, for the deadline."""
    where = current_position()
    if runtime is None:
        return {"reviewed": [where.node]}
    pause: Call = {**empty_call("pause", "person"), "paused": [step_start_time(runtime), time.time()]}
    return {"reviewed": [where.node], "calls": {f"{where.step:05}:{where.path}:pause": pause}}
