"""The schema of a reply class: closed, with and without bounds; and the length that follows from it."""

from typing import Annotated, Any

from langchain_core.language_models import FakeListChatModel
from langchain_openai import AzureChatOpenAI, ChatOpenAI
from pydantic import BaseModel, SecretStr

from hopgraph.nodes.core.reply_text import LongText, ReplyModel, ShortText, ShownNumbers, schema_hint
from hopgraph.tools.models.structured import limit_reply, modes_of, own_limit, reply_tokens

KEY = SecretStr("sk-none")
LOCAL = "http://127.0.0.1:9/v1"


class Verdict(ReplyModel):
    known: bool


class Statement(ReplyModel):
    text: LongText
    numbers: ShownNumbers


class Long(ReplyModel):
    statements: Annotated[list[Statement], schema_hint(maxItems=3)]
    answer: ShortText | None = None


def test_what_exceeds_a_bound_is_read_all_the_same() -> None:
    statement = {"text": "x" * 3000, "numbers": [1] * 30}
    read = Long.model_validate({"statements": [statement] * 5})
    assert [(len(each.text), len(each.numbers)) for each in read.statements] == [(3000, 30)] * 5


def test_the_length_of_a_reply_follows_from_its_form() -> None:
    assert reply_tokens(Verdict) == 300
    assert 600 < reply_tokens(Statement) < 1000
    assert reply_tokens(Long) == 2000


class Plain(BaseModel):
    words: list[str]


def test_what_has_no_bounds_is_long() -> None:
    assert reply_tokens(Plain) == 2000


def openai(base_url: str | None = None, **options: Any) -> ChatOpenAI:
    return ChatOpenAI(model="any", api_key=KEY, base_url=base_url, **options)


def sent_by(model: Any) -> dict[str, Any]:
    payload = getattr(model, "_get_request_payload")("Hello")  # noqa: B009 - langchain-openai's own
    return {**payload, **(payload.get("extra_body") or {})}


def test_the_limit_goes_by_the_name_that_a_server_knows() -> None:
    assert sent_by(limit_reply(openai(), 9))["max_completion_tokens"] == 9
    compatible = sent_by(limit_reply(openai(LOCAL, extra_body={"top_k": 1}), 9))
    assert (compatible["max_tokens"], compatible["top_k"]) == (9, 1)
    assert "max_completion_tokens" not in compatible
    assert sent_by(limit_reply(openai(LOCAL, use_responses_api=True), 9))["max_output_tokens"] == 9
    azure = AzureChatOpenAI(azure_endpoint="https://any.openai.azure.com", api_version="1", api_key=KEY)
    assert 9 in {sent_by(limit_reply(azure, 9)).get(name) for name in ("max_tokens", "max_completion_tokens")}


def test_a_model_without_a_limit_stays_as_it_is() -> None:
    model = FakeListChatModel(responses=[])
    assert limit_reply(model, 9) is model
    assert own_limit(model) is None
    assert own_limit(openai(LOCAL, max_completion_tokens=5)) == 5


def test_bounds_are_not_tried_on_openai() -> None:
    assert modes_of(openai())[0] == modes_of(openai("https://eu.api.openai.com/v1"))[0] == "json_schema"
    assert modes_of(openai(LOCAL))[:2] == ("bounded_schema", "json_schema")
    assert modes_of(openai("https://api.openai.com.example/v1"))[0] == "bounded_schema"
