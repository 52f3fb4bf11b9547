"""Long answers of a method and of the chat: from what was found, checked, streamed, and when they are written."""

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk, BaseMessage

from hopgraph.graphs import chat, migres
from hopgraph.graphs.baselines import one_step
from hopgraph.nodes.finish import asks_for_text, choose_sources
from hopgraph.state import Passage
from hopgraph.state.chat import ChatContext
from support.honest import honest
from support.long_answers import REQUESTS, always
from support.servers.openai_server import OpenAIServer
from support.servers.scripted_model import ScriptedChatModel
from support.walks import FixedRetriever

QUESTION = next(iter(REQUESTS))
TEXT = "Pablo Picasso painted Guernica [1].\n\n- It is large [2]\n- It is famous\n- It is blue [1]"


def answered(model: Any, question: str = QUESTION, graph: Any = one_step, **settings: Any) -> Any:
    given = {"answer_type": "full", "links": False, **settings}
    return graph.graph.invoke({"question": question}, context=graph.Context(model=model, **given))


def roles(model: ScriptedChatModel) -> list[str]:
    return [call.role for call in model.calls]


def test_it_is_written_from_what_was_found_and_cites_what_its_statements_name() -> None:
    model = always("It is large [3]. It is old [1, 3].")
    found = answered(model)
    assert (found["answer"], found["markdown"]) == ("It is large [1]. It is old [2][1].", True)
    shown = str(model.calls[-1].messages[-1].text)
    assert [shown.count(f'<passage id="{number}"') for number in (1, 5, 6)] == [1, 1, 0]
    places = [shown.index(each["title"]) for each in found["citations"]]
    assert places == sorted(places, reverse=True)  # the third passage that it was shown, then the first
    ids = [each["id"] for each in found["passages"]]
    assert [each["passage_id"] for each in found["citations"]] == ids[:2]
    assert roles(model) == ["one_step/answer", "one_step/write_full_answer"]
    assert found["usage"]["llm_calls"] == 2


def test_the_passages_of_a_methods_evidence_come_first() -> None:
    model = always("It is so [1].")
    found = answered(model, "Explain in which city the director of the film Pan's Labyrinth was born.", migres)
    cited = answered(
        model, "Explain in which city the director of the film Pan's Labyrinth was born.", migres, answer_type="short"
    )
    assert found["citations"][0]["passage_id"] == cited["citations"][0]["passage_id"]


def unknown(role: str, messages: list[BaseMessage]) -> str:
    return json.dumps({"answer": "unanswerable"}) if role.endswith("/answer") else always_so(role, messages)


def always_so(role: str, messages: list[BaseMessage]) -> str:
    return json.dumps({"answer": TEXT}) if role.endswith("write_full_answer") else honest(role, messages)


def test_a_short_answer_that_was_not_found_keeps_nothing_from_being_written() -> None:
    found = answered(ScriptedChatModel(replies=unknown))
    assert found["answer"].startswith("Pablo Picasso painted Guernica [1].")
    assert found["stop_reason"] == "answered"


@pytest.mark.parametrize("reply", ["unanswerable", "It is so.", "It is so [9].", ""])
def test_without_a_supported_statement_the_short_answer_stays(reply: str) -> None:
    found = answered(always(reply), "Who painted Guernica?")
    assert (found["answer"], found["markdown"]) == ("Pablo Picasso", False)
    assert [each["title"] for each in found["citations"]] == ["Guernica (painting)"]


def test_a_check_marks_what_the_cited_passages_do_not_entail() -> None:
    model = always("Pablo Picasso was born in Málaga [1]. The cat of Ada Brink is blue [1].")
    passages = {"p": ("Pablo Picasso", "Pablo Picasso was born in Málaga in Spain.")}
    events, last = list[Any](), None
    context = one_step.Context(
        model=model, answer_type="full", check_statements=True, retriever=FixedRetriever(found={"": passages})
    )
    modes: list[Any] = ["custom", "values"]
    given: Any = {"question": QUESTION}
    for mode, chunk in one_step.graph.stream(given, context=context, stream_mode=modes):
        events += [chunk] if mode == "custom" else []
        last = chunk
    [checked] = [each["data"]["statements"] for each in events if each["event"] == "verified"]
    assert [each["kept"] for each in checked] == [True, False]
    assert last
    assert last["answer"] == "Pablo Picasso was born in Málaga [1]. The cat of Ada Brink is blue [1]. [?]"


def test_the_chat_streams_line_by_line_what_its_message_says() -> None:
    found: list[AIMessageChunk] = []
    last: Any = None
    modes: list[Any] = ["messages", "values"]
    with OpenAIServer(always(TEXT)) as server:
        settings = ChatContext(model=f"openai:any?base_url={server.base_url}", use_method="one_step", links=False)
        given = {"messages": [("user", QUESTION)]}
        for _, mode, chunk in chat.graph.stream(given, context=settings, stream_mode=modes, subgraphs=True):
            if mode == "messages":
                found.append(chunk[0])
            else:
                last = chunk.get("messages", [last])[-1]
    assert len(found) > 3
    assert "".join(each.text for each in found) == last.text
    answer, _, rest = last.text.partition("\n\n[?] No passage")
    assert answer == TEXT.replace("famous", "famous [?]")
    assert "\n\n[1] " in rest
    assert "\n\n[2] " in rest
    assert last.additional_kwargs["markdown"]


@pytest.mark.parametrize(("question", "steps"), [(QUESTION, 2), ("Who painted Guernica?", 1)])
def test_the_chats_default_is_by_the_question(question: str, steps: int) -> None:
    model = always(TEXT)
    found = chat.graph.invoke(
        {"messages": [("user", question)]}, context=ChatContext(model=model, use_method="one_step")
    )
    assert len(model.calls) == steps
    assert found["messages"][-1].additional_kwargs["markdown"] == (steps == 2)


@pytest.mark.parametrize(
    "question", [*REQUESTS, "Résume la politique.", "¿Cómo pido vacaciones?", "Wie beantrage ich Urlaub?"]
)
def test_requests_for_a_text_are_told_from(question: str) -> None:
    assert asks_for_text(question)


@pytest.mark.parametrize(
    "question",
    [
        "Who wrote How to Eat?",
        "How many people live in Bergen?",
        "Which of the films has the older director?",
        "Is the list of Schindler a film?",
        "Did tribes teach Spaniards how to cultivate maize?",
        "Which term is used to describe the bone?",
    ],
)
def test_questions_for_a_fact(question: str) -> None:
    assert not asks_for_text(question)


def test_as_many_passages_are_shown_as_there_is_room_for() -> None:
    def passage(key: int, size: int) -> Passage:
        return Passage(id=str(key), title="", text="x" * size, score=1.0, source="s", hop=1)

    assert len(choose_sources([passage(key, 10) for key in range(30)])) == 20
    assert len(choose_sources([passage(1, 20_000), passage(2, 1)])) == 1
    assert [each["id"] for each in choose_sources([passage(1, 9_000), passage(2, 9_000), passage(3, 1)])] == ["1"]
