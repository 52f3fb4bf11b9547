"""Reviews as LangChain's front ends show them and answer them, by the types of those projects."""

from typing import Any, Literal

import pytest
from langchain.agents.middleware.human_in_the_loop import HITLRequest, HITLResponse
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel, ConfigDict, TypeAdapter

from hopgraph.graphs import METHODS
from support.honest import input_for, model

THREAD: Any = {"configurable": {"thread_id": "1"}}
DECISIONS = TypeAdapter(HITLResponse)


class InboxAction(BaseModel):
    """`ActionRequest` of Agent Inbox."""

    model_config = ConfigDict(extra="forbid", strict=True)
    action: str
    args: dict[str, Any]


class InboxConfig(BaseModel):
    """`HumanInterruptConfig` of Agent Inbox."""

    model_config = ConfigDict(extra="forbid", strict=True)
    allow_ignore: bool
    allow_respond: bool
    allow_edit: bool
    allow_accept: bool


class InboxInterrupt(BaseModel):
    """`HumanInterrupt` of Agent Inbox, which shows no more of a payload."""

    action_request: InboxAction
    config: InboxConfig
    description: str


class InboxResponse(BaseModel):
    """`HumanResponse` of Agent Inbox."""

    type: Literal["accept", "ignore", "response", "edit"]
    args: str | InboxAction | None = None


class Paused:
    """A run of `one_step` that waits for a person."""

    def __init__(self, setting: str) -> None:
        method: Any = METHODS["one_step"]
        self.graph = method.build().compile(checkpointer=InMemorySaver())
        self.context = method.Context(model=model(), **{setting: True})
        self.result: Any = self.graph.invoke(input_for("one_step"), THREAD, context=self.context)

    @property
    def payload(self) -> dict[str, Any]:
        return self.result["__interrupt__"][0].value

    def resume(self, given: Any) -> None:
        self.result = self.graph.invoke(Command(resume=given), THREAD, context=self.context)

    def state(self) -> dict[str, Any]:
        return self.graph.get_state(THREAD).values


def decided(**decision: Any) -> Any:
    return DECISIONS.validate_python({"decisions": [decision]})


def responded(kind: Any, args: Any = None) -> Any:
    return [InboxResponse(type=kind, args=args).model_dump()]


@pytest.mark.parametrize(
    ("setting", "allowed"),
    [
        ("review_queries", ["approve", "edit", "reject", "respond"]),
        ("review_evidence", ["approve", "edit", "reject"]),
    ],
)
def test_a_pause_is_what_both_front_ends_show(setting: str, allowed: list[str]) -> None:
    paused = Paused(setting)
    asked: Any = TypeAdapter(HITLRequest).validate_python(paused.payload, strict=True)
    [action], [config] = asked["action_requests"], asked["review_configs"]
    assert (config["action_name"], config["allowed_decisions"]) == (action["name"], allowed)
    inbox = InboxInterrupt.model_validate(paused.payload)
    assert inbox.action_request.model_dump() == {"action": action["name"], "args": action["args"]}
    assert paused.payload["instructions"] in inbox.description
    assert all(isinstance(each, str) for each in action["args"].values())  # which front ends edit as they are
    schema = paused.result["__interrupt__"][0].response_schema
    assert schema["anyOf"][1]["properties"]["decisions"]["items"]["properties"]["type"]["enum"] == allowed


@pytest.mark.parametrize("given", [decided(type="approve"), responded("accept")])
@pytest.mark.parametrize("setting", ["review_queries", "review_evidence"])
def test_approved(setting: str, given: Any) -> None:
    paused = Paused(setting)
    paused.resume(given)
    assert paused.result["stop_reason"] == "answered"


@pytest.mark.parametrize("given", [decided(type="reject", message="No."), responded("ignore")])
def test_rejected(given: Any) -> None:
    paused = Paused("review_queries")
    paused.resume(given)
    assert paused.state()["candidates"][0]["passage_ids"] == []


EDITED = "Pan's Labyrinth director\n\n Guillermo del Toro "


@pytest.mark.parametrize(
    "given",
    [
        decided(type="edit", edited_action={"name": "send_queries", "args": {"queries": EDITED}}),
        decided(type="edit", edited_action={"name": "send_queries", "args": {"queries": EDITED.split("\n\n")}}),
        decided(type="respond", message=EDITED),
        responded("edit", {"action": "send_queries", "args": {"queries": EDITED}}),
        responded("response", EDITED),
    ],
)
def test_queries_in_place_of_those_shown(given: Any) -> None:
    paused = Paused("review_queries")
    paused.resume(given)
    assert paused.state()["asked"][1:] == ["Pan's Labyrinth director", "Guillermo del Toro"]


def test_evidence_whose_field_is_emptied_is_left_out() -> None:
    paused = Paused("review_evidence")
    [action] = paused.payload["action_requests"]
    first, *others = action["args"].items()
    edited = dict([first, *((key, " ") for key, _ in others)])
    paused.resume(decided(type="edit", edited_action={"name": action["name"], "args": edited}))
    kept = [each["passage_id"] for entry in paused.state()["knowledge"] for each in entry["excerpts"]]
    assert kept == [first[0]]


@pytest.mark.parametrize(
    ("setting", "given"),
    [
        ("review_evidence", decided(type="respond", message="Leave the second out.")),
        ("review_evidence", decided(type="edit", edited_action={"name": "use_evidence", "args": {}})),
        ("review_queries", decided(type="edit", edited_action={"name": "send_queries", "args": {"query": "x"}})),
        ("review_queries", {"decisions": [{"type": "approve"}, {"type": "approve"}]}),
        ("review_queries", {"decisions": [{"type": "dance"}]}),
        ("review_queries", {"decisions": [{"type": ["approve"]}]}),
        ("review_queries", {"decisions": []}),
        ("review_queries", {"decisions": [{"type": "edit", "edited_action": "x"}]}),
        ("review_queries", {"decisions": "approve"}),
    ],
)
def test_what_cannot_be_used_pauses_again_and_says_why_where_front_ends_show_it(setting: str, given: Any) -> None:
    paused = Paused(setting)
    paused.resume(given)
    assert paused.payload["problem"]
    assert paused.payload["problem"] in paused.payload["action_requests"][0]["description"]
    paused.resume(decided(type="approve"))
    assert paused.result["stop_reason"] == "answered"
