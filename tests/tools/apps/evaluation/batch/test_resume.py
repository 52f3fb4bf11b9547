"""A run over HTTP with kills, faults and limits: nothing is lost and no call is repeated."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hopgraph.state import SettingsError
from hopgraph.tools.apps.cli.evaluation.eval_command import EvalOptions, run_eval
from hopgraph.tools.models.offline import RuleBasedModel
from support.evaluation_runs import results
from support.paths import SAMPLE
from support.servers.openai_server import OpenAIServer

METHODS = "migres,cot_sc,gold_passages"
QUESTIONS = 3
CONCURRENCY = 4
PER_QUESTION = 5
"""The most calls that one of these methods has under way at once."""


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(RuleBasedModel(), latency=0.02) as running:
        yield running


def options(out: Path, server: OpenAIServer, **fields: Any) -> EvalOptions:
    given: dict[str, Any] = {"methods": METHODS, "limit": QUESTIONS, "concurrency": CONCURRENCY, **fields}
    return EvalOptions(dataset=SAMPLE, out=out, model=f"openai:any?base_url={server.base_url}", **given)


@pytest.fixture(scope="module")
def undisturbed(server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "undisturbed"
    run_eval(options(out, server))
    assert len(results(out)) == 3 * QUESTIONS
    return out


def test_a_limit_stops_a_run_and_a_higher_limit_resumes_it(
    server: OpenAIServer, undisturbed: Path, tmp_path: Path
) -> None:
    before = len(server.requests)
    run_eval(options(tmp_path, server, max_calls=15))
    first = len(server.requests) - before
    assert 15 <= first <= 15 + PER_QUESTION * CONCURRENCY
    assert len(results(tmp_path)) < 3 * QUESTIONS
    run_eval(options(tmp_path, server))
    assert results(tmp_path) == results(undisturbed)
    asked = len(server.requests)
    run_eval(options(tmp_path, server))
    assert len(server.requests) == asked


@pytest.mark.slow
def test_a_pilot_run_is_reused_in_another_folder(server: OpenAIServer, tmp_path: Path) -> None:
    def calls(name: str, **fields: Any) -> int:
        before = len(server.requests)
        run_eval(options(tmp_path / name, server, methods="migres", **fields))
        return len(server.requests) - before

    pilot = calls("pilot", limit=2)
    whole = calls("whole", limit=4)
    assert calls("fresh", limit=4, fresh=True) == pilot + whole
    assert calls("again", limit=4) == 0
    assert results(tmp_path / "again") == results(tmp_path / "fresh")
    assert calls("repeated", limit=4, repeats=2) == pilot + whole
    own = [f"cache_dir={tmp_path / 'own'}"]
    assert [calls(name, limit=4, assignments=own) for name in ("own", "own-again")] == [pilot + whole, 0]


def test_replies_are_cached_per_server_set_by_the_environment(
    server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(server.requests)
    with OpenAIServer(RuleBasedModel()) as other:
        for number, each in enumerate((server, other, server)):
            monkeypatch.setenv("OPENAI_BASE_URL", each.base_url)
            run_eval(EvalOptions(SAMPLE, "direct", tmp_path / str(number), model="openai:any", limit=2))
        assert (len(server.requests) - before, len(other.requests)) == (2, 2)


@pytest.mark.parametrize("seed", [[], ["seed=7"]])
def test_no_two_samples_of_a_question_share_a_seed(server: OpenAIServer, tmp_path: Path, seed: list[str]) -> None:
    before = len(server.requests)
    assignments = ["samples=3", *seed]
    run_eval(options(tmp_path, server, methods="cot_sc", limit=1, repeats=4, assignments=assignments))
    bodies: list[Any] = [each.body for each in server.requests[before:]]
    seeds = [body["seed"] for body in bodies if "seed" in body]
    assert len(bodies) == 12
    assert len(seeds) == len(set(seeds)) == (12 if seed else 9)  # the first repeat is the run without repeats


def test_repeats_at_temperature_0_give_a_warning(
    server: OpenAIServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for assignments, warned in ([], ["direct"]), (["samples=1"], ["direct", "cot_sc"]), (["temperature=0.7"], []):
        out = tmp_path / str(len(warned))
        run_eval(options(out, server, methods="direct,cot_sc", limit=1, repeats=2, assignments=assignments))
        said = capsys.readouterr().err
        assert ("temperature is 0" in said) == bool(warned)
        assert f"Repeats of {', '.join(warned)} will" in said or not warned


@pytest.mark.parametrize(
    ("wrong", "said"),
    [("cot_sc.samples=2", "has this setting"), ("nothing.samples=2", "'nothing' is unknown"), ("samples", "key=value")],
)
def test_a_setting_that_no_method_has_is_refused(wrong: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=said):
        run_eval(EvalOptions(SAMPLE, "migres", tmp_path, assignments=[wrong]))
