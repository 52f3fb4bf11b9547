"""State and settings of the chat graph."""

from typing import Annotated, Any, ClassVar, Literal, cast

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from pydantic import Field, GetJsonSchemaHandler, JsonValue, field_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema
from typing_extensions import TypedDict, override

from hopgraph.state.context import (
    FULL_STEP,
    SENTENCE_STEP,
    AnswerType,
    Context,
    ContextT,
    Presets,
    StepNodes,
    explicit_settings,
    make_settings,
    method_setting,
    setting,
)
from hopgraph.state.environment import with_environment
from hopgraph.state.errors import SettingsError
from hopgraph.state.records import Citation, Passage, StopReason, Usage
from hopgraph.state.schemas import BudgetState

AUTO = "auto"
"""The name of the chat itself, which chooses a method for each question."""

METHOD_ALIASES = {"tor": "tree_of_reviews", "cor": "chain_of_reviews", "ve": "verify_and_edit"}

TurnKind = Literal["small_talk", "single_hop", "bridge", "comparison", "question", "refused"]
"""The kind of a message. `bridge`: one fact is needed to look up the next. `question`: unclassified, since the
method is fixed. `refused`: the message is empty or too long."""


class ChatInput(TypedDict):
    """Input and output of the chat: LangChain messages."""

    messages: Annotated[list[AnyMessage], add_messages]
    """The thread. The user's last message is the question; its content is a string or a list of blocks. Later messages
    of agents and tools are context."""


class ChosenMethod(BudgetState):
    """A turn's question, and the method chosen to answer it."""

    question: str
    """The user's message as a standalone question; empty for a refused message."""
    chosen: str | None
    """The method that answers it; None until one is chosen, and for small talk."""


class TurnResult(TypedDict):
    """The chosen method's result in the last turn; empty after small talk."""

    answer: str
    markdown: bool
    explanation: str
    citations: list[Citation]
    passages: list[Passage]
    """Ranked and deduplicated by text; cleared when the next turn begins."""
    stop_reason: StopReason | None
    usage: Usage
    """The method's totals; at the end of the turn, they include the chat's own calls."""


class LookUpState(ChosenMethod, TurnResult):
    """The question and what its method found."""


class ChatState(ChatInput, LookUpState):
    """The thread, and the last turn."""

    kind: TurnKind | None
    said: str
    """A reply without retrieval: small talk, or the reason why a message was refused."""
    settings: dict[str, JsonValue]
    """The settings that the turn started with; resuming it with different ones is refused."""


class ChatContext(Context):
    """The settings of the chat graph; shared settings are passed on to the answering method."""

    method = "chat"
    steps = ("condense_question", "route")
    step_nodes: ClassVar[StepNodes] = {SENTENCE_STEP: ("look_up",), FULL_STEP: ("look_up",)}
    presets: ClassVar[Presets] = {}
    choices: ClassVar[tuple[str, ...]] = ()
    """Choices for `use_method` in a form; set by the chat graph, which knows the methods."""

    use_method: str = setting(
        "Chat",
        AUTO,
        "method that answers questions, as named by `hopgraph methods`; auto: one_step for a question that "
        "one passage can answer, cascade for others if the budget allows",
    )
    history_turns: int = setting(
        "Chat",
        5,
        "previous turns used to rewrite a follow-up as a standalone question; the thread keeps all turns",
        ge=0,
        le=50,
    )
    answer_type: AnswerType = method_setting("auto", Context.model_fields["answer_type"].description or "")
    methods: dict[str, dict[str, JsonValue]] = Field(
        default_factory=dict[str, dict[str, JsonValue]],
        description='settings of individual methods: method → {setting: value}, e.g. {"migres": {"max_iterations": 3}}',
        json_schema_extra={"group": "Chat"},
    )

    @classmethod
    @override
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Add the choices of `use_method`."""
        schema = handler.resolve_ref_schema(handler(core_schema))
        schema["properties"]["use_method"]["enum"] = list(cls.choices or [AUTO])
        return schema

    @field_validator("use_method", mode="before")
    @classmethod
    def _full_name(cls, given: object) -> object:
        return METHOD_ALIASES.get(given, given) if isinstance(given, str) else given

    @field_validator("methods")
    @classmethod
    def _full_names(cls, given: dict[str, dict[str, JsonValue]]) -> dict[str, dict[str, JsonValue]]:
        named: dict[str, dict[str, JsonValue]] = {}
        for name, settings in given.items():
            named.setdefault(METHOD_ALIASES.get(name, name), {}).update(settings)
        return named


def settings_for_method(chat: ChatContext, cls: type[ContextT]) -> ContextT:
    """Derive a method's settings from the chat's.

    Entries in `methods` take precedence over the chat's general settings, and those over the environment. A
    SettingsError names an entry of `methods` that the method does not have, or whose value is out of range.
    """
    shared = {name: value for name, value in explicit_settings(chat).items() if name in cls.model_fields}
    if cls.model_fields["answer_type"].default == "short":
        shared.setdefault("answer_type", chat.answer_type)
    own = cast("dict[str, Any]", chat.methods.get(cls.method, {}))
    try:
        return with_environment(make_settings(cls, {**shared, **own}))
    except SettingsError as error:
        raise SettingsError(f"methods: {cls.method}: {error}") if own else error from None
