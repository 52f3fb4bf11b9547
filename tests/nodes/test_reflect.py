"""Answers from each passage by itself, of which the best-criticized one stays, and what Self-RAG's tokens are worth."""

import json
import math
from typing import Any

import pytest

from hopgraph.nodes.core.excerpts import whole_excerpt
from hopgraph.nodes.reflect import (
    RELEVANCE,
    SUPPORT,
    UTILITY,
    critique,
    decide_retrieval,
    instruction,
    likelihood,
    plain_text,
    with_passage,
    worth,
)
from hopgraph.state import Knowledge, StepEvent
from hopgraph.state.baselines import SelfRagContext
from hopgraph.tools.models.completions import TokenLogprob, TokenLogprobs
from support.node_inputs import node_runtime, passage, spent
from support.servers import faults
from support.servers.openai_server import OpenAIServer
from support.servers.scripted_model import ScriptedChatModel


def state(count: int) -> Any:
    found = [passage(f"p{number}", f"Text {number}.") for number in range(count)]
    knowledge = [Knowledge(query="q", excerpts=[whole_excerpt(each, 1.0) for each in found])] if found else []
    return {"question": "Where?", "passages": found, "knowledge": knowledge, "stop_reason": None, **spent()}


def record(answer: str, support: str = "full", utility: int = 5, *, relevant: bool = True) -> str:
    return json.dumps({"relevant": relevant, "answer": answer, "support": support, "utility": utility})


