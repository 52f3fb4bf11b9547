"""The app's options, given directly or by environment variables."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from hopgraph.state import SettingsError
from hopgraph.tools.apps.server.page.document_store import data_folder
from hopgraph.tools.apps.server.server_options import (
    ServingOptions,
    keys_from_environment,
    origins_from_environment,
    serving_options,
)
from hopgraph.tools.apps.server.service import open_service

ANN, BOB = "key-of-ann-0123456789", "key-of-bob-9876543210"


@pytest.mark.parametrize(
    ("given", "keys"),
    [
        ("", {}),
        (f" {ANN} ", {ANN: "local"}),
        (f"ann={ANN}, bob={BOB},", {ANN: "ann", BOB: "bob"}),
        (f"ann= {ANN}", {ANN: "ann"}),
        (f"{ANN}==", {f"{ANN}==": "local"}),
    ],
)
def test_keys_are_read_with_their_users(monkeypatch: pytest.MonkeyPatch, given: str, keys: dict[str, str]) -> None:
    monkeypatch.setenv("HOPGRAPH_API_KEY", given)
    assert keys_from_environment() == keys


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (f"ann={ANN},bob=short-one", "the key of entry 2 has fewer than 16 characters"),
        (f"ann={ANN},b b={BOB}", "the user name of entry 2 is malformed"),
        ("ann=schlüssel-of-ann-0123456789", "the key of entry 1 cannot be sent in a header"),
        (f"ann={ANN}\x07", "the key of entry 1 cannot be sent in a header"),
        (f"{ANN}\udcff", "the key of entry 1 cannot be sent in a header"),
        (f"ann={ANN},bob={ANN}", "entry 2 repeats an earlier key"),
        (f"ann={ANN},{ANN}", "entry 2 repeats an earlier key"),
    ],
)
def test_invalid_keys_are_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch, given: str, said: str) -> None:
    monkeypatch.setenv("HOPGRAPH_API_KEY", given)
    with pytest.raises(SettingsError, match=f"HOPGRAPH_API_KEY: {said}") as refused:
        keys_from_environment()
    assert not [word for word in ("0123456789", "9876543210", "short-one", "\n") if word in str(refused.value)]


def test_names_and_origins_are_read_from_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (serving_options().hosts, serving_options().origins) == ((), ())
    monkeypatch.setenv("HOPGRAPH_HOSTS", "chat.example, other.example,")
    monkeypatch.setenv("HOPGRAPH_ORIGINS", "https://shop.example")
    assert serving_options().hosts == ("chat.example", "other.example")
    assert serving_options(origins=["https://a.example"]).origins == ("https://a.example", "https://shop.example")
    assert serving_options().origins == origins_from_environment()


def test_threads_and_documents_are_in_the_same_home_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for given in ("~/kept/x.sqlite", Path("~/kept/x.sqlite"), tmp_path / "kept" / "x.sqlite"):
        options = ServingOptions(threads=given)
        assert options.threads == tmp_path / "kept" / "x.sqlite"
        assert data_folder(options) == tmp_path / "kept"
    address = "postgresql://~ann@localhost/threads"
    assert ServingOptions(threads=address).threads == address
    for elsewhere in (ServingOptions(), ServingOptions(threads=address)):
        assert data_folder(elsewhere) == tmp_path / "data" / "hopgraph"
    with pytest.raises(SettingsError, match="threads '~nobody-of-this-name/x': this user's home folder is not known"):
        ServingOptions(threads="~nobody-of-this-name/x")


@pytest.mark.parametrize(
    ("given", "environment", "method"),
    [
        (None, "", "auto"),
        ("ircot", "", "ircot"),
        (None, "react", "react"),
        ("ircot", "react", "ircot"),
        ("auto", "react", "auto"),
    ],
)
async def test_auto_is_the_method_that_the_app_was_started_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: str | None, environment: str, method: str
) -> None:
    monkeypatch.setenv("HOPGRAPH_USE_METHOD", environment)
    settings: dict[str, JsonValue] = {} if given is None else {"use_method": given}
    options = ServingOptions(settings=settings, threads=tmp_path / "threads.sqlite")
    assert options.chat_settings.use_method == method
    async with open_service(options) as service:
        assert service.settings("auto", {}).use_method == method
        assert service.settings("migres", {}).use_method == "migres"
        assert service.settings("auto", {"use_method": "auto"}).use_method == "auto", "a caller may want the choice"


@pytest.mark.parametrize("name", ["nothing", "gold_passages", "own.py"])
async def test_an_unknown_method_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    monkeypatch.setenv("HOPGRAPH_USE_METHOD", name)
    with pytest.raises(SettingsError, match=f"method '{name}' is unknown; available: auto, migres"):
        async with open_service(ServingOptions(threads=tmp_path / "threads.sqlite")):
            pass
