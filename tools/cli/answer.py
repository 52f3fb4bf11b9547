"""The result of a run: for people, and as one JSON object."""

import math
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, cast

from rich.console import Console
from rich.text import Text

from hopgraph.state import Citation, Context, StepEvent, Usage
from hopgraph.tools.cli.console import counted, on_one_line, print_hanging
from hopgraph.tools.models import redact
from hopgraph.tools.resolve import describe

_ENDS = {
    "answered": "answered",
    "unanswerable": "ended without an answer",
    "max_iterations": "stopped at the last iteration",
    "max_depth": "stopped at the greatest depth",
    "budget": "stopped because the budget is used up",
}


def print_answer(console: Console, state: Mapping[str, Any], seconds: float | None) -> None:
    """Print the answer with numbered citations, why the run ended and what it used.

    Args:
        console: where to.
        state: the state at the end of the run.
        seconds: how long it took; None to print the answer and the citations alone.
    """
    if seconds is not None:
        console.print()
    _print_conclusion(console, state, short=seconds is None)
    _print_citations(console, state["citations"])
    if seconds is not None:
        console.print()
        line = f"{_ENDS.get(state['stop_reason'], state['stop_reason'])} · {_usage_line(state['usage'], seconds)}"
        print_hanging(console, Text(), Text(line, "dim"), indent=0)


def _print_conclusion(console: Console, state: Mapping[str, Any], *, short: bool) -> None:
    if state["answer"]:
        label = Text() if short else Text("Answer", "bold")
        indent = 0 if short else 9
        print_hanging(console, label, Text(on_one_line(state["answer"]), "bold green"), indent=indent)
        why = on_one_line(state["explanation"])
    else:
        print_hanging(console, Text(), Text("No answer", "bold red"), indent=0)
        indent, missing = 9, on_one_line(state.get("missing") or "")
        known = not missing or missing == on_one_line(state["question"])
        why = on_one_line(state["explanation"]) or ("" if known else f"still missing: {missing}")
    if why and not short:
        print_hanging(console, Text(), Text(why), indent=indent)


def _print_citations(console: Console, citations: Sequence[Citation]) -> None:
    if citations:
        console.print()
    width = len(f"[{len(citations)}] ")
    for number, citation in enumerate(citations, start=1):
        label = Text(f"[{number}]", "cyan")
        title = on_one_line(citation["title"]) or on_one_line(citation["passage_id"])
        said = " (said by the model, not found in the corpus)" if citation["kind"] == "model" else ""
        print_hanging(console, label, Text.assemble((title, "bold"), said), indent=width)
        print_hanging(console, Text(), Text(f"“{on_one_line(citation['quote'])}”"), indent=width)


def _usage_line(usage: Usage, seconds: float) -> str:
    parts = [
        counted(usage["iterations"], "iteration"),
        counted(usage["llm_calls"], "model call"),
        f"{usage['prompt_tokens']:,} + {usage['completion_tokens']:,} tokens",
        counted(usage["retrievals"], "search", "searches"),
        f"{counted(usage['passages'], 'passage')} read",
    ]
    if usage["parse_failures"]:
        parts.append(counted(usage["parse_failures"], "unusable reply", "unusable replies"))
    return " · ".join([*parts, f"{seconds:.1f} s"])


def answer_record(settings: Context, state: Mapping[str, Any], trace: Sequence[StepEvent]) -> dict[str, Any]:
    """Write a run down as plain JSON, with everything that it takes to repeat it.

    Numbers that JSON does not know (an endless threshold) become null. Keys do not appear.
    """
    model, retriever = describe(settings)
    record = {
        "question": state["question"],
        "method": settings.method,
        "model": model,
        "retriever": redact(retriever),
        "answer": state["answer"],
        "explanation": state["explanation"],
        "confidence": state.get("confidence"),
        "citations": state["citations"],
        "stop_reason": state["stop_reason"],
        "usage": state["usage"],
        "settings": _without_keys(settings.model_dump(mode="json")),
        "version": version("hopgraph"),
        "trace": trace,
    }
    return cast("dict[str, Any]", _finite(record))


def _without_keys(value: object) -> object:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {key: _without_keys(entry) for key, entry in cast("Mapping[str, object]", value).items()}
    if isinstance(value, list):
        return [_without_keys(entry) for entry in cast("list[object]", value)]
    return value


def _finite(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(entry) for key, entry in cast("Mapping[str, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in cast("Sequence[object]", value)]
    return value
