"""Misspelt environment variables are reported, and others ignored."""

import re

import pytest

from hopgraph.graphs.registry import list_methods
from hopgraph.state import SettingsError
from hopgraph.state.chat import ChatContext
from hopgraph.tools.apps.cli import main
from hopgraph.tools.apps.variables import OTHER_VARIABLES, refuse_misspelt_variables
from support.paths import ROOT


def test_every_variable_in_code_and_guides_is_known() -> None:
    files = [path for top in ("state", "nodes", "tools", "docs") for path in (ROOT / top).rglob("*.??")]
    files += [ROOT / ".env.example", ROOT / "README.md", ROOT / "SECURITY.md"]
    found = {name for file in files for name in re.findall(r"HOPGRAPH_([A-Z_]*[A-Z])\b", file.read_text("utf-8"))}
    settings = {name for method in list_methods().values() for name in method.Context.model_fields}
    settings |= ChatContext.model_fields.keys() | {"url", "name"}  # in examples
    others = {*OTHER_VARIABLES.split()}
    assert others <= {name.lower() for name in found} <= others | settings
    assert not others & settings


@pytest.mark.parametrize(
    ("given", "meant"),
    [("API_KEYS", "API_KEY"), ("TOPK", "TOP_K"), ("OIDC_ISUER", "OIDC_ISSUER"), ("CALL_PER_DAY", "CALLS_PER_DAY")],
)
def test_a_misspelt_variable_is_reported_with_a_suggestion(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], given: str, meant: str
) -> None:
    monkeypatch.setenv(f"HOPGRAPH_{given}", "secret")
    assert main(["methods"]) == 2
    said = f"environment variable HOPGRAPH_{given} is not read; did you mean HOPGRAPH_{meant}?"
    assert capsys.readouterr().err == f"hopgraph: {said}\n"
    with pytest.raises(SettingsError):
        refuse_misspelt_variables()


@pytest.mark.parametrize("name", ["MAX_DEPTH", "PORT", "SERVICE_HOST", "SERVICE_PORT_HTTP", "PORT_7860_TCP", "X"])
def test_settings_of_any_method_and_other_variables_are_accepted(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Kubernetes sets some of these in each container if a service is called hopgraph."""
    monkeypatch.setenv(f"HOPGRAPH_{name}", "1")
    refuse_misspelt_variables()
