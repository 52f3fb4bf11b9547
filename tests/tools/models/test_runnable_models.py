"""Runnables that reply as chat models are models, and those that return documents are retrievers."""

import asyncio
from typing import Any

import pytest
from langchain.chat_models import init_chat_model
from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import RunnableLambda
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from hopgraph.graphs.baselines import direct, one_step
from hopgraph.state import ModelError, QuestionInput, SettingsError, SpecError
from hopgraph.tools.models.offline import RuleBasedModel
from hopgraph.tools.resources import get_retriever
from support.servers.openai_server import OpenAIServer

QUESTION: QuestionInput = {"question": "Who painted Guernica?"}


def chat(server: OpenAIServer, name: str = "one", **options: Any) -> ChatOpenAI:
    return ChatOpenAI(model=name, base_url=server.base_url, api_key=SecretStr("sk-one"), max_retries=0, **options)


def asked(server: OpenAIServer) -> list[Any]:
    bodies: list[Any] = [request.body for request in server.requests]
    return [body["model"] for body in bodies]


@pytest.mark.parametrize(
    ("made", "sent"),
    [
        (lambda model: model.bind(top_p=0.5), {"top_p": 0.5}),
        (lambda model: model.with_config(tags=["mine"]), {}),
        (lambda model: model.with_retry(stop_after_attempt=2), {}),
        (lambda model: model.bind(top_p=0.5).with_retry().with_config(run_name="mine"), {"top_p": 0.5}),
    ],
)
@pytest.mark.parametrize("setting", ["model", "models"])
def test_a_wrapped_model_is_asked_as_it_is_alone(made: Any, sent: dict[str, Any], setting: str) -> None:
    with OpenAIServer(RuleBasedModel()) as server:
        model = made(chat(server))
        settings = {"model": model} if setting == "model" else {"models": {"one_step": model}}
        for _ in range(2):  # each on a loop of its own
            out = asyncio.run(one_step.graph.ainvoke(QUESTION, context={**settings, "retriever": "sample"}))
            assert out["usage"]["llm_calls"] == 1
        for request in server.requests:
            body: Any = request.body
            assert body["response_format"]["type"] == "json_schema"
            assert sent.items() <= body.items()


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_fallback_replies_where_the_first_model_is_down(wrapped: bool) -> None:
    with OpenAIServer(RuleBasedModel()) as server, OpenAIServer(RuleBasedModel(), models=["other"]) as down:
        second = chat(server, "two").bind(top_p=0.5) if wrapped else chat(server, "two")
        model = chat(down).with_fallbacks([second])
        out = one_step.graph.invoke(QUESTION, context={"model": model, "retriever": "sample"})
    assert out["answer"]
    assert (asked(down), asked(server)) == (["one"], ["two"])


def test_a_configurable_model_is_the_one_that_the_run_names() -> None:
    with OpenAIServer(RuleBasedModel()) as server:
        options = {"base_url": server.base_url, "api_key": "sk-one", "model_provider": "openai"}
        model: Any = init_chat_model("one", configurable_fields=["model"], **options)
        for name in ("one", "two"):
            config: Any = {"configurable": {"model": name}}
            assert one_step.graph.invoke(QUESTION, config, context={"model": model, "retriever": "sample"})["answer"]
        assert asked(server) == ["one", "two"]
        assert all("tools" in str(request.body) for request in server.requests)


def test_any_chain_of_a_text_or_a_message_may_be_a_model() -> None:
    model: Any = RunnableLambda(RuleBasedModel().invoke)
    for chain in (model, model | StrOutputParser()):
        assert one_step.graph.invoke(QUESTION, context={"model": chain, "retriever": "sample"})["answer"]
    with pytest.raises(ModelError, match="replied with int"):
        direct.graph.invoke(QUESTION, context={"model": RunnableLambda(lambda _: 3)})


async def test_wrapped_retrievers_find_the_same() -> None:
    plain: Any = await get_retriever("sample")
    failing: Any = RunnableLambda(lambda _: 1 / 0)
    expected = await one_step.graph.ainvoke(QUESTION, context={"retriever": plain, "top_k": 7})
    for retriever in (
        plain.with_retry(),
        plain.with_config(tags=["mine"]),
        plain.with_fallbacks([plain]),
        failing.with_fallbacks([RunnableLambda(lambda query: plain.invoke(query, k=7))]),
    ):
        found = await one_step.graph.ainvoke(QUESTION, context={"retriever": retriever, "top_k": 7})
        assert [each["id"] for each in found["passages"]] == [each["id"] for each in expected["passages"]]
    bound = plain.bind(k=1)
    found = await one_step.graph.ainvoke(QUESTION, context={"retriever": bound, "second_retriever": None})
    assert found["answer"]


def test_a_retriever_is_no_model_and_a_model_no_retriever() -> None:
    retriever: Any = asyncio.run(get_retriever("sample"))
    with pytest.raises(SpecError, match="Bm25Retriever"):
        direct.graph.invoke(QUESTION, context={"model": retriever})
    with pytest.raises(SpecError, match="RuleBasedModel"):
        one_step.graph.invoke(QUESTION, context={"retriever": RuleBasedModel()})


def test_the_form_of_the_settings_stays_a_text() -> None:
    properties = one_step.Context.model_json_schema()["properties"]
    for name in ("model", "retriever"):
        assert properties[name]["anyOf"] == [{"type": "string"}, {"type": "null"}]


@pytest.mark.parametrize("wrap", [lambda model: model, lambda model: model.with_retry()])
def test_a_run_is_resumed_with_an_equal_object_alone(wrap: Any) -> None:
    with OpenAIServer(RuleBasedModel()) as server:

        def settings(**options: Any) -> Any:
            key = SecretStr(options.pop("key", "sk-one"))
            given: dict[str, Any] = {"model": "one", **options}
            model = ChatOpenAI(base_url=server.base_url, api_key=key, **given)
            return {"model": wrap(model), "retriever": "sample"}

        graph = one_step.build().compile(checkpointer=InMemorySaver())
        config: Any = {"configurable": {"thread_id": "1"}}
        graph.invoke(QUESTION, config, context=settings(), interrupt_after=["prepare"])
        for other in ({"model": "two"}, {"temperature": 0.7}, {"model_kwargs": {"user": "ann"}}):
            with pytest.raises(SettingsError, match=r"started with model = .*(ChatOpenAI|RunnableRetry)"):
                graph.invoke(None, config, context=settings(**other))
        assert graph.invoke(None, config, context=settings(key="sk-new"))["answer"]
        recorded = str(graph.get_state(config).values["settings"]["model"])
        assert "sk-one" not in recorded


def test_documents_of_a_chain_are_passages() -> None:
    chain = RunnableLambda(lambda query: [Document(page_content="Pablo Picasso painted Guernica.", id="1")])
    out = one_step.graph.invoke(QUESTION, context={"retriever": chain})
    assert [each["text"] for each in out["passages"]] == ["Pablo Picasso painted Guernica."]
