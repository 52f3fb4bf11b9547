"""State and settings of the graphs that make training data: what a role's student is shown, and what it replies."""

from typing import ClassVar, Literal

from pydantic import JsonValue
from typing_extensions import TypedDict

from hopgraph.state.context import Context, method_setting, setting
from hopgraph.state.genground import GengroundContext
from hopgraph.state.hops import HopsState
from hopgraph.state.ra_isf import RaIsfContext
from hopgraph.state.records import Passage


class SourceQuestion(TypedDict):
    """What a data set says of a question; a list is empty where it says nothing."""

    id: str
    answers: list[str]
    """The gold answer, then its aliases."""
    gold: list[str]
    """Ids of the passages that the answer needs."""
    contexts: list[Passage]
    """All passages that come with the question."""
    sub_questions: list[str]
    """The annotated decomposition, with `#1` for the first one's answer."""


class Example(TypedDict):
    """A prompt of the student's role, and the reply to it; or what became no example, and why."""

    id: str
    """Of the question; after a colon the passage, or `negative`."""
    reason: str
    """Why it is dropped; empty for an example."""
    label: str
    """The class; empty where the role is no classifier."""
    variables: dict[str, JsonValue]
    reply: dict[str, JsonValue]
    """With the keys of the role's reply class, in their order; empty where there was none."""
    prompt: list[dict[str, str]]
    """Chat messages with `role` and `content`, as the role's model is sent them in use; `record` writes it."""


class DistillationState(HopsState):
    """The keys of a method, what is given besides the question, and what comes of it."""

    source: SourceQuestion
    distilled: list[Example]
    """Also those that are dropped."""


class DistillationContext(Context):
    """The settings of every graph that makes training data."""

    role: ClassVar[str] = ""
    """The student's, as `ra_isf/judge_relevance`."""
    asks_base: ClassVar[bool] = False
    """Whether a model answers from memory, besides the teacher."""
    teachers: ClassVar[tuple[str, ...]] = ("gold", "model")

    teacher: Literal["gold", "model"] = method_setting("model", "who gives the replies; gold: the data set")


class RelevanceDataContext(DistillationContext, RaIsfContext):
    """The settings of the data for RA-ISF's relevance module."""

    role = "ra_isf/judge_relevance"
    steps = ("judge_relevance",)

    own_passages: Literal["gold", "all", "none"] = setting(
        "Retrieval", "gold", "which passages of the question are judged, too; none: the top k alone, as in the paper"
    )


class KnowledgeDataContext(DistillationContext, RaIsfContext):
    """The settings of the data for RA-ISF's self-knowledge module; few-shot, as in the paper."""

    role = "ra_isf/self_knowledge"
    steps = ("self_knowledge", "answer_step_by_step")
    resources = ()
    asks_base = True
    teachers = ("gold",)

    demonstrations: str | None = setting("Model", "multi_hop", "worked examples in the prompts: a family or a folder")


class DecompositionDataContext(DistillationContext, RaIsfContext):
    """The settings of the data for RA-ISF's decomposition module."""

    role = "ra_isf/decompose"
    steps = ("decompose",)
    resources = ()


class GroundingDataContext(DistillationContext, GengroundContext):
    """The settings of the data for GenGround's grounding; `batch_size` passages are shown, as in use."""

    role = "genground/ground"
    steps = ("ground", "answer", "ground_given_gold")
    asks_base = True
    teachers = ("model",)

    negatives: bool = method_setting(False, "add examples without a gold passage, to which the reply is Empty")
