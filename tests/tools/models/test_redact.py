"""No key gets through, and nothing that is not a key is lost."""

import pytest
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from hopgraph.tools.io.redact import redact


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-{secret}.",
        "Authorization: Bearer {secret}",
        "api_key={secret}&x=1",
        '{{"api-key": "{secret}"}}',
        "http://user:{secret}@host/v1",
        "openai:sk-{secret}",
        "bm25:/data/gsk_{secret}/index",
        "the key xai-{secret} is unknown",
        "openai:m?base_url=http://host/v1?key={secret}&max_tokens=9",
        "https://host/v1?a=1&subscription-key={secret}",
    ],
)
def test_what_looks_like_a_key_is_taken_out(text: str) -> None:
    assert "q8Zx71LmN0pRs" not in redact(text.format(secret="q8Zx71LmN0pRs"))


def test_keys_of_the_environment_and_of_the_model_are_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "plain words as key")
    model = ChatOpenAI(model="m", api_key=SecretStr("another secret"))
    assert redact("plain words as key, another secret", model) == "[key], [key]"
    monkeypatch.setenv("SOME_API_KEY", "with/slash=")
    assert redact("with/slash=, with%2Fslash%3D") == "[key], [key]"


def test_keys_in_custom_headers_are_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    headers = "X-Title: hopgraph\nX-Auth: Bearer plainwords\nX-Gateway: q8Zx71LmN0pRs\nno header"
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", headers)
    assert redact("hopgraph, plainwords, q8Zx71LmN0pRs") == "hopgraph, [key], [key]"


@pytest.mark.parametrize(
    "key",
    [
        "sk-abcdef123",
        "sk-1234567890",
        "sk-svcacct-Zk3_x9QpLm2RtVb8Yc",
        "sk-ant-api03-Zk3x9QpLm2-RtVb8Yc",
        "sk-p***************************4cd9",
        "sk-or-v1-0b6f3d1e9a7c4f28b5d0e1c2a3f4b5c6",
        "sk_live_Zk3x9QpLm2RtVb8Yc",
        "pk-lf-3f2b8c1a-77de-4c2a-9b1f-0a4d5e6f7b8c",
        "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",
        "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",
        "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",
    ],
)
def test_keys_of_every_make_are_taken_out_whole(key: str) -> None:
    assert redact(f"refused: {key}, so") == "refused: [key], so"


@pytest.mark.parametrize(
    "text",
    [
        "bm25:/data/key-documents-2020",
        "bm25:/data/pk-documents-2020",
        "bm25:/data/sk-learn-documentation",
        "sk-Wikipedia2018.index",
        "hf_BAAI-bge-reranker-large",
        "hf_MyDocumentsIndex_v2",
        "xai-reports-20240131",
        "risk-assessment-reports",
        "openai:m?base_url=http://127.0.0.1:8000/v1",
        "HTTP 404: no model llama3:8b",
        "a key is missing",
    ],
)
def test_other_text_stays(text: str) -> None:
    assert redact(text) == text
