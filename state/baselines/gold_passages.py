"""State and settings of the reader with gold passages."""

from typing import Any, ClassVar, NotRequired

from pydantic import Field
from typing_extensions import TypedDict, override

from hopgraph.state.context import Context, Resource, settings_group
from hopgraph.state.schemas import MethodState, QuestionInput
from hopgraph.state.shared_presets import FAMILIES


class GivenPassage(TypedDict):
    """A passage that comes from the caller."""

    title: NotRequired[str]
    """May be empty."""
    text: str
    id: NotRequired[str]
    """Unique among those given; without one it is `given:N`, N from 1."""


class GoldInput(QuestionInput):
    """What the caller of `gold_passages` gives."""

    gold_passages: NotRequired[list[GivenPassage]]
    """What the question is answered from, in this order; without it the setting of this name counts."""


class GoldState(MethodState, GoldInput):
    """The shared keys and the given passages."""


class GoldPassagesContext(Context):
    """The settings of the reader with gold passages."""

    method: ClassVar[str] = "gold_passages"
    steps: ClassVar[tuple[str, ...]] = ("answer",)
    presets: ClassVar[dict[str, dict[str, Any]]] = FAMILIES

    gold_passages: list[GivenPassage] = Field(
        default_factory=list[GivenPassage],
        description='passages to answer from where the input has none, as [{"title": "…", "text": "…"}]',
        json_schema_extra=settings_group("Method"),
    )

    @property
    @override
    def uses(self) -> frozenset[Resource]:
        """Nothing: the passages come from the caller."""
        return frozenset()
