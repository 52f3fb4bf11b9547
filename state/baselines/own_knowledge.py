"""Settings of the baselines that answer from own knowledge alone: Direct and CoT, and what CoT-SC and GenRead share."""

from typing import Any, ClassVar

from typing_extensions import override

from hopgraph.state.context import Context, Resource
from hopgraph.state.shared_presets import FAMILIES


class OwnKnowledgeContext(Context):
    """The settings of a method that retrieves nothing."""

    presets: ClassVar[dict[str, dict[str, Any]]] = FAMILIES

    @property
    @override
    def uses(self) -> frozenset[Resource]:
        """Nothing: the model answers from what it knows."""
        return frozenset()


class DirectContext(OwnKnowledgeContext):
    """The settings of Direct."""

    method: ClassVar[str] = "direct"
    steps: ClassVar[tuple[str, ...]] = ("answer",)


class CotContext(OwnKnowledgeContext):
    """The settings of CoT."""

    method: ClassVar[str] = "cot"
    steps: ClassVar[tuple[str, ...]] = ("answer_step_by_step",)
