"""The chat graph as one of several agents: behind a hand-off, the user's newest message is the question."""

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command
from langgraph_supervisor import create_supervisor
from langgraph_supervisor.handoff import create_forward_message_tool
from langgraph_swarm import create_handoff_tool, create_swarm
from typing_extensions import TypedDict

from hopgraph.graphs import chat
from hopgraph.tools.models.offline import RuleBasedModel
from support.paths import ROOT
from support.servers.openai_server import OpenAIServer
from support.servers.scripted_agent import ScriptedAgentModel
from support.servers.scripted_model import ScriptedChatModel

# langgraph-supervisor's own use of LangGraph.
pytestmark = pytest.mark.filterwarnings("ignore:create_react_agent has been moved")

QUESTION = "In which city was the director of the film Pan's Labyrinth born?"
ANSWER = "Guadalajara [1]"
THREAD: Any = {"configurable": {"thread_id": "1"}}

WITHOUT_DEEPAGENTS = "deepagents 0.7 asks for an older tenacity than constraints.txt names"
PAGE = (ROOT / "docs" / "multi_agent.md").read_text(encoding="utf-8")
PAGE_PYTHON = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)

LIBRARIAN = chat.build().compile(name="librarian")


def calling(tool: str, said: str = "", **arguments: Any) -> AIMessage:
    return AIMessage(said, tool_calls=[{"name": tool, "args": arguments, "id": "call-1"}])


def answers(messages: list[AnyMessage]) -> list[AnyMessage]:
    return [each for each in messages if each.text.startswith(ANSWER)]


@pytest.mark.parametrize("mode", ["last_message", "full_history"])
async def test_a_supervisor_hands_over_and_gets_the_answer(mode: Any) -> None:
    model = ScriptedAgentModel(replies=[calling("transfer_to_librarian"), AIMessage("He was born in Guadalajara.")])
    supervisor = create_supervisor([LIBRARIAN], model=model, output_mode=mode).compile()
    ended: Any = await supervisor.ainvoke({"messages": [("user", QUESTION)]})
    [answer] = answers(ended["messages"])
    assert answer.additional_kwargs["citations"]
    assert answer.additional_kwargs["question"] == QUESTION
    assert ended["messages"][-1].text == "He was born in Guadalajara."


def test_a_supervisor_in_sync_code_asks_twice() -> None:
    """In the second turn, the thread holds a hand-off and a hand-back; the message is made to stand alone."""
    replies = [reply for _ in range(2) for reply in (calling("transfer_to_librarian"), AIMessage("See above."))]
    model = ScriptedAgentModel(replies=replies)
    supervisor = create_supervisor([LIBRARIAN], model=model).compile(checkpointer=InMemorySaver())
    for question in (QUESTION, "Who painted Guernica?"):
        ended: Any = supervisor.invoke({"messages": [("user", question)]}, THREAD)
    looked_up = [each.additional_kwargs["question"] for each in ended["messages"] if each.additional_kwargs]
    assert looked_up == [QUESTION, "Who painted Guernica?"]


def test_a_supervisor_forwards_the_reply_as_it_is() -> None:
    forward = calling("forward_message", from_agent="librarian")
    model = ScriptedAgentModel(replies=[calling("transfer_to_librarian"), forward])
    supervisor = create_supervisor([LIBRARIAN], model=model, tools=[create_forward_message_tool()]).compile()
    ended: Any = supervisor.invoke({"messages": [("user", QUESTION)]})
    [answer, forwarded] = answers(ended["messages"])
    assert (answer.name, answer.text) == ("librarian", forwarded.text)


async def test_in_a_swarm_it_is_an_agent_that_others_hand_over_to() -> None:
    hand_over = create_handoff_tool(agent_name="librarian")
    model = ScriptedAgentModel(replies=[calling("transfer_to_librarian")])
    greeter: Any = create_agent(model, [hand_over], name="greeter")
    swarm = create_swarm([greeter, LIBRARIAN], default_active_agent="greeter").compile(checkpointer=InMemorySaver())
    ended: Any = await swarm.ainvoke({"messages": [("user", QUESTION)]}, THREAD)
    assert ended["messages"][-1].text.startswith(ANSWER)
    again: Any = await swarm.ainvoke({"messages": [("user", "Who painted Guernica?")]}, THREAD)
    assert again["messages"][-1].text.startswith("Pablo Picasso [1]")


