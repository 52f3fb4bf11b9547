"""`hopgraph eval --oracle`: steps answered from gold annotations, the loss of each, and the first wrong one."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader
from hopgraph.tools.apps.evaluation.step_oracle import PlayedRuns, step_costs
from support.hand_made_runs import outcome, question, write_run
from support.musique_record import musique_record

Run = Callable[..., Any]
FILMS = 36


def passages(number: int) -> list[tuple[str, str]]:
    film, director, city = f"Film Nr{number}", f"Dana Maker{number}", f"Townville{number}"
    return [
        (film, f"{film} is a drama film that won several prizes. Its director was {director}. It ran for a year."),
        (director, f"{director} studied abroad for a while. The artist was born in {city} in 1950."),
    ]


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two-hop questions in MuSiQue's format, each with its passages and the next film's."""
    records: list[dict[str, Any]] = []
    for number in range(FILMS):
        shown = [*passages(number), *passages((number + 1) % FILMS)]
        steps = [
            (f"Film Nr{number} >> director", f"Dana Maker{number}", 0),
            ("Where was #1 born?", f"Townville{number}", 1),
        ]
        asked = f"Where was the director of Film Nr{number} born?"
        records.append(musique_record(f"2hop__{number}", asked, shown, steps))
    path = tmp_path_factory.mktemp("films") / "films.jsonl"
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return path


def evaluate(films: Path, out: Path, role: str, *more: str, error: float = 0.8) -> list[str]:
    """Return a command in which one role errs, and every other role is perfect."""
    planted = f'models={{"{role}": "rehearsal:{films}?error={error}"}}'
    models = ["--model", "rehearsal", "--set", planted]
    return ["eval", str(films), "--methods", role.partition("/")[0], *models, "--out", str(out), *more]


def first_wrong(out: Path) -> Counter[str | None]:
    reader = RunReader(out)
    runs, questions = PlayedRuns(reader), {each.id: each for each in reader.questions()}
    (method,) = reader.manifest.methods
    return Counter(runs.first_wrong_step(each, questions[each["id"]]) for each in reader.latest(method).values())


@pytest.mark.slow
def test_errors_planted_in_one_role_are_found(run: Run, films: Path, tmp_path: Path) -> None:
    cases, found = 0, 0
    for role in ("migres/extract", "genground/ground", "tree_of_reviews/review"):
        out = tmp_path / role.replace("/", "-")
        ran = run(*evaluate(films, out, role, "--oracle", "all", error=0.95))
        assert ran.code == 0, ran.err
        wrong = first_wrong(out)
        cases += wrong.total() - wrong[None]
        found += wrong[role.partition("/")[2]]
    assert cases >= 100
    assert found / cases >= 0.95


def test_an_oracle_run_reuses_earlier_replies_and_its_loss_is_shown(run: Run, films: Path, tmp_path: Path) -> None:
    command = evaluate(films, tmp_path / "run", "migres/decide", "--limit", "8", "--oracle", "decide")
    ran = run(*command)
    assert ran.code == 0, ran.err
    (cost,) = step_costs(RunReader(tmp_path / "run"))
    assert (cost.method, cost.step, cost.n, cost.oracle_f1) == ("migres", "decide", 8, 1.0)
    assert cost.difference < 0
    assert cost.ci95.low <= cost.difference <= cost.ci95.high
    assert "migres/decide" in ran.out
    played = RunReader(tmp_path / "run" / "oracle" / "decide")
    usages = [each["usage"] for each in played.latest("migres").values()]
    assert sum(each["cached_calls"] for each in usages if each) >= 8  # calls before the step come from the cache
    again = run(*command)
    assert again.out == ran.out
    assert again.err.count("8 of 8 are finished") == 2
    assert "migres/decide" in run("compare", str(tmp_path / "run")).out


def test_show_marks_the_first_wrong_step(run: Run, films: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run(*evaluate(films, out, "migres/decide", "--limit", "4", "--oracle", "decide", error=1.0)).code == 0
    wrong = next(each["id"] for each in RunReader(out).latest("migres").values() if each["answer"] != "Townville0")
    shown = run("show", str(out), wrong)
    assert "First wrong step: decide" in shown.out
    assert json.loads(run("show", str(out), wrong, "--json").out)["evaluation"]["first_wrong_step"] == "decide"
    right = run("show", str(out / "oracle" / "decide"), wrong, "--json")
    assert json.loads(right.out)["evaluation"]["first_wrong_step"] is None


def test_there_is_no_first_wrong_step_if_no_single_step_fixes_the_answer(tmp_path: Path) -> None:
    asked = [question("q1", "Ann"), question("q2", "Bea"), question("q3", "Cid")]

    def run_of(folder: str, *answers: str) -> RunReader:
        outcomes = [outcome("migres", each.id, answer) for each, answer in zip(asked, answers, strict=True)]
        return write_run(tmp_path / folder, asked, outcomes, {"migres": {}})

    reader = run_of("run", "Ann", "wrong", "wrong")
    run_of("run/oracle/decide", "Ann", "Bea", "wrong")
    run_of("run/oracle/extract", "Ann", "Bea", "wrong")
    run_of("run/oracle/all", "Ann", "Bea", "Cid")
    runs, latest = PlayedRuns(reader), reader.latest("migres").values()
    wrong = {each["id"]: runs.first_wrong_step(each, asked[n]) for n, each in enumerate(latest)}
    assert wrong == {"q1": None, "q2": "extract", "q3": ""}  # without traces in the method's own order
    costs = {each.step: (each.oracle_f1, each.difference, each.first_wrong) for each in step_costs(reader)}
    assert list(costs) == ["extract", "decide", "all"]
    assert costs["all"] == (1.0, pytest.approx(-2 / 3), 0)
    assert [costs[step][2] for step in ("extract", "decide")] == [1, 0]


@pytest.mark.parametrize("steps", ["decid", "use_tools", ","])
def test_a_step_that_the_oracle_cannot_answer_is_refused(run: Run, films: Path, tmp_path: Path, steps: str) -> None:
    ran = run("eval", str(films), "--methods", "migres,agent", "--out", str(tmp_path / "run"), "--oracle", steps)
    assert ran.code == 2
    assert "--oracle" in ran.err
    assert not (tmp_path / "run").exists()
