"""The directory of a run: finished questions stay, partial lines are repaired, changes are refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from hopgraph.graphs import METHODS
from hopgraph.state import RunError
from hopgraph.tools.apps.evaluation.batch.run_directory import (
    CorpusSource,
    DatasetInfo,
    Outcome,
    OutcomeKey,
    RunManifest,
    RunReader,
    RunWriter,
    compress_record,
    frozen_settings,
    prompt_hashes,
)
from hopgraph.tools.apps.evaluation.eval_questions import ContextPassage, EvalQuestion, GoldHop, GoldSentence
from support import evaluation_runs

QUESTIONS = [
    EvalQuestion(
        "q1",
        "Who?",
        ("Ann",),
        "bridge",
        ("p1",),
        ("P",),
        sentences=(GoldSentence("p1", "Ann did."),),
        hops=(GoldHop("Who did?", "Ann", ("p1",)),),
        triples=(("a", "b", "c"),),
        facts=("It is so.",),
        contexts=(ContextPassage("p1", "P", "Ann did."),),
    ),
    EvalQuestion("q2", "Which?", None, "", (), ()),
]


def manifest(**settings: Any) -> RunManifest:
    context = METHODS["migres"].Context(**settings)
    return RunManifest(
        dataset=DatasetInfo(name="x", sha256="0", sample="all", questions=2, ids="1"),
        corpus=CorpusSource(retriever="contexts", fingerprint="f", gold_by="ids"),
        repeats=1,
        methods={"migres": frozen_settings(context)},
        prompts={"migres": prompt_hashes(context)},
    )


def outcome(name: str, answer: str = "Ann", **fields: Any) -> Outcome:
    return evaluation_runs.outcome(name, answer, method="migres", **fields)


def test_a_finished_question_is_stored_immediately_with_its_steps(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run", manifest(), QUESTIONS) as run:
        run.add(outcome("q1"), compress_record({"trace": ["\ud800 odd"]}))
        run.add(outcome("q2"), None)
        reader = RunReader(tmp_path / "run")
        first, second = reader.latest("migres").values()
        assert (first["id"], reader.trace(first)) == ("q1", {"trace": ["\ud800 odd"]})
        with pytest.raises(RunError, match="kept no steps"):
            reader.trace(second)
        assert reader.questions() == QUESTIONS


@pytest.mark.parametrize("cut", [1, 10, 200])
def test_a_partial_last_line_is_truncated(tmp_path: Path, cut: int) -> None:
    folder = tmp_path / "run"
    with RunWriter(folder, manifest(), QUESTIONS) as run:
        run.add(outcome("q1"), compress_record({"trace": [1]}))
        run.add(outcome("q2"), compress_record({"trace": [2]}))
    for path in (folder / "results" / "migres.jsonl", folder / "traces" / "migres.gz"):
        content = path.read_bytes()
        path.write_bytes(content[: -min(cut, 20)] if path.suffix == ".gz" else content[:-cut])
    with RunWriter(folder, manifest(), QUESTIONS) as run:
        assert run.finished == {OutcomeKey("migres", "q1", 0): False}
        run.add(outcome("q2", "Bea"), compress_record({"trace": [3]}))
    latest = RunReader(folder).latest("migres")
    assert [each["answer"] for each in latest.values()] == ["Ann", "Bea"]
    assert [RunReader(folder).trace(each) for each in latest.values()] == [{"trace": [1]}, {"trace": [3]}]


def test_the_last_outcome_of_a_retried_question_counts(tmp_path: Path) -> None:
    with RunWriter(tmp_path, manifest(), QUESTIONS) as run:
        run.add(outcome("q1", "", error="down"), None)
        assert run.finished == {OutcomeKey("migres", "q1", 0): True}
        run.add(outcome("q1"), None)
        assert run.finished == {OutcomeKey("migres", "q1", 0): False}
    assert [each["answer"] for each in RunReader(tmp_path).latest("migres").values()] == ["Ann"]


def test_a_damaged_line_in_the_middle_is_reported(tmp_path: Path) -> None:
    with RunWriter(tmp_path, manifest(), QUESTIONS) as run:
        run.add(outcome("q1"), None)
    with (tmp_path / "results" / "migres.jsonl").open("ab") as file:
        file.write(b"{broken\n")
    with pytest.raises(RunError, match=r"migres\.jsonl:2: Invalid JSON: .*; remove this line"):
        RunWriter(tmp_path, manifest(), QUESTIONS)


def test_a_changed_setting_is_refused(tmp_path: Path) -> None:
    with RunWriter(tmp_path, manifest(max_iterations=5), QUESTIONS):
        pass
    with pytest.raises(RunError, match=r"other settings: methods\.migres\.max_iterations was 5, is now 3"):
        RunWriter(tmp_path, manifest(max_iterations=3), QUESTIONS)
    with pytest.raises(RunError, match=r"methods\.migres\.max_llm_calls was None, is now 4"):
        RunWriter(tmp_path, manifest(max_iterations=5, max_llm_calls=4), QUESTIONS)
    # Settings without influence on results may change.
    with RunWriter(tmp_path, manifest(max_iterations=5, request_timeout=9, max_parallel_calls=2), QUESTIONS):
        pass


def test_a_changed_prompt_is_refused(tmp_path: Path) -> None:
    before = manifest()
    with RunWriter(tmp_path, before, QUESTIONS):
        pass
    after = before.model_copy(update={"prompts": {"migres": {**before.prompts["migres"], "decide": "other"}}})
    with pytest.raises(RunError, match=r"prompts\.migres\.decide was '[0-9a-f]{56}"):
        RunWriter(tmp_path, after, QUESTIONS)


def test_a_method_may_be_added(tmp_path: Path) -> None:
    with RunWriter(tmp_path, manifest(), QUESTIONS):
        pass
    direct = METHODS["direct"].Context()
    more = manifest().model_copy(
        update={"methods": {"direct": frozen_settings(direct)}, "prompts": {"direct": prompt_hashes(direct)}}
    )
    with RunWriter(tmp_path, more, QUESTIONS) as run:
        assert list(run.manifest.methods) == ["migres", "direct"]


def test_the_manifest_contains_no_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-verysecret1234567")
    with RunWriter(tmp_path, manifest(model="openai:x?base_url=http://me:sk-verysecret1234567@host/v1"), QUESTIONS):
        pass
    assert "verysecret" not in (tmp_path / "manifest.json").read_text()


def test_a_second_writer_and_other_folders_are_refused(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run", manifest(), QUESTIONS), pytest.raises(RunError, match="another evaluation is"):
        RunWriter(tmp_path / "run", manifest(), QUESTIONS)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    with pytest.raises(RunError, match=r"not an evaluation run \(it has thesis\.tex\)"):
        RunWriter(tmp_path / "mine", manifest(), QUESTIONS)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]
    with pytest.raises(RunError, match="not an evaluation run"):
        RunReader(tmp_path / "none")


@pytest.mark.parametrize("damage", [None, {"methods": 3}, {"methods": None}, {"methods": {"one_step": []}}])
def test_a_damaged_manifest_is_reported_in_one_line(tmp_path: Path, damage: dict[str, Any] | None) -> None:
    whole = json.loads(manifest().model_dump_json())
    (tmp_path / "manifest.json").write_text(json.dumps({**whole, **damage} if damage else {"format_version": 2}))
    with pytest.raises(RunError, match="cannot be used") as error:
        RunReader(tmp_path)
    assert "\n" not in str(error.value)
