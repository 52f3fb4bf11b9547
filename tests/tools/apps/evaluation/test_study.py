"""A study in one file: its grid, refusals, costs, and resuming after kills."""

import json
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from typing_extensions import override

from hopgraph.state import SettingsError
from hopgraph.tools.apps.cli.evaluation.eval_command import study_of
from hopgraph.tools.apps.cli.evaluation.evaluation_options import EvalOptions
from hopgraph.tools.apps.evaluation.batch.local_engine import RunTally
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader
from hopgraph.tools.apps.evaluation.cost_estimate import RunEstimate
from hopgraph.tools.apps.evaluation.rehearsal import make_rehearsal
from hopgraph.tools.apps.evaluation.study import RunObserver, Study, estimate, example_study, read_study, run
from hopgraph.tools.apps.evaluation.study_model import QuestionSet, make_study, study_schema
from hopgraph.tools.apps.evaluation.study_specs import list_runs
from support.latex import compiled_text
from support.servers.openai_server import OpenAIServer

METHODS = ("one_step", "migres", "genground")
PASSAGES = (3, 5)
REPEATS = 3


@pytest.fixture(scope="module")
def models(films: Path) -> Iterator[dict[str, OpenAIServer]]:
    """Two fake models over HTTP: a perfect one, and one that errs in every tenth step."""
    good, bad = (make_rehearsal(f"{films}{options}") for options in ("", "?error=0.1"))
    with OpenAIServer(good, latency=0.005) as first, OpenAIServer(bad, latency=0.005) as second:
        yield {"good": first, "bad": second}


@pytest.fixture
def study_file(films: Path, models: dict[str, OpenAIServer], tmp_path: Path) -> Path:
    """Three methods, two data sets, two models, three repeats and a sweep of two settings."""
    lines = films.read_text(encoding="utf-8").splitlines()
    for name, part in (("even", lines[::2]), ("odd", lines[1::2])):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(part), encoding="utf-8")
    prices = '["openai:good"]\nprompt = 2\ncompletion = 8\n["openai:bad"]\nprompt = 0.5\ncompletion = 2\n'
    (tmp_path / "prices.toml").write_text(prices)
    study = {
        "out": str(tmp_path / "study"),
        "datasets": {name: {"file": str(tmp_path / f"{name}.jsonl"), "limit": 1} for name in ("even", "odd")},
        "methods": {"one_step": None, "migres": {"max_iterations": 3}, "genground": None},
        "models": {name: f"openai:{name}?base_url={server.base_url}" for name, server in models.items()},
        "settings": {"temperature": 0.7, "seed": 1},
        "sweep": {"top_k": [*PASSAGES]},
        "repeats": REPEATS,
        "prices": str(tmp_path / "prices.toml"),
        "tables": ["table.tex", "table.json"],
    }
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump(study, sort_keys=False), encoding="utf-8")
    return path


def finished(study: Study) -> Counter[str]:
    """Return the number of finished questions in each run of a study."""
    return Counter(
        {
            spec.name: sum(len(reader.latest(name)) for name in reader.manifest.methods)
            for spec in list_runs(study, print)
            if (spec.out / "manifest.json").exists()
            for reader in [RunReader(spec.out)]
        }
    )


@pytest.mark.slow
def test_a_study_that_is_killed_twice_completes_with_few_repeated_calls(
    study_file: Path, models: dict[str, OpenAIServer], script: list[str]
) -> None:
    before, chance = {name: len(each.requests) for name, each in models.items()}, random.Random(5)
    command = [*script, "eval", str(study_file), "--concurrency", "4", "--processes", "1"]

    def asked() -> list[str]:
        return [
            f"{name} {json.dumps(request.body, sort_keys=True)}"
            for name, each in models.items()
            for request in each.requests[before[name] :]
        ]

    for _ in range(2):
        seen = len(asked())
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wanted, deadline = seen + chance.randrange(30, 90), time.monotonic() + 120
        while len(asked()) < wanted and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr
    study = read_study(study_file)
    counts = finished(study)
    assert len(counts) == 8
    assert set(counts.values()) == {len(METHODS) * REPEATS}
    requests = asked()
    assert len(requests) - len(set(requests)) <= 2 * 4 * 5  # calls in flight when it was killed
    assert all((spec.out / "summary.json").exists() for spec in list_runs(study, print))
    again = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
    assert (again.returncode, again.stdout) == (0, done.stdout)
    assert len(asked()) == len(requests)
    check_table(study.out)


def check_table(study: Path) -> None:
    """Compare the LaTeX of a study, compiled, with its JSON, number by number."""
    scores = json.loads((study / "table.json").read_text())["tables"][0]["entries"]
    rows = dict.fromkeys((each["model"], each["method"]) for each in scores)
    assert len(rows) == 2 * len(METHODS) * len(PASSAGES)
    assert {each["dataset"] for each in scores} == {"even", "odd"}
    printed = compiled_text(study / "table.tex").translate(dict.fromkeys(map(ord, "_*\N{ASTERISK OPERATOR}")))
    for row in rows:
        own = [each["text"].partition(" [") for each in scores if (each["model"], each["method"]) == row]
        cells = "".join(number for number, _, _ in own) + "".join(f"[{interval}" for _, _, interval in own)
        assert f"{row[1]}{cells}".replace(" ", "").replace("_", "") in printed


