"""The conversation in HTML: drawn alike for a running turn and for a stored one."""

from collections.abc import Iterable, Sequence

from langchain_core.messages import HumanMessage
from langgraph.types import Interrupt

from hopgraph.tools.apps.server.answer_payload import replace_surrogates
from hopgraph.tools.apps.server.page.answer_html import answer_html
from hopgraph.tools.apps.server.page.html_text import inline_html, multiline_html, problem_html
from hopgraph.tools.apps.server.page.page_turns import PageTurn
from hopgraph.tools.apps.server.page.run_picture import picture
from hopgraph.tools.apps.server.page.running_turns import record_reply
from hopgraph.tools.apps.server.page.step_items import steps_html
from hopgraph.tools.apps.server.page.turn_store import TurnStore
from hopgraph.tools.apps.server.service import Service
from hopgraph.tools.apps.server.threads import thread_key

_WELCOME = (
    '<div class="hg-welcome"><h2>Ask your documents</h2><p>A question may take several steps: what is found for one'
    " tells what to look for next. Each step is shown while it happens, and each answer names the sentences that it"
    " rests on.</p></div>"
)
_STAND_IN = "by the stand-in, no language model"
_STATUS_NOTES = {
    "stopped": "Stopped before there was an answer.",
    "paused": "Waiting for your review.",
    "elsewhere": "This is being answered elsewhere; open the conversation again to see what came of it.",
}


def conversation_html(turns: Iterable[PageTurn], *, welcome: bool = False) -> str:
    """Draw turns, the oldest first; for none a greeting if `welcome`, else nothing."""
    drawn = "".join(_turn_html(turn) for turn in turns)
    return replace_surrogates(drawn or (_WELCOME if welcome else ""))


def picture_html(turn: PageTurn | None) -> str:
    """Draw a turn's tree or chain; a placeholder where there is none."""
    drawn = picture(turn.told.get("question") or turn.asked, turn.events, turn.passages) if turn else ""
    return replace_surrogates(drawn or '<p class="hg-nothing">The picture of the search grows here.</p>')


def _turn_html(turn: PageTurn) -> str:
    about = " · ".join(filter(None, [str(turn.told.get("method", "")), _STAND_IN if turn.stand_in else ""]))
    return (
        f'<article class="hg-turn" data-turn="{inline_html(turn.id)}">'
        f'<div class="hg-asked"><span class="hg-unseen">You: </span>{multiline_html(turn.asked)}</div>'
        f"{steps_html(turn.lines, running=not turn.ended, about=about, asked_with=turn.about)}"
        f'<div class="hg-reply" aria-live="polite">{_reply_html(turn)}</div>'
        "</article>"
    )


def _reply_html(turn: PageTurn) -> str:
    if turn.ended == "failed":
        return problem_html(turn.problem)
    if turn.ended in _STATUS_NOTES:
        return f'<p class="hg-note">{_STATUS_NOTES[turn.ended]}</p>'
    if turn.told:
        return answer_html(turn.told, list(turn.passages.values()))
    return f'<p class="hg-said">{multiline_html(turn.said)}</p>' if turn.said else ""


async def load_turns(
    service: Service, store: TurnStore, user: str, thread: str
) -> tuple[list[PageTurn], Sequence[Interrupt]]:
    """Return a thread's turns, the oldest first, and the interrupts that its last turn waits for.

    A turn from another endpoint of the app has no steps here. One that ended before the thread had its question is
    placed by its time.

    Raises:
        SettingsError: the thread's id is malformed.
    """
    state = await service.chat.aget_state(service.threads.config(user, thread))
    stored = await store.load(user, thread)
    turns: list[PageTurn] = []
    for message in state.values.get("messages", ()):
        if isinstance(message, HumanMessage):
            key = message.id or ""
            turns.append(stored.pop(key, None) or PageTurn(message.text, key, asked_at=0, ended="stopped"))
        elif turns:
            record_reply(turns[-1], message)
            turns[-1].ended = "done"
    for turn in sorted(stored.values(), key=lambda each: each.asked_at):
        earlier = [at for at, each in enumerate(turns, start=1) if each.asked_at <= turn.asked_at]
        turns.insert(max(earlier, default=0), turn)
    for turn in turns[:-1]:
        turn.ended = "stopped" if turn.ended == "paused" else turn.ended  # another question was asked instead
    if turns and turns[-1].ended == "stopped" and service.admission.is_busy(thread_key(user, thread)):
        turns[-1].ended = "elsewhere"
    waits = bool(turns) and turns[-1].ended == "paused"
    return turns, state.interrupts if waits else ()
