"""The papers' tables: every row can be run or says why not, and our scores are next to the paper's."""

import csv
import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hopgraph.graphs import METHODS
from hopgraph.state import RunError, SettingsError
from hopgraph.tools.apps.cli.evaluation.eval_command import EvalOptions, study_of
from hopgraph.tools.apps.cli.evaluation.reproduce_command import ReproduceOptions, experiment_settings, run_reproduce
from hopgraph.tools.apps.evaluation.batch.local_engine import RunEngine
from hopgraph.tools.apps.evaluation.batch.question_job import QuestionJob
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader
from hopgraph.tools.apps.evaluation.batch.scores import COSTS
from hopgraph.tools.apps.evaluation.preliminary import EXPERIMENTS
from hopgraph.tools.apps.evaluation.question_formats import QUESTION_FORMATS
from hopgraph.tools.apps.evaluation.reproduce.paper_tables import (
    PERCENTS,
    REPRODUCED_PAPERS,
    PaperTable,
    plan_runs,
    read_paper,
    read_paper_table,
    settings_of_row,
    warnings_for,
)
from hopgraph.tools.apps.evaluation.reproduce.table_measures import COUNTS, MEANS
from hopgraph.tools.apps.evaluation.study_specs import method_settings
from support.paths import SAMPLE

TABLES = [f"{paper}/{table}" for paper in REPRODUCED_PAPERS for table in read_paper(paper).tables]


@cache
def table_named(name: str) -> PaperTable:
    return read_paper_table(name)[1]


@pytest.mark.parametrize("name", TABLES)
def test_every_row_makes_valid_settings_for_each_data_set_of_its_table(name: str) -> None:
    table = table_named(name)
    for dataset in table.datasets:
        for each in plan_runs(table, dataset, has_corpus=True, second_corpus="bm25:x"):
            assert bool(each.folder) == (not each.reason)
            if each.folder:
                method, given = each.row.method, [*each.assignments]
                options = EvalOptions(Path("x"), method, Path("y"), preset=each.preset, assignments=given)
                is_experiment = method in EXPERIMENTS
                made_by = experiment_settings(options) if is_experiment else method_settings(study_of(options))
                (settings,) = made_by.values()
                for key, value in settings_of_row(table, each.row).items():
                    made = getattr(settings, key)
                    wanted = tuple(value) if isinstance(value, list) else value
                    assert made == wanted or value in ("{family}", "{second_corpus}"), (each.row.label, key)


WITHOUT_RUN = {
    "migres/table10": {"first retrieval": "sets two runs"},
    "genground/table3": {"GenGround (IDG)": "not released"},
    "genground/section7_3": dict.fromkeys(("45,710 examples", "20,000 examples"), "not released"),
    "genground/table6": dict.fromkeys(("GenGround", "GRG", "DSPy", "SearChain"), "people rated"),
    "ra_isf/table3": dict.fromkeys(("Llama2 7B", "T5 780M"), "not released"),
    "ra_isf/table5": dict.fromkeys(("Human", "GPT4.0"), "check-student"),
}
"""The rows that nothing here can run: what people rated, two runs at once, and weights that were not published."""


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_complete_and_have_known_names(name: str) -> None:
    table = table_named(name)
    runs = any(not row.reason for row in table.rows)
    assert all(column.dataset in QUESTION_FORMATS or not runs for column in table.columns)
    assert table.metrics <= {*PERCENTS, *COSTS, *MEANS, *COUNTS}
    assert table.metrics or not runs
    for row in table.rows:
        assert row.reason or row.method in {*EXPERIMENTS, *METHODS}, row.label
        assert bool(row.method) != bool(row.reason), row.label
        assert len(row.paper) == len(table.columns), row.label
        assert row.unsure or row.students or any(number is not None for number in row.paper), row.label
    reasons, expected = {row.label: row.reason for row in table.rows if row.reason}, WITHOUT_RUN.get(name, {})
    assert reasons.keys() == expected.keys()
    assert all(said in reasons[label] for label, said in expected.items())