class Accountant(RunObserver):
    """Records the estimated and actual costs of a study."""

    def __init__(self) -> None:
        self.estimates: list[RunEstimate] = []
        self.tally = RunTally(0)

    @override
    def estimated(self, estimate: RunEstimate) -> None:
        self.estimates.append(estimate)

    @contextmanager
    @override
    def answering(self, tally: RunTally) -> Generator[None]:
        self.tally = tally
        yield


@pytest.mark.slow
def test_a_study_is_estimated_before_its_first_call(study_file: Path, models: dict[str, OpenAIServer]) -> None:
    study, accountant = read_study(study_file), Accountant()
    before = sum(len(each.requests) for each in models.values())
    estimate(study, accountant)
    assert sum(len(each.requests) for each in models.values()) == before
    assert not any(each.name != "study" for each in study.out.glob("*")), "an estimate leaves nothing"
    result = run(study, accountant)
    first, at_start = accountant.estimates
    assert first.cost == at_start.cost is not None
    calls = sum(each.calls * each.questions for each in first.methods)
    assert calls == pytest.approx(accountant.tally.calls, rel=0.2)
    assert first.cost == pytest.approx(accountant.tally.cost, rel=0.2)
    assert [each.label for each in result.runs][:3] == [
        "even+good+top_k=3",
        "even+good+top_k=5",
        "even+bad+top_k=3",
    ]
    assert all(row["n"] == 1 for each in result.runs for row in each.summary.values())
    corpora = [(spec.out / "corpus" / "manifest.json").stat().st_ino for spec in list_runs(study, print)]
    assert len(set(corpora)) == 2, "each data set is indexed once"
    rerun = replace_out(study, study.out.with_name("again"))
    run(rerun, other := Accountant())
    assert other.tally.calls == 0, "the same study in another folder has its replies already"


def replace_out(study: Study, out: Path) -> Study:
    return make_study({**study.model_dump(), "out": out})


def test_a_higher_limit_adds_questions_to_the_same_folder(study_file: Path, models: dict[str, OpenAIServer]) -> None:
    given = yaml.safe_load(study_file.read_text())
    given |= {"methods": ["one_step"], "models": {"good": given["models"]["good"]}, "repeats": 1, "sweep": {}}
    server = models["good"]

    def calls(limit: int, **more: Any) -> int:
        before = len(server.requests)
        sets = {name: {**each, "limit": limit} for name, each in given["datasets"].items()}
        run(make_study({**given, "datasets": sets, **more}))
        return len(server.requests) - before

    assert calls(2, fresh=True) == 4
    assert calls(4, fresh=True) == 4
    reader = RunReader(Path(given["out"]) / "odd+good")
    assert (reader.manifest.dataset.sample, len(reader.questions())) == ("first 4", 4)
    assert len(reader.latest("one_step")) == 4


def test_options_of_the_command_give_the_same_study(films: Path, tmp_path: Path) -> None:
    flags = EvalOptions(
        films,
        "one_step,tor",
        tmp_path / "run",
        model="offline:extractive",
        limit=3,
        repeats=2,
        assignments=["top_k=4", "tor.max_depth=2"],
        preset="multi_hop",
    )
    path = tmp_path / "study.yaml"
    settings = {"top_k": 4, "tree_of_reviews.max_depth": 2}
    given: dict[str, Any] = {
        "out": str(tmp_path / "study"),
        "datasets": {"films": {"file": str(films), "limit": 3}},
        "methods": ["one_step", "tor"],
        "models": ["offline:extractive"],
        "settings": settings,
        "preset": "multi_hop",
        "repeats": 2,
    }
    path.write_text(yaml.safe_dump(given))
    (by_flags,), (by_file,) = list_runs(study_of(flags), print), list_runs(read_study(path), print)
    assert (by_flags.name, by_flags.out) == ("", tmp_path / "run")
    assert by_file.out == tmp_path / "study" / "films+extractive"
    assert (
        replace(by_flags, out=by_file.out, name="films+extractive", label="films", model_label="extractive") == by_file
    )
    changed = study_of(EvalOptions(path, limit=1, methods="tor", assignments=["top_k=9"]))
    (spec,) = list_runs(changed, print)
    assert (spec.sample.limit, [each.top_k for each in spec.methods.values()]) == (1, [9])
    assert spec.repeats == 2


def test_method_settings_override_the_studys_and_grid_points_override_both(films: Path, tmp_path: Path) -> None:
    study = make_study(
        {
            "out": tmp_path,
            "datasets": [str(films)],
            "methods": {"one_step": {}, "migres": {"top_k": 7}},
            "settings": {"top_k": 6},
            "sweep": [{}, {"migres.top_k": 8}, {"max_llm_calls": 3, "abstain": False}],
        }
    )
    runs = list_runs(study, print)
    counts = [[each.top_k for each in spec.methods.values()] for spec in runs]
    assert counts == [[6, 7], [6, 8], [6, 7]]
    assert [each.name for each in runs] == [
        "films",
        "films+migres.top_k=8",
        "films+max_llm_calls=3,abstain=False",
    ]