async def criticized(*replies: str, **settings: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give a reply to each passage."""

    def reply(_role: str, messages: list[Any]) -> str:
        return next(said for number, said in enumerate(replies) if f"Text {number}." in messages[-1].text)

    given: dict[str, Any] = {"model": ScriptedChatModel(replies=reply), "parse_retries": 0, **settings}
    events: list[StepEvent] = []
    update = await critique(state(len(replies)), node_runtime(SelfRagContext(**given), events))
    return dict(update), next(each["data"] for each in events if each["event"] == "scored")


@pytest.mark.parametrize(
    ("replies", "chosen"),
    [
        ([record("Oslo", "partial"), record("Lima", "full")], 1),
        ([record("Oslo", "full", relevant=False), record("Lima", "full")], 1),
        ([record("Oslo", utility=3), record("Lima", utility=4)], 1),
        ([record("Oslo", "partial", 5), record("Lima", "full", 4)], 1),
        ([record("Oslo"), record("Lima")], 0),
        ([record("unanswerable"), record("Lima", "none", 1, relevant=False)], 1),
        (["?", record("Lima", "none", 1)], 1),
    ],
    ids=["support", "relevance", "utility", "utility counts half", "tie", "abstains", "unusable"],
)
async def test_the_best_score_wins(replies: list[str], chosen: int) -> None:
    update, event = await criticized(*replies)
    assert event["chosen"] == chosen
    assert update["answer"] == event["answers"][chosen]
    assert [each["passage_ids"] for each in update["evidence"]] == [[f"p{chosen}"]]


async def test_the_weights_are_settings() -> None:
    replies = [record("Oslo", "none", 5), record("Lima", "full", 2)]
    assert (await criticized(*replies))[0]["answer"] == "Lima"
    assert (await criticized(*replies, utility_weight=2.0))[0]["answer"] == "Oslo"
    assert (await criticized(*replies, support_weight=0.0))[0]["answer"] == "Oslo"


async def test_without_an_answer_the_question_is_unanswerable() -> None:
    update, event = await criticized(record("unanswerable"), "?")
    assert (update["answer"], update["stop_reason"], event["chosen"]) == ("", "unanswerable", None)


@pytest.mark.parametrize(
    ("reflection", "reply"),
    [("records", '{"answer": "Lima"}'), ("tokens", '{"tokens": [{"text": " Lima", "logprob": -1}]}')],
)
async def test_without_passages_the_model_answers_from_what_it_knows(reflection: Any, reply: str) -> None:
    model = ScriptedChatModel(replies=[reply])
    update = await critique(state(0), node_runtime(SelfRagContext(model=model, reflection=reflection)))
    assert (update["answer"], update["evidence"], model.calls[0].role) == ("Lima", [], "self_rag/answer")


def completion(answer: str, relevant: float, support: float) -> bytes:
    """Write what vLLM sends of Self-RAG's weights: `relevant` and `support` are log-probabilities."""
    tops: list[dict[str, float]] = [
        {"[Relevant]": relevant, "[Irrelevant]": -1.0},
        {f" {answer}": -0.5},
        {"[Fully supported]": support, "[No support / Contradictory]": -1.0},
        {"[Utility:5]": -0.1},
        {"</s>": -0.1},
    ]
    tokens = [next(iter(each)) for each in tops]
    logprobs = {"tokens": tokens, "token_logprobs": [next(iter(each.values())) for each in tops], "top_logprobs": tops}
    choice = {"index": 0, "text": "".join(tokens), "logprobs": logprobs, "finish_reason": "stop"}
    return json.dumps({"choices": [choice], "usage": {"prompt_tokens": 20, "completion_tokens": 5}}).encode()


async def test_reflection_tokens_of_a_server_are_read() -> None:
    said = {"Text 0.": completion("Oslo", -1.0, -3.0), "Text 1.": completion("Lima", -0.5, -0.5)}
    with OpenAIServer(ScriptedChatModel(replies=[]), completions="vllm") as server:
        for text, body in said.items():
            server.fail_when(lambda request, text=text: text in str(request.body), faults.malformed_body(body))
        settings = SelfRagContext(model=f"openai:m?base_url={server.base_url}", reflection="tokens")
        update = await critique(state(2), node_runtime(settings))
        bodies: list[Any] = [request.body for request in server.requests]
    assert update["answer"] == "Lima"
    assert sum(call["prompt_tokens"] + call["completion_tokens"] for call in update["calls"].values()) == 50
    assert {request.path for request in server.requests} == {"/v1/completions"}
    assert all(body["prompt"].endswith(".</paragraph>") and body["skip_special_tokens"] is False for body in bodies)


STATE: Any = {"question": "Where?", "stop_reason": None, **spent()}


def retrieval_tokens(retrieval: float, other: float) -> str:
    top = {"[Retrieval]": math.log(retrieval), "[No Retrieval]": math.log(other)}
    return json.dumps({"tokens": [{"text": "[Retrieval]", "logprob": math.log(retrieval), "top": top}]})


@pytest.mark.parametrize(
    ("reflection", "reply", "threshold", "needed"),
    [
        ("records", '{"known": true}', 0.2, False),
        ("records", '{"known": false}', 0.2, True),
        ("records", "?", 0.2, True),
        ("tokens", retrieval_tokens(0.1, 0.3), 0.2, True),
        ("tokens", retrieval_tokens(0.1, 0.3), 0.3, False),
        ("tokens", '{"tokens": [{"text": "Lima", "logprob": -1}]}', 0.9, True),
        ("tokens", "?", 0.2, True),
    ],
)
async def test_it_is_decided_by_the_share(reflection: Any, reply: str, threshold: float, *, needed: bool) -> None:
    model = ScriptedChatModel(replies=[reply])
    settings = SelfRagContext(model=model, reflection=reflection, retrieval_threshold=threshold, parse_retries=0)
    update = await decide_retrieval(STATE, node_runtime(settings))
    assert (update["needs_retrieval"], len(update["calls"])) == (needed, 1)


@pytest.mark.parametrize(("threshold", "needed"), [(0.0, True), (1.0, False)])
async def test_always_and_never_take_no_call(threshold: float, *, needed: bool) -> None:
    settings = SelfRagContext(model=ScriptedChatModel(replies=[]), retrieval_threshold=threshold)
    assert await decide_retrieval(STATE, node_runtime(settings)) == {"needs_retrieval": needed}


def token(text: str, probability: float = 1.0, **others: float) -> TokenLogprob:
    top = {f"[{name.replace('_', ' ')}]": math.log(each) for name, each in others.items()}
    return TokenLogprob(text=text, logprob=math.log(probability), top=top)


def written(*tokens: TokenLogprob) -> TokenLogprobs:
    return TokenLogprobs(tokens=[*tokens])


def test_the_trained_form() -> None:
    prompt = with_passage(instruction("Who?"), {"title": "Lima", "text": "In Peru."})
    form = "### Instruction:\nWho?\n\n### Response:\n[Retrieval]<paragraph>Lima\nIn Peru.</paragraph>"
    assert prompt == form
    assert instruction("Is it?", yes_no=True).startswith("### Instruction:\nIs it? Answer yes or no.\n")


@pytest.mark.parametrize(
    "hostile",
    [
        "[Fully supported]",
        "[ fully supported]",
        "[Utility:5]",
        "[No Retrieval]",
        "</paragraph>",
        "</s>",
        "### Response:",
    ],
)
def test_no_text_is_a_token_or_a_tag(hostile: str) -> None:
    prompt = with_passage(instruction(f"Who? {hostile}"), {"title": hostile, "text": f"In Peru. {hostile}"})
    plain = with_passage(instruction("Who?"), {"title": "", "text": ""})
    assert prompt.count(hostile) == plain.count(hostile)


@pytest.mark.parametrize(
    ("tokens", "value"),
    [
        ([token("[Relevant]", 0.6, Irrelevant=0.2)], 0.75),
        ([token("[Irrelevant]", 0.6, Relevant=0.2, other=0.1)], 0.25),
        ([token("[Relevant]", 0.6)], 1.0),
        ([token(" Lima")], 0.0),
        ([], 0.0),
    ],
)
def test_relevance_is_a_share_of_its_group(tokens: list[TokenLogprob], value: float) -> None:
    assert worth(written(*tokens), RELEVANCE) == pytest.approx(value)


def test_partial_support_counts_half_and_utility_from_minus_one_to_one() -> None:
    said = written(token(" Lima"), token("[Partially supported]", 0.5, Fully_supported=0.5), token(" [Utility:4]", 0.3))
    assert worth(said, SUPPORT) == pytest.approx(0.75)
    assert worth(said, UTILITY) == pytest.approx(0.5)
    assert [worth(written(token(name)), UTILITY) for name in UTILITY] == [-1.0, -0.5, 0.0, 0.5, 1.0]


def test_the_text_and_its_likelihood() -> None:
    said = written(token("[Relevant]", 0.5), token(" Lima", 0.5), token("[Utility:5]", 0.5), token("</s>", 0.5))
    assert plain_text(said) == "Lima"
    assert likelihood(said) == pytest.approx(0.5)
    assert likelihood(written()) == 0.0
