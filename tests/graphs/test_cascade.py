"""The cascade: the next stage only where an answer is not accepted, with what the ones before have found."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

from hopgraph.graphs import METHODS, cascade
from hopgraph.state import Context, SettingsError
from hopgraph.state.events import StageEnded, parse_event
from hopgraph.tools.retrieval import resolve_retriever
from support.every_method import NAMES, baselines_slow
from support.honest import honest
from support.servers.scripted_model import ScriptedChatModel

QUESTION: Any = {"question": "In which city was the director of the film Pan's Labyrinth born?"}
THREAD: Any = {"configurable": {"thread_id": "one"}}
NO_ANSWER = '{"answer": "unanswerable", "used_passages": []}'


class Counted(BaseRetriever):
    """The sample, with every query that reaches it."""

    asked: list[tuple[str, int]] = []  # noqa: RUF012

    def _get_relevant_documents(self, query: str, *, run_manager: Any, k: int = 50) -> list[Document]:
        self.asked.append((query, k))
        return resolve_retriever("sample").invoke(query, k=k)


def run(**settings: Any) -> tuple[dict[str, Any], list[StageEnded]]:
    ended, state = list[StageEnded](), dict[str, Any]()
    modes: Any = ["custom", "values"]
    context = cascade.Context(links=False, **settings)
    for namespace, mode, chunk in cascade.graph.stream(QUESTION, context=context, stream_mode=modes, subgraphs=True):
        if mode == "custom" and isinstance(event := parse_event(chunk), StageEnded):
            ended.append(event)
        elif mode == "values" and not namespace:
            state = chunk
    return state, ended


def declines(*methods: str) -> Any:
    """Let some methods find no answer; the others reply as an honest model."""

    def reply(role: str, messages: Any) -> Any:
        return NO_ANSWER if role.partition("/")[0] in methods else honest(role, messages)

    return ScriptedChatModel(replies=reply)


def test_the_first_stage_that_answers_and_cites_is_the_last() -> None:
    state, ended = run(model=ScriptedChatModel(replies=honest), stages="one_step?top_k=10,react,migres")
    assert [(each.method, each.accepted) for each in ended] == [("one_step", True)]
    assert (state["answer"], state["usage"]["llm_calls"]) == ("Guadalajara", 1)
    assert {each["passage_id"] for each in state["citations"]} == {"pans-labyrinth", "guillermo-del-toro"}
    assert len(state["passages"]) == 10


def test_the_next_stage_repeats_no_search_and_all_is_counted() -> None:
    corpus = Counted(asked=[])
    state, ended = run(model=declines("one_step", "react"), retriever=corpus, stages=["one_step", "one_step", "migres"])
    assert [(each.method, each.accepted, each.why) for each in ended[:2]] == [
        ("one_step", False, "it found no answer")
    ] * 2
    assert (ended[2].method, ended[2].last, state["answer"]) == ("migres", True, "Guadalajara")
    again = [(query, k) for query, k in corpus.asked if corpus.asked.count((query, k)) > 1]
    assert not again, "only more passages are searched for again"
    assert state["usage"]["llm_calls"] == sum(call["attempts"] for call in state["calls"].values()) > 3
    assert {call["role"].partition("/")[0] for call in state["calls"].values() if call["kind"] == "model"} == {
        "one_step",
        "migres",
    }


def test_a_stage_begins_with_the_evidence_of_those_before() -> None:
    stages = ["migres?max_iterations=1", "migres"]
    seen = list[str]()

    def reply(role: str, messages: Any) -> Any:
        if role == "migres/decide":
            seen.append(str(messages[-1].content))
        if role == "migres/final_answer" and len(seen) < 3:
            return '{"answer": "unanswerable", "used": []}'
        return honest(role, messages)

    state, _ = run(model=ScriptedChatModel(replies=reply), stages=stages, verify="model")
    assert state["answer"] == "Guadalajara"
    assert "written and directed by Guillermo del Toro" in seen[1], "the first decision of the second stage knows it"
    assert len({each["id"] for each in state["evidence"]}) == len(state["evidence"])


@pytest.mark.parametrize(
    ("verify", "why"),
    [("model", "the model does not consider it supported"), ("entailment", "the passages do not entail")],
)
def test_another_may_have_to_agree(verify: str, why: str) -> None:
    class Never:
        name, threshold = "never", 0.5

        def score(self, pairs: Any) -> list[float]:
            return [0.0 for _ in pairs]

    def reply(role: str, messages: Any) -> Any:
        return '{"supported": false}' if role == "cascade/judge_support" else honest(role, messages)

    model = ScriptedChatModel(replies=reply)
    state, ended = run(model=model, verify=verify, entailment=Never(), stages=["one_step?top_k=10", "react"])
    assert [each.accepted for each in ended] == [False, True]
    assert ended[0].why.startswith(why)
    assert state["answer"] == "Guadalajara"


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_the_budget_is_one_over_all_stages(limit: int) -> None:
    state, ended = run(model=declines("one_step"), max_llm_calls=limit)
    assert state["usage"]["llm_calls"] <= limit
    assert state["stop_reason"] == ("budget" if limit == 1 else state["stop_reason"])
    assert ended[-1].last or ended[-1].accepted


def test_the_cascade_writes_the_sentence() -> None:
    state, _ = run(model=ScriptedChatModel(replies=honest), answer_type="sentence")
    assert "Guadalajara" in state["answer"]
    assert "[1]" in state["answer"]
    assert sum(call["role"].endswith("write_sentence") for call in state["calls"].values()) == 1


@pytest.mark.parametrize(
    ("stages", "said"),
    [
        (["nothing"], "stages: method 'nothing' cannot be a stage"),
        (["cascade"], "stages: method 'cascade' cannot be"),
        (["gold_passages"], "stages: method 'gold_passages' cannot be"),
        (["react", "one_step?k=3"], "stages: one_step[?]k=3: setting 'k' is unknown for one_step"),
        (["one_step?model=openai:x"], "stages: .*'model' applies to all stages"),
        (["one_step?cache_dir=/tmp/x"], "stages: .*'cache_dir' applies to all stages"),
        (["migres?max_llm_calls=50"], "stages: .*'max_llm_calls' applies to all stages"),
        (["migres?prompt_decide=x"], "stages: .*'prompt_decide' applies to all stages"),
        (["skr_knn?labels=/etc/passwd"], "stages: .*'labels' applies to all stages"),
        (["one_step?top_k=0"], "stages: one_step.*setting 'top_k'"),
        ([], "setting 'stages'"),
    ],
)
def test_stages_that_cannot_be_are_refused_before_anything_is_spent(stages: list[str], said: str) -> None:
    model = ScriptedChatModel(replies=honest)
    with pytest.raises(SettingsError, match=said):
        run(model=model, stages=stages)
    assert not model.calls


NO_STAGES = {"adaptive_rag", "cascade", "gold_passages", "self_rag", "skr_knn"}
"""Methods that are given passages, labels or a trained model, or run stages themselves."""


@pytest.mark.parametrize("name", baselines_slow(among=sorted({*NAMES} - NO_STAGES)))
def test_every_method_can_be_a_stage(name: str) -> None:
    state, ended = run(model=ScriptedChatModel(replies=honest), stages=[name, "one_step?top_k=10"])
    assert ended[0].method == name
    assert state["answer"]
    assert all(each["quote"] for each in state["citations"])
    assert isinstance(METHODS[name].Context(), Context)


def test_a_checkpointer_may_be_sync_only(tmp_path: Path) -> None:
    context = cascade.Context(model=declines("one_step"), links=False)
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.sqlite")) as saver:
        graph = cascade.build().compile(checkpointer=saver)
        assert graph.invoke(QUESTION, THREAD, context=context)["answer"] == "Guadalajara"


async def test_an_agent_can_be_reviewed_in_a_stage() -> None:
    graph = cascade.build().compile(checkpointer=InMemorySaver())
    model, stages = declines("one_step"), ["one_step", "agent"]
    context = cascade.Context(model=model, links=False, review_queries=True, stages=stages, deadline_seconds=60)
    given: Any = QUESTION
    result: Any = {}
    for _ in range(6):
        result = await graph.ainvoke(given, THREAD, context=context)
        given = Command(resume="approve")
        if "__interrupt__" not in result:
            break
    assert result["answer"] == "Guadalajara"


@pytest.mark.parametrize("asynchronous", [True, False])
async def test_reviews_pause_inside_a_stage(asynchronous: bool) -> None:
    graph = cascade.build().compile(checkpointer=InMemorySaver())
    context = cascade.Context(
        model=ScriptedChatModel(replies=honest),
        links=False,
        review_queries=True,
        stages=["one_step?top_k=10"],
    )

    async def go(given: Any) -> Any:
        if asynchronous:
            return await graph.ainvoke(given, THREAD, context=context)
        return await asyncio.to_thread(graph.invoke, given, THREAD, context=context)

    paused = await go(QUESTION)
    assert [each["text"] for each in paused["__interrupt__"][0].value["queries"]] == [QUESTION["question"]]
    assert (await go(Command(resume="approve")))["answer"] == "Guadalajara"