def test_a_row_whose_file_is_missing_is_skipped_and_says_how_to_make_it(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ["reproduce", "ra_isf/table1", "--dataset", str(SAMPLE), "--dry-run"]
    assert run(*given).out.count("--methods skr_knn") == 1  # of both models
    monkeypatch.delenv("HOPGRAPH_LABELS")
    ran = run(*given)
    assert "skr_knn" not in ran.out
    assert "Not run: SKR knn: skr_knn needs labeled training questions" in " ".join(ran.err.split())
    assert "--methods replug" in ran.out
    assert "--methods skr_knn" in run(*given, "--set", "labels=mine.jsonl").out


def test_shares_and_percents_are_in_their_range() -> None:
    for paper in map(read_paper, REPRODUCED_PAPERS):
        top = 100 if paper.scale == "percent" else 1
        for table in paper.tables.values():
            for place, column in enumerate(table.columns):
                if column.metric in {"em", "f1", "acc", "judged", "recall@15"}:
                    assert all(0 <= (row.paper[place] or 0) <= top for row in table.rows)


@pytest.mark.parametrize(
    ("one", "other", "label"),
    [
        ("tor/table5", "tor/table6", ("ToR", "depth 3, width 5,3,3")),
        ("blendfilter/table4", "blendfilter/table5", ("BlendFilter", "BlendFilter")),
        ("ra_isf/table1", "ra_isf/figure3", ("RA-ISF", "k = 5")),
    ],
)
def test_numbers_that_a_paper_prints_twice_agree(one: str, other: str, label: tuple[str, str]) -> None:
    first = next(row for row in table_named(one).rows if row.label == label[0])
    later = [row.paper for row in table_named(other).rows if row.label == label[1]]
    assert any(first.paper[: len(paper)] == paper for paper in later)


def test_rows_that_differ_only_in_the_model_share_a_run() -> None:
    rows = plan_runs(table_named("tor/table1"), "hotpotqa", has_corpus=False)
    folders = [each.folder for each in rows if not each.reason]
    assert folders[:7] == folders[7:]
    assert len(set(folders)) == 7


def test_the_family_chooses_preset_and_demonstrations() -> None:
    for dataset, family in (("nq", "open_domain"), ("strategyqa", "yes_no"), ("musique", "multi_hop")):
        rows = plan_runs(table_named("migres/table3"), dataset, has_corpus=True)
        run = next(each for each in rows if each.row.label == "MIGRES*")
        assert (run.preset, run.assignments) == (family, ("links=false", "abstain=false", f"demonstrations={family}"))


@pytest.mark.parametrize(("name", "rows"), [("ra_isf/table3", 1), ("genground/table3", 5), ("genground/section7_3", 0)])
def test_students_are_used_only_in_their_row(name: str, rows: int) -> None:
    table = table_named(name)
    unbound = [each for each in plan_runs(table, "hotpotqa", has_corpus=True) if not each.reason]
    assert len(unbound) == rows
    (role, *_), *_ = (row.students for row in table.rows if row.students)
    binding = f'models={{"{role}": "student:DIR"}}'
    planned = [each for each in plan_runs(table, "hotpotqa", [binding], has_corpus=True) if not each.reason]
    assert [each.row.label for each in planned if binding in each.assignments] == [
        row.label for row in table.rows if row.students
    ]
    assert len(planned) == rows + 1


@pytest.mark.parametrize("name", ["ra_isf/table1", "ra_isf/table2", "ra_isf/figure2"])
def test_ra_isf_runs_as_in_algorithm_1(name: str) -> None:
    rows = plan_runs(table_named(name), "nq", has_corpus=True)
    own = [each.assignments for each in rows if each.row.method == "ra_isf" and not each.reason]
    assert own
    pinned = {"abstain=false", "exclude_question_text=true", "part_order=side_by_side", "carry_evidence=false"}
    assert all(pinned <= {*assignments} for assignments in own)


@pytest.mark.parametrize("name", ["blendfilter/table5", "genground/table5"])
def test_rows_with_a_second_retriever_are_separate_runs(name: str) -> None:
    table = table_named(name)
    alone = [each for each in plan_runs(table, "hotpotqa", has_corpus=True) if not each.reason]
    assert {each.row.retriever for each in alone} == {table.rows[0].retriever}
    both = [each for each in plan_runs(table, "hotpotqa", has_corpus=True, second_corpus="bm25:x") if not each.reason]
    assert len({each.folder for each in both}) == len(both) == 2 * len(alone)
    assert all(each.second_corpus == (each.row.retriever != table.rows[0].retriever) for each in both)


def test_the_mixture_adds_the_second_corpus_to_the_first() -> None:
    rows = plan_runs(table_named("migres/table9"), "musique", has_corpus=True, second_corpus="faiss:x")
    assert rows[1].assignments[-1] == "second_retriever=faiss:x"
    assert not rows[1].second_corpus


def test_one_command_starts_the_runs_of_both_retrievers(run: Callable[..., Any], tmp_path: Path) -> None:
    given = ["--dataset", str(SAMPLE), "--corpus", "one", "--second-corpus", "bm25:two", "--dry-run"]
    lines = run("reproduce", "genground/table5", *given).out.splitlines()
    of_each = len(lines) // 2
    assert [" --corpus one " in line for line in lines] == [True] * of_each + [False] * of_each
    assert [" --corpus bm25:two " in line for line in lines] == [False] * of_each + [True] * of_each
    assert all(line.endswith("--repeat 3") for line in lines)  # the paper's mean of three runs
    once = run("reproduce", "genground/table5", *given, "--repeat", "1").out
    assert once
    assert "--repeat" not in once


def test_the_oracle_needs_a_corpus() -> None:
    rows = plan_runs(table_named("migres/table3"), "hotpotqa", has_corpus=False)
    assert {each.row.label: each.reason for each in rows if each.reason != each.row.reason} == dict.fromkeys(
        ("MIGRES†", "MIGRES*†"), "adds the data set's contexts to a corpus: use --corpus"
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [("prune_relevance=true", "the table sets this itself"), ("recall=false", "no method of this table")],
)
def test_misplaced_settings_are_refused(given: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        plan_runs(table_named("tor/table5"), "hotpotqa", [given], has_corpus=False)


def test_settings_of_the_user_reach_the_methods_that_have_them() -> None:
    rows = plan_runs(table_named("tor/table1"), "hotpotqa", ["early_stop=2", "reranker=lexical"], has_corpus=False)
    given = {each.row.label: each.assignments for each in rows}
    always = ("links=false", "abstain=false", "demonstrations=multi_hop")
    assert given["ToR"] == ("early_stop=2", "reranker=lexical", *always)
    assert given["ReAct"] == ("reranker=lexical", *always, "max_hops=3")
    assert given["Self-Ask"] == ("reranker=lexical", *always, "max_hops=3", "prompting=joint")


@pytest.mark.parametrize(
    ("name", "said"),
    [("nobody", "available: migres, blendfilter"), ("nobody/table1", "paper 'nobody'"), ("tor/table9", "tor has no")],
)
def test_unknown_names(name: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        run_reproduce(ReproduceOptions(name))


def test_a_small_corpus_and_a_stand_in_are_always_reported() -> None:
    table = table_named("tor/table5")
    told = warnings_for(table, "2wikimultihopqa", pooled=True, stand_ins="answered by offline:x")
    assert told[0] == "Not a language model's scores: answered by offline:x."
    assert told[1].startswith("Never comparable with the paper's number")
    (own,) = warnings_for(table, "2wikimultihopqa", pooled=False, stand_ins="")
    assert "only if the corpus is the paper's: Contriever" in own
    (zero_shot, both) = warnings_for(table_named("genground/table5"), "hotpotqa", pooled=False, stand_ins="")
    assert "; BM25; Google Search." in both
    assert zero_shot.startswith("Zero-shot")


def test_rows_without_worked_examples_are_listed_if_others_have_some() -> None:
    def told(name: str, dataset: str) -> str:
        found = warnings_for(table_named(name), dataset, pooled=False, stand_ins="")
        return next((each for each in found if each.startswith("Zero-shot")), "")

    assert told("blendfilter/table1", "hotpotqa") == told("tor/table5", "hotpotqa") == ""
    assert told("blendfilter/table1", "strategyqa").endswith("ReAct, SelfAsk, ITER-RETGEN.")
    assert "ReAct" not in told("genground/table2", "hotpotqa")
    assert "SearChain" in told("genground/table2", "hotpotqa")


def test_list_and_show(capsys: pytest.CaptureFixture[str]) -> None:
    run_reproduce(ReproduceOptions())
    run_reproduce(ReproduceOptions("tor"))
    run_reproduce(ReproduceOptions("genground/table3"))
    told = capsys.readouterr()
    assert all(name in told.out for name in (*REPRODUCED_PAPERS, "tor/table5", "GenGround (IDG) (not run)", "42.08"))
    assert "student was not released" in " ".join(told.err.split())


def test_a_dry_run_prints_the_commands(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "runs"
    sample: Any = {"limit": 2, "skip": 5, "sample": "random:7"}
    run_reproduce(ReproduceOptions("tor/table5", SAMPLE, model="offline:extractive", out=out, dry_run=True, **sample))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert all(line.startswith("hopgraph eval ") and "--limit 2 --skip 5 --sample random:7" in line for line in lines)
    assert lines[3].endswith("--set prune_repetitive=false --set prune_relevance=false")
    assert not out.exists()


def test_a_dry_run_without_a_file_prints_the_commands_for_each_data_set(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run_reproduce(ReproduceOptions("ra_isf/table4", model="offline:extractive", out=tmp_path / "t4", dry_run=True))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[2] for line in lines] == ["nq.json", "triviaqa.json", "strategyqa.json"]
    assert [re.search(r"--out (\S+)", line)[1] for line in lines] == [  # pyright: ignore[reportOptionalSubscript]
        f"{tmp_path}/t4-{dataset}/llama2-13b" for dataset in ("nq", "triviaqa", "strategyqa")
    ]


def test_rows_share_an_index_and_are_shown_next_to_the_papers_results(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    options = ReproduceOptions("ra_isf/table2", SAMPLE, model="offline:extractive", out=tmp_path, limit=1)
    run_reproduce(options)
    told = " ".join(capsys.readouterr().out.split())
    assert "Not a language model's scores: answered by offline:extractive" in told
    assert "Never comparable with the paper's number" in told
    runs = [path.parent.parent for path in tmp_path.glob("*/corpus/manifest.json")]
    assert len(runs) == 7
    assert {RunReader(run).manifest.corpus.retriever for run in runs} == {"contexts"}
    assert {run.stat().st_mode & 0o777 for run in runs} == {0o700}
    assert len({(run / "corpus" / "manifest.json").stat().st_ino for run in runs}) == 1
    with (tmp_path / "reproduction.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["column"] == "EM ours"]
    assert len(rows) == 7
    finished = {path: path.read_bytes() for path in tmp_path.glob("*/results/*.jsonl")}
    run_reproduce(options)
    assert {path: path.read_bytes() for path in finished} == finished


def test_a_failing_row_does_not_stop_the_others(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = RunEngine.run

    def refuse(trouble: Any) -> None:
        async def stop_at_one_step(self: RunEngine, jobs: list[QuestionJob]) -> str:
            if any(job.settings.method == "one_step" for job in jobs):
                raise RunError("the run was stopped: no such thing", trouble)
            return await answered(self, jobs)

        monkeypatch.setattr(RunEngine, "run", stop_at_one_step)

    command = ["reproduce", "ra_isf/table2", "--dataset", str(SAMPLE), "--limit", "1", "--out", str(tmp_path)]
    refuse("")
    ran = run(*command)
    assert (ran.code, "RAG (not run)" in ran.out) == (0, True)
    assert "Not run: RAG: the run was stopped: no such thing" in " ".join(ran.err.split())
    assert re.search(r"^No QDM +1 ", ran.out, re.MULTILINE)
    refuse("refusal")
    assert run(*command).code == 1


def test_failed_questions_affect_the_table_and_the_exit_code(run: Callable[..., Any], tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "runs"
    shutil.copytree(SAMPLE, data)
    queries = (data / "queries.jsonl").read_text(encoding="utf-8")
    (data / "queries.jsonl").write_text(queries.replace('"text": "', f'"text": "{"x" * 10_000}', 1), encoding="utf-8")
    command = ["reproduce", "genground/table3", "--dataset", str(data), "--out", str(out), "--limit", "1"]
    ran = run(*command)
    assert ran.code == 3, ran.err
    assert re.search(r"\d questions failed; --retry-failed asks them again", (out / "reproduction.md").read_text())
    assert run(*command).code == 3
