"""A language model as a reranker and as an entailment checker, behind a real HTTP server."""

import json
import re
from typing import Any

import pytest

from hopgraph.graphs import migres
from hopgraph.state import QuestionInput, SpecError
from hopgraph.tools.scoring.resolve import resolve_entailment, resolve_reranker
from support.servers.openai_server import OpenAIServer
from support.servers.scripted_model import ScriptedChatModel


def reply(role: str, messages: Any) -> str:
    """Rate a passage by its number of letters `z`, and support what the premise has word for word."""
    said = str(messages[-1].content)
    if role == "scorer/score_relevance":
        items = re.findall(r'<item id="(\d+)">(.*?)</item>', said, re.DOTALL)
        return json.dumps({"ratings": [{"passage": int(n), "rating": min(10, text.count("z"))} for n, text in items]})
    premise, statement = (re.search(rf"<{tag}>\n(.*?)\n</{tag}>", said, re.DOTALL) for tag in ("premise", "statement"))
    assert premise
    assert statement
    return json.dumps({"supported": statement[1] in premise[1]})


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-scorers")


PAIRS = [("q", "z" * number) for number in range(25)] + [("other", "zz"), ("q", "zzz")]
EXPECTED = [min(10, number) for number in range(25)] + [2, 3]


def test_a_model_rates_texts_in_lists() -> None:
    with OpenAIServer(ScriptedChatModel(replies=reply)) as server:
        reranker = resolve_reranker(f"model:openai:any?base_url={server.base_url}")
        assert reranker.score(PAIRS) == EXPECTED
        assert len(server.requests) == 3  # 25 texts of one query in lists of 20, one of another
        assert reranker.threshold == 5  # about what is asked, as the prompt says


def test_a_model_judges_statements() -> None:
    with OpenAIServer(ScriptedChatModel(replies=reply)) as server:
        checker = resolve_entailment(f"model:openai:any?base_url={server.base_url}")
        assert checker.score([("A is B. C is D.", "C is D."), ("A is B.", "C is D."), ("A is B.", "A is B.")]) == [
            1,
            0,
            1,
        ]


def test_unusable_replies_count_as_nothing() -> None:
    with OpenAIServer(ScriptedChatModel(replies=lambda _role, _messages: "I would rather not")) as server:
        spec = f"model:openai:any?base_url={server.base_url}"
        assert resolve_reranker(spec).score([("q", "a")]) == [0.0]
        assert resolve_entailment(spec).score([("a", "a")]) == [0.0]
        assert len(server.requests) == 6


def test_what_a_model_costs_as_a_reranker_is_in_the_usage() -> None:
    question: QuestionInput = {"question": "In which city was the director of the film Pan's Labyrinth born?"}
    with OpenAIServer(ScriptedChatModel(replies=reply)) as server:
        spec = f"model:openai:any?base_url={server.base_url}"
        result = migres.graph.invoke(question, context=migres.Context(reranker=spec, entailment=spec, max_iterations=1))
        asked = len(server.requests)
    own = migres.graph.invoke(question, context=migres.Context(max_iterations=1))
    assert asked > 0
    assert result["usage"]["llm_calls"] >= asked + 1  # the method's own calls went to the offline model
    assert result["usage"]["prompt_tokens"] > own["usage"]["prompt_tokens"]


def test_a_model_has_to_be_named() -> None:
    for resolve in (resolve_reranker, resolve_entailment):
        with pytest.raises(SpecError, match="names no model"):
            resolve("model:")
