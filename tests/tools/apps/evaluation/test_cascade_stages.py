"""`hopgraph build cascade`: stages are chosen on half of the questions and evaluated on the other."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopgraph.graphs import METHODS
from hopgraph.state import RunError, SettingsError
from hopgraph.state.cascade import read_stage
from hopgraph.state.context import make_settings
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader, frozen_settings
from hopgraph.tools.apps.evaluation.cascade_stages import (
    CascadeTarget,
    StageResults,
    as_stage,
    choose_stages,
    read_results,
    read_target,
    run_through,
)
from hopgraph.tools.apps.evaluation.comparison import compare_runs

Run = Callable[..., Any]
ALL = np.arange(4)


def tried(stage: str, f1: list[float], calls: float, accepted: list[bool]) -> StageResults:
    return StageResults(stage, np.array([[each, calls] for each in f1], dtype=float), np.array(accepted))


CHEAP = tried("one_step", [1, 0.5, 0, 0], 1, [True, True, False, False])
MIDDLE = tried("react", [0, 0, 1, 0], 3, [True, True, True, False])
DEAR = tried("migres", [1, 1, 1, 0.8], 6, [True, True, True, True])
THREE = [CHEAP, MIDDLE, DEAR]


def test_a_stage_answers_the_questions_left_by_the_previous_one() -> None:
    assert run_through([CHEAP, MIDDLE]).tolist() == [[1, 1], [0.5, 1], [1, 4], [0, 4]]
    assert run_through([CHEAP, MIDDLE, DEAR]).tolist() == [[1, 1], [0.5, 1], [1, 4], [0.8, 10]]
    assert run_through([MIDDLE, CHEAP]).tolist() == [[0, 3], [0, 3], [1, 3], [0, 4]]


@pytest.mark.parametrize(
    ("target", "stages"),
    [
        (CascadeTarget("f1", 0.3), ["one_step"]),
        (CascadeTarget("f1", 0.6), ["one_step", "react"]),
        (CascadeTarget("f1", 0.8), ["one_step", "migres"]),  # equally expensive with react between them
        (CascadeTarget("f1", 0.8251), ["migres"]),
        (CascadeTarget("f1", 0.9), ["migres"]),
        (None, ["migres"]),
        (CascadeTarget("calls", 1), ["one_step"]),
        (CascadeTarget("calls", 2.5), ["one_step", "react"]),
        (CascadeTarget("calls", 6), ["migres"]),
    ],
)
def test_the_cheapest_stages_for_an_f1_or_the_best_within_calls_are_chosen(
    target: CascadeTarget | None, stages: list[str]
) -> None:
    assert [each.stage for each in choose_stages(THREE, ALL, target)] == stages


@pytest.mark.parametrize("target", [CascadeTarget("f1", 0.99), CascadeTarget("calls", 0.5)])
def test_an_unreachable_target_is_reported(target: CascadeTarget) -> None:
    with pytest.raises(RunError, match=r"no stages reach it \(best: (0\.95|1)\);"):
        choose_stages(THREE, ALL, target)


@pytest.mark.parametrize("text", ["f1", "f1=", "f1=1.1", "f1=0", "calls=-1", "calls=nan", "em=0.5", "=1", "f1=80 %"])
def test_invalid_targets_are_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="write f1=SHARE"):
        read_target(text, priced=True)


@pytest.mark.parametrize(
    ("method", "changed"),
    [
        ("one_step", {}),
        ("one_step", {"top_k": 10, "links": False}),
        ("tree_of_reviews", {"widths": (3, 2), "fusion": "paragraph"}),
    ],
)
def test_a_stage_has_the_settings_of_the_run(method: str, changed: dict[str, Any]) -> None:
    cls = METHODS[method].Context
    wanted = frozen_settings(make_settings(cls, {**changed, "model": "openai:m"}))
    name, own = read_stage(as_stage(method, wanted))
    assert (name, own.keys()) == (method, changed.keys())
    assert frozen_settings(make_settings(cls, {**own, "model": "openai:m"})) == wanted


def test_the_computed_cascade_equals_a_real_one(run: Run, films: Path, tmp_path: Path) -> None:
    model = ("--model", f"rehearsal:{films}?error=0.1")
    methods = ("--methods", "one_step,react,migres,gold_passages")
    assert run("eval", str(films), *methods, *model, "--out", str(tmp_path / "run")).code == 0
    by_name = {each.stage: each for each in read_results(RunReader(tmp_path / "run"))}
    assert not by_name["one_step"].accepted.all()
    for stages in ("one_step,react", "one_step,react,migres"):
        out = tmp_path / stages
        cascade = ("--methods", "cascade", "--set", f"stages={stages}", "--out", str(out))
        assert run("eval", str(films), *cascade, *model).code == 0
        f1, calls = run_through([by_name[name] for name in stages.split(",")]).mean(axis=0)
        real = compare_runs([RunReader(out)])
        assert f1 == pytest.approx(real.mean(real.methods[0], "f1"), abs=0.05)
        assert calls == pytest.approx(real.mean(real.methods[0], "llm_calls"), abs=0.25)


def test_stages_are_chosen_from_new_or_existing_runs(run: Run, films: Path, tmp_path: Path) -> None:
    out, model = tmp_path / "stages.json", ("--model", f"rehearsal:{films}", "--set", "links=false")
    few = ("--methods", "one_step,react", "--set", "one_step.top_k=3", "--target", "f1=1")
    built = run("build", "cascade", str(films), *few, *model, "--out", str(out))
    assert built.code == 0
    assert "chosen on 4 questions; on 4 others" in built.out
    record = json.loads(out.read_text())
    assert {*record["stages"]} <= record["single"].keys()
    assert record["questions"] == [4, 4]
    assert all(len(each) == 3 for each in record["cascade"].values())
    assert record["single"].keys() == {"one_step?top_k=3&links=False", "react?links=False"}
    [use] = re.findall(r"^use it: --method cascade --set '(.*)'$", built.out, re.MULTILINE)
    assert use == f"stages={','.join(record['stages'])}"
    asked = ("--methods", "cascade", "--set", use, "--out", str(tmp_path / "used"))
    assert run("eval", str(films), *asked, *model[:2]).code == 0
    (tmp_path / "prices.toml").write_text("[rehearsal]\nprompt = 1\ncompletion = 2\n")
    again = ("--prices", str(tmp_path / "prices.toml"), "--target", "cost=0.01", "--out", str(tmp_path / "again.json"))
    chosen = run("build", "cascade", f"{out}.run", *again)
    assert (chosen.code, chosen.err) == (0, "")
    assert json.loads((tmp_path / "again.json").read_text())["cascade"].keys() == {"f1", "calls", "cost"}
    refused = run("build", "cascade", f"{out}.run", "--methods", "react", "--out", str(tmp_path / "more.json"))
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "is a run, which determines the methods" in refused.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["cascade", "FILMS", "--target", "f1=80"], 2, "--target 'f1=80': write f1=SHARE (at most 1)"),
        (["cascade", "FILMS", "--target", "cost=1"], 2, "--target cost=1: the cost needs --prices FILE"),
        (["cascade", "FILMS", "--methods", "nothing"], 2, "method 'nothing' is unknown"),
        (["cascade", "FILMS", "--methods", "gold_passages", "--limit", "2"], 1, "no two questions"),
        (["cascade", "FILMS", "--limit", "1"], 1, "no two questions with gold answers were answered by every method"),
        (["dsp", "FILMS", "--target", "f1=0.8"], 2, "--methods and --target: dsp does not support these"),
    ],
)
def test_errors_are_one_line(run: Run, films: Path, tmp_path: Path, arguments: list[str], code: int, said: str) -> None:
    given = [str(films) if each == "FILMS" else each for each in arguments]
    ran = run("build", *given, "--out", str(tmp_path / "out.json"), "--model", "rehearsal")
    assert ran.code == code
    assert said in ran.err
    assert not (tmp_path / "out.json").exists()