def test_the_example_study_is_valid(tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    path = tmp_path / "study.yaml"
    path.write_text(example_study(), encoding="utf-8")
    assert len(list_runs(read_study(path), print)) == 2
    validator = jsonschema.Draft202012Validator(json.loads(study_schema()))
    given = yaml.safe_load(example_study())
    assert list(validator.iter_errors(given)) == []
    assert list(validator.iter_errors({**given, "methods": ["migres"], "models": ["offline:extractive"]})) == []
    assert list(validator.iter_errors({**given, "modles": []}))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"modles": ["offline:extractive"]}, "study.yaml: unknown key 'modles'; did you mean 'models'"),
        ({"repeats": 0}, "repeats"),
        ({"methods": ["migers"]}, "migers"),
        ({"methods": {}}, "methods"),
        ({"datasets": ["a/films.jsonl", "b/films.jsonl"]}, "films"),
        ({"models": ["openai:x?base_url=http://a/v1", "openai:x?base_url=http://b/v1"]}, "'x'"),
        ({"models": {"a/b": "offline:extractive"}}, "a/b"),
        ({"settings": {"nonsense": 1}}, "nonsense"),
        ({"sweep": {"top_k": [5, 0]}}, "top_k"),
        ({"sweep": {"top_k": 5}}, "sweep"),
        ({"settings": {"model": "offline:extractive"}, "models": ["openai:x"]}, "model"),
        ({"max_cost": 1}, "max_cost"),
        ({"tables": ["table.docx"]}, "table.docx"),
        ({"scores": ["f2"]}, "f2"),
        ({"against": "one_step"}, "one_step"),
        ({"against": "nothing"}, "nothing"),
        ({"datasets": {"films": {"fil": "films.jsonl"}}}, "datasets.films: unknown key 'fil'; did you mean 'file'"),
    ],
)
def test_invalid_studies_are_refused_before_anything_is_created(
    wrong: dict[str, Any], said: str, films: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    given: dict[str, Any] = {"out": str(out), "datasets": [str(films)], "methods": ["migres"], **wrong}
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump(given))
    for start in (lambda: run(read_study(path)), lambda: estimate(read_study(path)), lambda: run(Study(**given))):
        with pytest.raises(SettingsError, match=said.removeprefix("study.yaml: ")) as refused:
            start()
        assert "\n" not in str(refused.value)
    assert not out.exists()


def test_a_finished_study_writes_the_tables_of_its_file(films: Path, tmp_path: Path) -> None:
    study = Study(
        out=tmp_path / "out",
        datasets={"films": QuestionSet(file=str(films), limit=2)},
        methods={"one_step": {}, "migres": {}},
        models={"player": "rehearsal", "hasty": "rehearsal?error=0.2"},
        tables=[Path("table.md"), tmp_path / "else.json"],
        scores=["acc", "recall@5"],
        against="migres",
        max_calls=4,
    )
    assert run(study).limit
    assert not (study.out / "table.md").exists()
    run(study.model_copy(update={"max_calls": None}))
    written = (study.out / "table.md").read_text()
    assert "against migres" in written
    assert "Models: player is rehearsal, hasty is rehearsal?error=0.2." in written
    assert "rehearsal:films.jsonl" in written
    assert str(films.parent) not in written
    (scores, *_) = json.loads((tmp_path / "else.json").read_text())["tables"]
    assert {each["column"] for each in scores["entries"]} == {"Acc", "R@5"}
    assert {each["model"] for each in scores["entries"]} == {"player", "hasty"}


def test_a_study_can_be_run_from_any_folder(
    films: Path, films_index: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "studies"
    shutil.copytree(Path(films_index.removeprefix("bm25:")), tmp_path / "index")
    folder.mkdir()
    shutil.copy(films, folder / "mine.jsonl")
    given = {
        "out": "runs",
        "datasets": {"mine": {"file": "mine.jsonl", "corpus": "../index", "limit": 2}, "own": "sample"},
        "methods": ["one_step"],
        "models": {"player": "rehearsal"},
        "prices": "prices.toml",
    }
    (folder / "prices.toml").write_text("['offline:extractive']\nprompt = 1.0\ncompletion = 2.0\n")
    (folder / "study.yaml").write_text(yaml.safe_dump(given))
    for here, path in ((tmp_path, "studies/study.yaml"), (folder, "study.yaml")):
        monkeypatch.chdir(here)
        run(read_study(Path(path)), accountant := Accountant())
    assert accountant.tally.calls == 0
    assert {each.name for each in (folder / "runs").iterdir()} >= {"mine+player", "own+player"}


@pytest.mark.parametrize("content", ["[]", "a: [", "\x00", "- x"])
def test_a_file_without_a_study_is_reported(content: str, tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(content)
    for named in (path, tmp_path / "none.yaml"):
        with pytest.raises(SettingsError, match=named.name):
            read_study(named)
