"""No key gets through, and nothing that is not a key is lost."""

import pytest
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from hopgraph.tools.models import redact


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-{secret}.",
        "Authorization: Bearer {secret}",
        "api_key={secret}&x=1",
        '{{"api-key": "{secret}"}}',
        "http://user:{secret}@host/v1",
    ],
)
def test_what_looks_like_a_key_is_taken_out(text: str) -> None:
    assert "q8Zx71LmN0pRs" not in redact(text.format(secret="q8Zx71LmN0pRs"))


def test_keys_of_the_environment_and_of_the_model_are_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "plain words as key")
    model = ChatOpenAI(model="m", api_key=SecretStr("another secret"))
    assert redact("plain words as key, another secret", model) == "[key], [key]"


@pytest.mark.parametrize(
    "text", ["openai:m?base_url=http://127.0.0.1:8000/v1", "HTTP 404: no model llama3:8b", "a key is missing"]
)
def test_other_text_stays(text: str) -> None:
    assert redact(text) == text
