"""Models of installed packages, by the entry-point group `hopgraph.models`."""

from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest
from langchain_openai import ChatOpenAI

from hopgraph.state import SpecError
from hopgraph.tools.models import Sampling, resolve, resolve_model


def install(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    point = EntryPoint(name, value, resolve.MODEL_PROVIDERS)

    def installed(**wanted: Any) -> EntryPoints:
        return EntryPoints([point]).select(**wanted)

    monkeypatch.setattr(resolve, "entry_points", installed)


async def test_no_package_takes_over_a_built_in_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "openai", "builtins:print")
    handle = await resolve_model("openai:taken-over?base_url=http://127.0.0.1:9/v1", Sampling())
    assert isinstance(handle.model, ChatOpenAI)


@pytest.mark.parametrize("value", ["no_such_package:model", "builtins:no_such_name", "builtins:int"])
async def test_a_package_that_fails_is_one_line(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    install(monkeypatch, "broken", value)
    with pytest.raises(
        SpecError, match=r"^model 'broken:model': the package that provides it failed: \w+Error: ."
    ) as error:
        await resolve_model("broken:model", Sampling())
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ("opnai:gpt-4.1-mini", "did you mean 'openai:gpt-4.1-mini'?"),
        ("rehersal", "did you mean 'rehearsal'?"),
        ("antropic:claude", "did you mean 'anthropic:claude'?"),
        ("nonsense:model", "use one of: offline:extractive, "),
    ],
)
async def test_a_misspelt_provider_is_answered_with_the_nearest_one(spec: str, hint: str) -> None:
    pytest.importorskip("langchain", reason="init_chat_model comes with langchain")
    with pytest.raises(SpecError) as refused:
        await resolve_model(spec, Sampling())
    assert str(refused.value).startswith(f"unknown model '{spec}'; {hint}")


async def test_the_query_of_an_address_is_sent_with_each_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-A: b\r\n\nX-C:d")
    handle = await resolve_model("openai:m?base_url=http://h:1/v1/chat/completions?api-version=1", Sampling())
    assert isinstance(handle.model, ChatOpenAI)
    assert handle.model.openai_api_base == "http://h:1/v1"
    assert handle.model.default_query == {"api-version": "1"}
