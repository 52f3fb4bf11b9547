"""A plain `RetryPolicy()` of LangGraph retries an outage, around a whole method and around a node, and nothing else."""

import pickle
from typing import Any

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy

from hopgraph.graphs.baselines import direct
from hopgraph.nodes.core.answer_graph import AnswerGraph
from hopgraph.nodes.reading import make_answer_node
from hopgraph.state import AnswerOutput, CorpusError, HopgraphError, MethodState, ModelError, QuestionInput
from hopgraph.state.errors import ModelOutageError
from hopgraph.state.errors import server_error as error_of_server
from support.servers.faults import dropped, server_error
from support.servers.openai_server import OpenAIServer
from support.servers.scripted_model import ScriptedChatModel

RETRY = RetryPolicy(initial_interval=0.01, jitter=False)
QUESTION: Any = {"question": "Who painted Guernica?"}
REPLY = '{"passages": [], "answer": "Pablo Picasso"}'


def host() -> Any:
    """Compile a graph of others around a method."""
    builder: Any = StateGraph(QuestionInput, output_schema=AnswerOutput)
    return (
        builder.add_node("ask", direct.graph, retry_policy=RETRY).add_edge(START, "ask").add_edge("ask", END).compile()
    )


def method() -> Any:
    """Compile a method whose node is retried."""
    builder = AnswerGraph(MethodState, direct.Context)
    builder.add_node("answer", make_answer_node(own_knowledge=True), retry_policy=RETRY)
    return builder.chain("prepare", "answer").finish_after("answer").compile()


@pytest.mark.parametrize("make", [host, method])
@pytest.mark.parametrize("fault", [dropped("answer"), server_error(503)], ids=["lost", "overloaded"])
async def test_an_outage_is_retried(make: Any, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("HOPGRAPH_REQUEST_RETRIES", "0")
    with OpenAIServer(ScriptedChatModel(replies=lambda *_: REPLY)) as running:
        monkeypatch.setenv("HOPGRAPH_MODEL", f"openai:m?base_url={running.base_url}")
        running.fail_next(fault)
        assert (await make().ainvoke(QUESTION))["answer"] == "Pablo Picasso"
        assert len(running.requests) == 2
        running.fail_next(fault, fault, fault)
        with pytest.raises(ModelError) as failed:
            await make().ainvoke(QUESTION)
        assert failed.value.trouble == "outage"


@pytest.mark.parametrize("make", [host, method])
async def test_a_refusal_is_not_retried(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
    with OpenAIServer(ScriptedChatModel(replies=lambda *_: REPLY), api_key="sk-test") as running:
        monkeypatch.setenv("HOPGRAPH_MODEL", f"openai:m?base_url={running.base_url}")
        with pytest.raises(ModelError):
            await make().ainvoke(QUESTION)
        assert len(running.requests) == 1


@pytest.mark.parametrize("kind", [ModelError, CorpusError])
def test_an_outage_is_of_the_kind_and_a_connection_error(kind: type[HopgraphError]) -> None:
    lost = error_of_server(kind, "it is down", "outage")
    assert isinstance(lost, kind)
    assert isinstance(lost, ConnectionError)
    assert not isinstance(error_of_server(kind, "no", "refusal"), ConnectionError)
    restored: Any = pickle.loads(pickle.dumps(lost))  # noqa: S301 - our own
    assert (type(restored), str(restored), restored.trouble) == (type(lost), "it is down", "outage")
    assert ModelOutageError.__mro__.index(ModelError) < ModelOutageError.__mro__.index(ConnectionError)
