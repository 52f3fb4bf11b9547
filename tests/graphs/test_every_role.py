"""Malformed output at every role of every method; a new method is covered without a line here."""

import itertools
import json
from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from hopgraph.graphs import METHODS
from support.every_method import NAMES
from support.honest import model, ways
from support.sample import read_sample_passages
from support.walks import walk

ROLES = [
    pytest.param(name, step, marks=() if METHODS[name].group == "papers" else pytest.mark.slow)
    for name in NAMES
    for step in METHODS[name].Context.steps
    if step != "use_tools"  # of models that call tools
]
SAMPLE = {each["id"]: each["text"] for each in read_sample_passages()}
LONG = "word " * 12_000


def other_types(said: str) -> str:
    """Give every field a type that it does not have."""
    wrong: dict[type, Any] = {str: {"a": [1]}, bool: [], int: "many", list: {"a": 1}, dict: [["x"]]}
    return json.dumps({key: wrong.get(type(value), {}) for key, value in _fields(said).items()})


def numbers_not_shown(said: str) -> str:
    """Name passages that were not shown, wherever a list may name some."""
    return json.dumps(_changed(json.loads(said), lambda value: [99, -1, 0, 10**30] if _is_numbers(value) else value))


def long_fields(said: str) -> str:
    return json.dumps(_changed(json.loads(said), lambda value: LONG if isinstance(value, str) else value))


def unseen_characters(said: str) -> str:
    return json.dumps(_changed(json.loads(said), lambda value: "\u200b\u202e" if isinstance(value, str) else value))


def another_roles(said: str) -> str:
    """Reply as the extraction of MIGRES does, and where that is asked as its decision does."""
    if "useful_information" in said:
        return '{"answer": {"text": "Oslo", "confidence": 5}, "missing_information": ""}'
    return '{"useful_information": [{"info": "x", "support_passages": [1]}]}'


def _fields(said: str) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", json.loads(said))


def _is_numbers(value: object) -> bool:
    return isinstance(value, list) and all(type(entry) is int for entry in cast("list[object]", value))


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    changed = change(value)
    if changed is not value:
        return changed
    if isinstance(value, dict):
        return {key: _changed(entry, change) for key, entry in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_changed(entry, change) for entry in cast("list[Any]", value)]
    return value


UNUSABLE: dict[str, Callable[[str], str]] = {
    "empty": lambda _: "",
    "prose": lambda _: "I am afraid that I cannot help with this question.",
    "a list": lambda _: '["a", 1, null]',
    "other types": other_types,
    "another role's format": another_roles,
    "6 kB of text": lambda _: LONG[:6_000],
    "6 kB of braces": lambda _: "{" * 6_000,
}
"""Nothing in them could be taken: each is asked for again, then the fallback is taken."""
RETRIES = len(UNUSABLE) - 1
ODD: dict[str, Callable[[str], str]] = {
    "numbers that were not shown": numbers_not_shown,
}
"""Well formed, with contents that no honest model gives; parts of them may be used."""
LARGE: dict[str, Callable[[str], str]] = {
    "60 kB in each text": long_fields,
    "unseen characters": unseen_characters,
}
"""The same, and slower."""


def one_after_another() -> Callable[[str], str]:
    """Reply in each unusable way in turn, so that every call meets all of them."""
    kinds = itertools.cycle(UNUSABLE.values())
    return lambda said: next(kinds)(said)


@pytest.mark.parametrize("kind", ["unusable", *ODD, *(pytest.param(kind, marks=pytest.mark.long) for kind in LARGE)])
@pytest.mark.parametrize(("method", "step"), ROLES)
def test_the_run_ends_in_a_clear_way(method: str, step: str, kind: str) -> None:
    way = ways(method)[step]
    role, spoil = f"{method}/{step}", {**ODD, **LARGE}.get(kind) or one_after_another()
    asked = model({role: spoil})
    settings = way.context(model=asked, parse_retries=RETRIES, max_llm_calls=2_000)
    ran = walk(METHODS[method].graph, way.given, settings)
    result, told = ran.result, [event["data"] for event in ran.events if event["event"] == "asked"]
    spoilt = [data for data in told if data["role"] == role]
    assert spoilt
    # "budget": max_questions of RA-ISF's parts were asked.
    assert result["stop_reason"] in {"answered", "unanswerable", "max_iterations", "max_depth", "budget"}
    assert (result["stop_reason"] != "answered") or bool(result["answer"])
    assert len(asked.calls) == result["usage"]["llm_calls"] < 1_000
    assert max(sum(len(message.text) for message in call.messages) for call in asked.calls) < 100_000
    assert_nothing_is_invented(result)
    if kind == "unusable":
        assert all(data["outcome"] == "fallback" for data in spoilt)
        assert all(data["parse_failures"] == RETRIES + 1 for data in spoilt)
        assert result["usage"]["parse_failures"] == len(spoilt) * (RETRIES + 1)


def assert_nothing_is_invented(result: Mapping[str, Any]) -> None:
    """Check that every citation quotes a passage of the corpus or given, or is marked as the model's own words."""
    texts = SAMPLE | {each["id"]: each["text"] for each in result["passages"] if each["source"] == "given"}
    for citation in result["citations"]:
        if citation["passage_id"].startswith("model:"):
            continue
        text = texts[citation["passage_id"]]
        assert text[citation["start"] : citation["end"]] == citation["quote"] != ""
    assert result["answer"] or not result["citations"]


@pytest.mark.slow
def test_every_step_is_asked_in_some_way() -> None:
    for method in NAMES:
        steps = set(METHODS[method].Context.steps) - {"use_tools"}
        assert set(ways(method)) == steps or (
            method in {"adaptive_rag", "cascade"} and set(ways(method)) > steps
        )  # those of stages
