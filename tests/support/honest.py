"""The offline model with replies of one role changed, and settings under which each role is called."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, get_args, get_origin

from annotated_types import Ge, Le
from langchain_core.messages import BaseMessage

from hopgraph.graphs import METHODS
from hopgraph.tools.models.offline import RuleBasedModel
from support.sample import read_sample_passages
from support.servers.scripted_model import ScriptedChatModel

QUESTIONS = [
    "In which city was the director of the film Pan's Labyrinth born?",
    "Which city has the museum that shows the Mona Lisa?",
]
"""One that the sample corpus answers, and one that nothing does."""
GOLD = [
    {"title": each["title"], "text": each["text"]}
    for each in read_sample_passages()
    if each["id"] in {"pans-labyrinth", "guillermo-del-toro"}
]
_OFFLINE = RuleBasedModel()
_SAID: dict[tuple[tuple[str, str], ...], str] = {}


def honest(_role: str, messages: list[BaseMessage]) -> str:
    """Reply as the offline model does, with a cache."""
    key = tuple((message.type, message.text) for message in messages)
    if key not in _SAID:
        _SAID[key] = _OFFLINE.invoke(messages).text
    return _SAID[key]


def model(spoil: Mapping[str, Callable[[str], str]] | None = None, latency: float = 0.0) -> ScriptedChatModel:
    """Return the model; `spoil` maps a role to a function that changes its reply."""

    def reply(role: str, messages: list[BaseMessage]) -> str:
        said = honest(role, messages)
        return spoil[role](said) if spoil and role in spoil else said

    return ScriptedChatModel(replies=reply, latency=latency)


@dataclass(frozen=True)
class Way:
    """A question and settings under which a role is called."""

    method: str
    question: str
    settings: Mapping[str, Any]

    @property
    def given(self) -> dict[str, Any]:
        return input_for(self.method, self.question)

    def context(self, **more: Any) -> Any:
        return METHODS[self.method].Context(**{**self.settings, **more})


def input_for(method: str, question: str = QUESTIONS[0]) -> Any:
    return {"question": question, **({"gold_passages": GOLD} if method == "gold_passages" else {})}


@cache
def ways(method: str) -> dict[str, Way]:
    """Return, for each step of a method, settings under which it is called: with at most two non-default values."""
    steps = METHODS[method].Context.steps
    found: dict[str, Way] = {}
    for settings in [*_variants(method)]:
        for question in QUESTIONS:
            way = Way(method, question, settings)
            asked = model()
            METHODS[method].graph.invoke(way.given, context=way.context(model=asked))
            for call in asked.calls:
                found.setdefault(call.role.split("/", 1)[1], way)
        if set(steps) <= set(found):
            break
    return found


def _variants(method: str) -> Iterator[dict[str, Any]]:
    yield {}
    for name, others in other_values(method).items():
        yield from ({name: value} for value in others)


def other_values(method: str) -> dict[str, list[Any]]:
    """Return the non-default values to try for each setting of a method."""
    fields: dict[str, Any] = dict(METHODS[method].Context.model_fields)
    return {
        name: others
        for name, field in fields.items()
        if field.json_schema_extra["group"] == "Method" and name != "answer_type" and (others := _others(field))
    }


def _others(field: Any) -> list[Any]:
    kind = field.annotation
    if kind is bool:
        return [not field.default]
    if get_origin(kind) is Literal:
        return [value for value in get_args(kind) if value != field.default]
    if kind is float and (shares := [limit.le for limit in field.metadata if isinstance(limit, Le)]) == [1.0]:
        return shares
    least = [limit.ge for limit in field.metadata if isinstance(limit, Ge)]
    if not least and float in get_args(kind):
        return [9.0]  # a relevance threshold that nothing reaches
    return least if kind is int or get_origin(kind) is UnionType else []
