"""Settings of the baseline that breaks a question down beforehand: Least-to-most."""

from typing import ClassVar

from pydantic import Field
from typing_extensions import override

from hopgraph.state.context import Resource, settings_group
from hopgraph.state.decomposing import DecomposingContext


class LeastToMostContext(DecomposingContext):
    """The settings of Least-to-most; defaults as RA-ISF's Table 1 has it, without retrieval."""

    method: ClassVar[str] = "least_to_most"
    steps: ClassVar[tuple[str, ...]] = ("decompose", "answer")

    retrieval: bool = Field(
        default=False,
        description="look passages up for each sub-question and for the question",
        json_schema_extra=settings_group("Method"),
    )

    @property
    @override
    def uses(self) -> frozenset[Resource]:
        """A retriever, where passages are looked up."""
        return super().uses if self.retrieval else frozenset()
