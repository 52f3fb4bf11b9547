"""What a prompt shows, what a server enforces and what a class reads is one form, for every role of every method."""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from hopgraph.graphs import ALIASES, METHODS
from hopgraph.state.context import SENTENCE_STEP
from hopgraph.tools.prompts import read_demonstrations
from hopgraph.tools.prompts.prompt_files import FAMILIES
from support.honest import QUESTIONS, input_for, model, ways
from support.schema_bounds import unbounded
from support.servers.openai_server import OpenAIServer

pytestmark = pytest.mark.slow

PLAIN_TEXT = {"score_answer"}
"""Steps that ask for log-probabilities, and so for no record."""
NAMES = sorted(METHODS.keys() - ALIASES.keys())
OWN_STEPS = [(name, step) for name in NAMES for step in METHODS[name].Context.steps if step not in PLAIN_TEXT]
OF_ACTIONS = {("agent", "act"), ("agent", "use_tools")}
"""The second has no reply in words, and the first, ReAct's, is asked only of models that call no tools."""
ROLES = [each for each in (*OWN_STEPS, ("one_step", SENTENCE_STEP)) if each not in OF_ACTIONS]
SENTENCE = {"answer_type": "sentence", "answer_instructions": "In Latin.", "question": QUESTIONS[0]}
EXAMPLE = re.compile(r"^Reply with one JSON object and nothing else:\n(\{.*\}(?:\nor \{.*\})*)$", re.MULTILINE)
Form = dict[str, Any] | list[Any] | None


@cache
def requests_of(method: str) -> dict[str, Any]:
    """Ask every step of a method over HTTP; gives its request by the step."""
    found: dict[str, Any] = {}
    with OpenAIServer(model(), completions="vllm") as server:
        for way in [*dict.fromkeys(map(_hashable, ways(method).values())), json.dumps(SENTENCE)]:
            settings = {**json.loads(way), "model": f"openai:any?base_url={server.base_url}"}
            question = settings.pop("question")
            METHODS[method].graph.invoke(input_for(method, question), context=METHODS[method].Context(**settings))
        for request in server.requests:
            if request.role:
                found.setdefault(request.role.split("/", 1)[1], request.body)
    return found


def _hashable(way: Any) -> str:
    return json.dumps({**way.settings, "question": way.question}, sort_keys=True)


def form_of_schema(node: dict[str, Any], definitions: dict[str, Any]) -> Form:
    """Reduce a JSON schema to its keys in their order; None for what has none."""
    if "$ref" in node:
        return form_of_schema(definitions[node["$ref"].rpartition("/")[2]], definitions)
    if "properties" in node:
        assert node["required"] == list(node["properties"])
        return {name: form_of_schema(each, definitions) for name, each in node["properties"].items()}
    return [form_of_schema(node["items"], definitions)] if "items" in node else None


def form_of(value: Any) -> Form:
    if isinstance(value, dict):
        return {key: form_of(each) for key, each in value.items()}
    return [form_of(value[0]) if value else None] if isinstance(value, list) else None


def in_order(form: Form) -> str:
    """Write a form so that the order of its keys counts."""
    return json.dumps(form)


def shown_forms(method: str, step: str, text: str) -> Iterator[Form]:
    """Give the forms that a role's prompt and its demonstrations show."""
    [examples] = EXAMPLE.findall(text)
    shown = [json.loads(each) for each in examples.split("\nor ")]
    yield from map(form_of, shown)
    for key, value in shown[0].items():
        if isinstance(value, bool):
            assert {each[key] for each in shown} == {True, False}, key
    for family in FAMILIES:
        yield from (form_of(dict(each.output)) for each in read_demonstrations(f"{method}/{step}", family))


def fits(shown: Form, enforced: Form) -> bool:
    """Whether the keys are the same in the same order; an empty list shows no entry's keys."""
    if isinstance(shown, dict) and isinstance(enforced, dict):
        return list(shown) == list(enforced) and all(fits(shown[key], enforced[key]) for key in shown)
    if isinstance(shown, list) and isinstance(enforced, list):
        return shown == [None] or fits(shown[0], enforced[0])
    return shown is None and enforced is None


@pytest.mark.parametrize(("method", "step"), ROLES)
def test_prompt_demonstrations_and_schema_agree(method: str, step: str) -> None:
    body = requests_of(method)[step]
    schema = body["response_format"]["json_schema"]["schema"]
    assert not [*unbounded(schema)]
    enforced = form_of_schema(schema, schema.get("$defs", {}))
    text = "\n".join(str(message["content"]) for message in body["messages"] if message["role"] == "system")
    assert "{{" not in text
    for shown in shown_forms(method, step, text):
        assert fits(shown, enforced), f"shown: {in_order(shown)}; enforced: {in_order(enforced)}"
