"""State and settings of the graphs that make training data: what a role's student is shown, and what it replies."""

from typing import ClassVar, Literal, NotRequired

from pydantic import JsonValue
from typing_extensions import TypedDict, override

from hopgraph.state.context import Context, Resource, setting
from hopgraph.state.ra_isf import RaIsfContext
from hopgraph.state.records import Passage
from hopgraph.state.schemas import MethodState, QuestionInput


class SourceQuestion(TypedDict):
    """What a data set says of a question."""

    id: str
    answers: list[str]
    """The gold answer, then its aliases; empty where it has none."""
    gold: list[str]
    """Ids of the passages that the answer needs."""
    contexts: list[Passage]
    """All passages that come with the question."""
    sub_questions: list[str]
    """The annotated decomposition, with `#1` for the first one's answer; empty where there is none."""


class Example(TypedDict):
    """A prompt of the student's role by its variables, and the reply to it."""

    id: str
    """Of the question; with a passage or a kind of example of its own after a colon."""
    label: NotRequired[str]
    """The class, where the role is a classifier."""
    variables: dict[str, JsonValue]
    reply: dict[str, JsonValue]
    """With the keys of the role's reply class, in their order."""


class DroppedExample(TypedDict):
    """What became no example, and why."""

    id: str
    reason: str
    reply: NotRequired[dict[str, JsonValue]]


class TrainingExample(Example):
    """An example as it is trained on."""

    prompt: list[dict[str, str]]
    """Chat messages with `role` and `content`: what the role's model is sent in use."""


class Distilled(TypedDict):
    """What came of a question."""

    examples: list[TrainingExample]
    dropped: list[DroppedExample]


class DistillationInput(QuestionInput):
    """What such a graph takes."""

    source: SourceQuestion


class DistillationState(MethodState):
    """The shared keys, and the examples."""

    source: SourceQuestion
    examples: list[Example]
    dropped: list[DroppedExample]
    distilled: Distilled
    """Written at the end."""


class DistillationContext(Context):
    """The settings of every graph that makes training data."""

    role: ClassVar[str] = ""
    """The student's, as `ra_isf/judge_relevance`; the first of the steps."""
    needs_gold_ids: ClassVar[bool] = False
    """Whether passages of the corpus are recognized as gold ones by their ids, whoever the teacher is."""

    teacher: Literal["gold", "model"] = setting(
        "Method", "model", "where replies come from: the data set's annotation, or a model"
    )

    @property
    @override
    def uses(self) -> frozenset[Resource]:
        """By class, whatever the method's switches say."""
        return frozenset(self.resources)


class RelevanceDataContext(DistillationContext, RaIsfContext):
    """The settings of the data for RA-ISF's relevance module."""

    role = "ra_isf/judge_relevance"
    steps = ("judge_relevance",)

    own_passages: Literal["gold", "all", "none"] = setting(
        "Retrieval",
        "gold",
        "which passages that come with the question are judged beside the retrieved ones; none, as in the paper: the "
        "top k alone",
    )
