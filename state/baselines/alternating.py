"""State and settings of the baselines that retrieve and think by turns: ITER-RETGEN and IRCoT."""

from typing import Any, ClassVar

from pydantic import Field

from hopgraph.state.context import Context, settings_group
from hopgraph.state.schemas import MethodState
from hopgraph.state.shared_presets import FAMILIES


class IterRetgenState(MethodState):
    """The shared keys and what ITER-RETGEN generates."""

    generated: str
    """What the last turn said, which goes into the next query; empty when it said nothing."""


class IterRetgenContext(Context):
    """The settings of ITER-RETGEN."""

    method: ClassVar[str] = "iter_retgen"
    steps: ClassVar[tuple[str, ...]] = ("answer_step_by_step",)
    presets: ClassVar[dict[str, dict[str, Any]]] = FAMILIES

    iterations: int = Field(
        default=2,
        ge=1,
        le=20,
        description="T: turns of retrieval and generation; the last one gives the answer",
        json_schema_extra=settings_group("Method"),
    )


class IrcotState(MethodState):
    """The shared keys and the chain of thought."""

    thoughts: list[str]
    """The sentences so far, in their order."""


class IrcotContext(Context):
    """The settings of IRCoT."""

    method: ClassVar[str] = "ircot"
    steps: ClassVar[tuple[str, ...]] = ("next_thought", "answer_step_by_step")
    presets: ClassVar[dict[str, dict[str, Any]]] = FAMILIES

    max_thoughts: int = Field(
        default=8,
        ge=1,
        le=50,
        description="sentences of the chain of thought at most; Tree of Reviews compares with 3",
        json_schema_extra=settings_group("Method"),
    )
    max_passages: int = Field(
        default=15,
        ge=1,
        le=200,
        description="passages collected at most, over all retrievals",
        json_schema_extra=settings_group("Retrieval"),
    )