class Thread(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


@pytest.mark.parametrize(
    "said",
    [
        [],
        [AIMessage("The librarian will look.")],
        [calling("search"), ToolMessage("Nothing was found.", name="search", tool_call_id="call-1")],
    ],
)
async def test_a_command_of_a_host_graph_leads_to_it(said: list[BaseMessage]) -> None:
    def triage(state: Thread) -> Command[Literal["librarian"]]:
        return Command(goto="librarian", update={"messages": said})

    host = StateGraph(Thread).add_node(triage).add_node("librarian", LIBRARIAN).add_edge(START, "triage").compile()
    ended: Any = await host.ainvoke({"messages": [HumanMessage(QUESTION)]})
    assert ended["messages"][-1].text.startswith(ANSWER)


async def test_what_was_said_since_is_context_for_the_question() -> None:
    prompts: list[str] = []

    def reply(role: str, messages: list[BaseMessage]) -> str:
        if role == "chat/condense_question":
            prompts.append(messages[-1].text)
            return '{"question": "Where was Guillermo del Toro born?"}'
        return '{"kind": "small_talk", "reply": "So."}'

    found = ToolMessage("The director is Guillermo del Toro.", name="search", tool_call_id="call-1")
    posted: Any = {"messages": [HumanMessage("Where was he born?"), calling("search"), found]}
    context = chat.Context(model=ScriptedChatModel(replies=reply), history_turns=0)
    stream = chat.graph.astream(posted, context=context, stream_mode="custom")
    [told] = [step["data"] async for step in stream if step["event"] == "question_condensed"]
    assert told["question"] == "Where was Guillermo del Toro born?"
    assert "Tool: The director is Guillermo del Toro." in prompts[0]


@pytest.fixture(scope="module")
def openai() -> Iterator[OpenAIServer]:
    """What stands in for OpenAI: the offline model for hopgraph's roles, and a script for the other agents."""
    offline = RuleBasedModel()

    def reply(role: str, messages: list[BaseMessage]) -> str | AIMessage:
        if role:
            return offline.invoke(messages).text
        if isinstance(messages[-1], HumanMessage):
            return calling("transfer_to_librarian")
        if "not a valid tool" in messages[-1].text:  # deepagents has one of its own
            return calling("task", description=QUESTION, subagent_type="librarian")
        return AIMessage(f"It says: {next((each.text for each in reversed(messages) if ANSWER in each.text), None)}")

    with OpenAIServer(ScriptedChatModel(replies=reply), api_key="sk-page", models=("gpt-4.1-mini",)) as running:
        yield running


@pytest.mark.parametrize("snippet", PAGE_PYTHON, ids=range(1, len(PAGE_PYTHON) + 1))
def test_the_pages_python_runs(
    snippet: str, openai: OpenAIServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if "deepagents" in snippet:
        pytest.importorskip("deepagents", reason=WITHOUT_DEEPAGENTS)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-page")
    monkeypatch.setenv("OPENAI_BASE_URL", openai.base_url)
    exec(compile(snippet, "docs/multi_agent.md", "exec"), {"__name__": "page"})  # noqa: S102 - it is our own
    printed = capsys.readouterr().out
    assert "Guadalajara" in printed
    if "additional_kwargs" in snippet:
        assert "Pan's Labyrinth" in printed.splitlines()[-1]


async def test_a_subagent_of_deepagents() -> None:
    deepagents = pytest.importorskip("deepagents", reason=WITHOUT_DEEPAGENTS)
    model = ScriptedAgentModel(
        replies=[calling("task", description=QUESTION, subagent_type="librarian"), AIMessage("In Guadalajara.")]
    )
    librarian = {"name": "librarian", "description": "Answers from the documents.", "runnable": LIBRARIAN}
    agent: Any = deepagents.create_deep_agent(model=model, subagents=[librarian])
    ended = await agent.ainvoke({"messages": [("user", "Where was that director born?")]})
    [told] = [each for each in ended["messages"] if isinstance(each, ToolMessage)]
    assert told.text.startswith(ANSWER)
