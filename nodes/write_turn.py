"""Write the next tagged turn: a search, or the answer (Search-R1)."""

import re
from typing import Literal, NamedTuple

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import ModelCall, answer_type_variable, ask, calls_of
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.excerpts import candidate_excerpts, passages_by_id, prompt_passages, with_title
from hopgraph.nodes.core.reply_text import short_answer
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.reading import kept_passages, reading_update
from hopgraph.state import Draft, Evidence, Knowledge, Query, StopReason, Update
from hopgraph.state.baselines import SearchR1Context, SearchR1State
from hopgraph.state.events import ThoughtAdded
from hopgraph.state.records import UNANSWERABLE
from hopgraph.state.schemas import MAX_TEXT_CHARACTERS
from hopgraph.tools.models.completions import TextRequest, WrittenText
from hopgraph.tools.prompts import Value, clean, escape, unescape
from hopgraph.tools.text import contains, content_terms

# The weights were trained on exactly these words and formats, so they are an interface, as published by the authors.
PROTOCOL = (
    "Answer the given question. You must conduct reasoning inside <think> and </think> first every time you get new "
    "information. After reasoning, if you find you lack some knowledge, you can call a search engine by <search> query "
    "</search> and it will return the top searched results between <information> and </information>. You can search as "
    "many times as your want. If you find no further external knowledge needed, you can directly provide the answer "
    "inside <answer> and </answer>, without detailed illustrations. For example, <answer> Beijing </answer>. Question: "
)
INVALID = (
    "\nMy previous action is invalid. If I want to search, I should put the query between <search> and </search>. If I "
    "want to give the final answer, I should put the answer between <answer> and </answer>. Let me try again.\n"
)
_TEMPLATE = "<|im_start|>system\n{}<|im_end|>\n<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
_SYSTEM = {
    "base": "You are a helpful assistant.",
    "instruct": "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.",
}
_MOST_TOKENS = 1024  # of a turn
_STOP = ("</search>", "</answer>")
_LAST_TAG = re.compile(r"(?P<before>.*)<(?P<tag>search|answer)>(?P<inside>.*)", re.DOTALL)


class _Turn(NamedTuple):
    """The text and the action of one turn."""

    text: str
    """Up to its closing tag, which is added if the model omitted it; or up to the hint that it does nothing."""
    thought: str
    query: str
    answer: str | None
    """None if it gives none; empty if it says that there is none."""


@with_passage_review("knowledge")
async def write_turn(state: SearchR1State, runtime: Runtime[SearchR1Context]) -> Update:
    """Let the model continue after all turns and search results: the next search, or the answer.

    A turn that does neither is followed by the hint that the weights know from training. The answer rests on the
    passages that contain it, else on those of the last search. The budget's last call is for an answer, *ours*, before
    which the question is searched for if nothing was. Writes `written`, `queries` and `iteration`, or the keys of a
    final answer: at the end, after `max_turns` or the budget's end, too. An unusable record searches for the question,
    or later ends the run.
    """
    settings, number = runtime.context, len(state["written"]) + 1
    is_last, ends = number > settings.max_turns, state["stop_reason"] == "budget"
    asked = [await ask(runtime, state, _ask(state, settings, ends), reserve_calls=None if is_last or ends else 1)]
    outcome, searches = asked[0].outcome, not (is_last or ends)
    if outcome == "budget" and searches:
        ends = True
        if state["knowledge"]:
            asked.append(await ask(runtime, state, _ask(state, settings, ends)))
            outcome, searches = asked[1].outcome, False
    turn = _read_turn(asked[-1].record.text, settings, ends)
    if outcome != "replied" and searches and not state["knowledge"]:
        turn = _Turn(f"<search> {escape(state['question'])} </search>", "", state["question"], None)
    update: Update = {"calls": calls_of(asked), "written": [*state["written"], turn.text], "queries": []}
    done = turn.answer is not None
    if outcome == "replied":
        emit(runtime, ThoughtAdded(number=number, text=turn.thought, new=True, reached=done, limit=not searches))
    if searches and not done:
        update |= {"stop_reason": "budget"} if ends else {}
        query = Query(text=turn.query, why="")
        return {**update, "queries": [query], "iteration": len(state["knowledge"]) + 1} if turn.query else update
    limit: StopReason | None = "budget" if ends or outcome == "budget" else None if done else "max_iterations"
    reading = Draft(reasoning=turn.thought, answer=turn.answer or "", evidence=_evidence(state, turn.answer or ""))
    return {**update, **reading_update(reading, runtime, limit=limit)}


async def show_found(state: SearchR1State) -> Update:
    """Append the last search results, whole, as one more entry of `knowledge`."""
    found = candidate_excerpts(state["candidates"], passages_by_id(state["passages"]))
    return {"knowledge": [*state["knowledge"], Knowledge(query=state["queries"][0]["text"], excerpts=found)]}


