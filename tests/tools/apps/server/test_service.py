"""Options of callers, and options of the owner only."""

import logging
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator
from inspect import signature
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage
from pydantic import JsonValue

from hopgraph.state import SettingsError
from hopgraph.state.chat import AUTO
from hopgraph.tools.apps.server.caller_settings import OPERATOR_SETTINGS
from hopgraph.tools.apps.server.server_options import ServingOptions
from hopgraph.tools.apps.server.service import Service, open_service
from hopgraph.tools.apps.server.threads import open_threads
from hopgraph.tools.apps.server.turn import TurnEnd, TurnStep


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    of_migres: dict[str, JsonValue] = {"max_iterations": 4, "top_k": 7}
    given: dict[str, JsonValue] = {"max_llm_calls": 10, "deadline_seconds": 30, "methods": {"migres": of_migres}}
    async with open_service(ServingOptions(settings=given, threads=tmp_path / "threads.sqlite")) as opened:
        yield opened


@pytest.mark.parametrize("name", [*sorted(OPERATOR_SETTINGS), "prompt_decide", "prompt_route"])
async def test_callers_cannot_choose_files_urls_or_models(service: Service, name: str) -> None:
    with pytest.raises(SettingsError, match=f"'{name}' can only be set by the operator of this server"):
        service.settings("migres", {name: "anything"})


async def test_limits_may_be_lowered_but_not_raised(service: Service) -> None:
    assert service.settings("migres", {"max_llm_calls": 3}).max_llm_calls == 3
    assert service.settings("migres", {"max_tokens": 10**6}).max_tokens == 10**6
    for name, asked in {"max_llm_calls": 11, "deadline_seconds": 31}.items():
        with pytest.raises(SettingsError, match=f"'{name}' may be at most"):
            service.settings("migres", {name: asked})
    with pytest.raises(SettingsError, match="'max_llm_calls' may be at most 10"):
        service.settings("migres", {"max_llm_calls": None})
    assert service.settings("migres", {"max_llm_calls": 11}, owner=True).max_llm_calls == 11


async def test_there_are_default_limits(tmp_path: Path) -> None:
    """The owner removes a limit by setting it to none."""
    options = ServingOptions(settings={"max_tokens": None}, threads=tmp_path / "threads.sqlite")
    async with open_service(options) as opened:
        settings = opened.settings("tree_of_reviews", {})
        assert (settings.max_llm_calls, settings.max_tokens, settings.deadline_seconds) == (500, None, 540)
        assert opened.settings("migres", {"max_tokens": 10**9}).max_tokens == 10**9
        for name, asked in {"max_llm_calls": 501, "deadline_seconds": None}.items():
            with pytest.raises(SettingsError, match=f"'{name}' may be at most"):
                opened.settings("migres", {name: asked})


async def test_a_callers_settings_are_merged_with_the_methods(service: Service) -> None:
    settings = service.settings("migres", {"max_iterations": 2})
    assert settings.methods["migres"] == {"max_iterations": 2, "top_k": 7}
    assert settings.use_method == "migres"
    with pytest.raises(SettingsError, match="'max_iterations' is unknown for the chat"):
        service.settings("auto", {"max_iterations": 2})
    with pytest.raises(SettingsError, match="method 'gpt-9' is unknown"):
        service.settings("gpt-9", {})


async def test_an_answer_is_returned_even_if_its_cleanup_fails(
    service: Service, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def checkpoints() -> int:
        return (await service.threads.rows("SELECT count(*) FROM checkpoints"))[0][0]

    def turn() -> AsyncGenerator[TurnStep]:
        given = {"messages": [HumanMessage("Who painted Guernica?")]}
        return service.run_on_thread("ann", "one", given, service.settings(AUTO, {}))

    await service.threads.rows("PRAGMA busy_timeout = 10")
    with sqlite3.connect(tmp_path / "threads.sqlite") as other, caplog.at_level(logging.WARNING):
        async for step in turn():
            if isinstance(step, TurnEnd):
                other.execute("BEGIN IMMEDIATE")
                assert step.state["messages"][-1].text.startswith("Pablo Picasso")
    other.close()
    assert "thread one was answered, but its old checkpoints were not deleted" in caplog.text
    assert "database is locked" in caplog.text
    assert await checkpoints() > 1
    assert [step async for step in turn()]
    assert await checkpoints() == 1, "the next turn does it"


async def test_langgraph_detects_that_the_checkpointer_stores_task_paths(tmp_path: Path) -> None:
    async with open_threads(tmp_path / "threads.sqlite") as threads:
        assert "task_path" in signature(threads.saver.aput_writes).parameters