def route_turn(state: SearchR1State) -> Literal["search", "answer", "neither"]:
    """Route after a turn: run its search, end with its answer, or let the model try again."""
    if state["queries"]:
        return "search"
    return "answer" if state["stop_reason"] else "neither"


def _ask(state: SearchR1State, settings: SearchR1Context, ends: bool) -> ModelCall[WrittenText]:
    """Ask for the next turn or, if the run must end, for the answer, whose tag is opened."""
    variables: dict[str, Value] = {
        "passages": kept_passages(state)[1],
        "history": _history(state),
        "question": state["question"],
        **answer_type_variable(settings),
        **({"last_turn": "answer now"} if ends else {}),
    }
    prompt = prompt_of(state, settings) + ("<answer>" if ends else "")
    request = TextRequest(prompt=prompt, max_tokens=_MOST_TOKENS, stop=_STOP)
    request = None if settings.prompting == "records" else request
    return ModelCall("write_turn", variables, WrittenText, WrittenText(text=f"<answer> {UNANSWERABLE}"), text=request)


def prompt_of(state: SearchR1State, settings: SearchR1Context) -> str:
    """Return the text before the model's next turn: the protocol with the question, all turns, and search results."""
    question = escape(state["question"]).strip()
    asked = f"{PROTOCOL}{question}{'' if question.endswith('?') else '?'}"
    asked += " Answer yes or no.\n" if settings.answer_type == "yes_no" else "\n"
    system = _SYSTEM.get(settings.prompting)
    found, passages = iter(state["knowledge"]), passages_by_id(state["passages"])
    parts = [_TEMPLATE.format(system, asked) if system else asked]
    for turn in state["written"]:
        parts.append(turn)
        if turn.endswith("</search>"):
            shown = prompt_passages(next(found)["excerpts"], passages)
            parts.append(f"\n\n<information>{_documents(shown)}</information>\n\n")
    return "".join(parts)


def _documents(shown: list[dict[str, str]]) -> str:
    """Return passages in the format that the weights know, without tags or role markers in their text."""
    lines = (
        f'Doc {number}(Title: "{" ".join(escape(each["title"]).split())}") {escape(each["text"])}'
        for number, each in enumerate(shown, start=1)
    )
    return "\n".join(lines)


def _history(state: SearchR1State) -> list[str]:
    """List the turns, each search with the numbers of its passages among all passages."""
    found = iter(state["knowledge"])
    numbers = {each["passage_id"]: str(number) for number, each in enumerate(kept_passages(state)[0], start=1)}
    lines = list[str]()
    for turn in state["written"]:
        seen = next(found)["excerpts"] if turn.endswith("</search>") else ()
        brought = ", ".join(numbers[each["passage_id"]] for each in seen) or "none"
        lines.append(f"{turn} Found: passages {brought}" if turn.endswith("</search>") else turn)
    return lines


def _read_turn(text: str, settings: SearchR1Context, ends: bool) -> _Turn:
    """Parse a turn up to its first closing tag, by the last opening tag before it; its end may be missing.

    All later prompts repeat it, so of one that is too long the last part counts, where its tag is.
    """
    said = re.split("|".join(_STOP), clean(text), maxsplit=1)[0][-MAX_TEXT_CHARACTERS:]
    said = f"<answer>{said}" if ends and not _LAST_TAG.match(said) else said
    found = _LAST_TAG.match(said)
    if not found:
        return _Turn(f"{said}{INVALID}", _thought(said), "", None)
    thought, content = _thought(found["before"]), unescape(" ".join(found["inside"].split()))[:MAX_TEXT_CHARACTERS]
    if found["tag"] == "answer":
        answer = short_answer(content, yes_no=settings.answer_type == "yes_no")
        return _Turn(f"{said}</answer>", thought, "", answer)
    return _Turn(f"{said}</search>" if content else f"{said}</search>{INVALID}", thought, content, None)


def _thought(text: str) -> str:
    return " ".join(text.replace("<think>", " ").replace("</think>", " ").split())[:MAX_TEXT_CHARACTERS]


def _evidence(state: SearchR1State, answer: str) -> list[Evidence]:
    """Support an answer with the kept passages that contain it; else, e.g. for "yes", with those of the last search."""
    excerpts, passages = kept_passages(state)[0], passages_by_id(state["passages"])
    if not answer or not excerpts:
        return []
    said = answer if content_terms(answer) else ""
    kept = [each["passage_id"] for each in excerpts]
    ids = [key for key in kept if said and contains(with_title(passages[key]), said)]
    ids = ids or [each["passage_id"] for each in state["knowledge"][-1]["excerpts"]]
    statement = f"{state['question']} {answer}"
    return [Evidence(id="1.1.1", statement=statement, passage_ids=ids, quote="", verified=False)] if ids else []
