"""Data sets of the hub: specs, missing packages, and a real `datasets` folder in the hub's column layout."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hopgraph.state import CorpusError, SettingsError
from hopgraph.tools.apps.evaluation.datasets import download_dataset, parse_hub_spec, read_questions
from hopgraph.tools.retrieval.corpora import CorpusReading, open_corpus

RECORDS: dict[str, list[dict[str, Any]]] = {
    "hotpot": [
        {
            "id": f"h{number}",
            "question": "Where was Ann born?",
            "answer": "Oslo",
            "type": "bridge",
            "level": "hard",
            "supporting_facts": {"title": ["Ann"], "sent_id": [0]},
            "context": {"title": ["Ann", "Bo"], "sentences": [["Ann was born in Oslo."], ["Bo is a dog."]]},
        }
        for number in range(3)
    ],
    "2wiki": [
        {
            "_id": "w1",
            "question": "Where was Ann born?",
            "answer": "Oslo",
            "type": "compositional",
            "supporting_facts": json.dumps([["Ann", 0]]),
            "evidences": json.dumps([["Ann", "place of birth", "Oslo"]]),
            "context": json.dumps([["Ann", ["Ann was born in Oslo."]]]),
        }
    ],
    "musique": [
        {
            "id": "2hop__1_2",
            "question": "Where was Ann born?",
            "answer": "Oslo",
            "answer_aliases": ["Christiania"],
            "answerable": True,
            "paragraphs": [{"idx": 0, "title": "Ann", "paragraph_text": "Born in Oslo.", "is_supporting": True}],
            "question_decomposition": [
                {"id": 1, "question": "Ann >> born", "answer": "Oslo", "paragraph_support_idx": 0}
            ],
        }
    ],
    "trivia": [{"question": "Where?", "question_id": "t1", "answer": {"value": "Oslo", "aliases": ["Christiania"]}}],
    "nq": [{"question": "where was ann born", "answer": ["Oslo", "Christiania"]}],
    "strategy": [
        {"qid": "s1", "question": "Is it so?", "answer": True, "facts": ["It is."], "decomposition": ["Is it?"]}
    ],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("datasets", reason="install datasets to read from the hub")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path


def stored(folder: Path, name: str) -> str:
    """Write records as a data set folder; return its spec."""
    place = folder / name
    place.mkdir()
    lines = "".join(f"{json.dumps(each)}\n" for each in RECORDS[name])
    (place / "validation.jsonl").write_text(lines, encoding="utf-8")
    return f"hub:{place}?split=validation"


@pytest.mark.parametrize("name", RECORDS)
def test_the_hubs_columns_are_read_as_questions(folder: Path, name: str) -> None:
    path = download_dataset(stored(folder, name), folder / "dataset.jsonl")
    first = next(iter(read_questions(path)))
    assert first.answers
    assert first.answers[0] == ("yes" if name == "strategy" else "Oslo")
    if name in {"hotpot", "2wiki", "musique"}:
        records = list(open_corpus(path).records(CorpusReading()))
        assert {*first.gold} <= {each.id for each in records}
        assert first.gold_titles == ("Ann",)
    if name == "2wiki":
        assert first.triples == (("Ann", "place of birth", "Oslo"),)
    if name == "musique":
        assert (first.hops[0].passage_ids, first.answers) == (first.gold, ("Oslo", "Christiania"))


def test_fetching_is_limited_and_cached(folder: Path) -> None:
    spec, target = stored(folder, "hotpot"), folder / "run" / "dataset.jsonl"
    assert len(list(read_questions(download_dataset(spec, target, limit=2)))) == 2
    assert download_dataset("hub:no/such", target) == target


def test_a_parquet_file_is_read_too(folder: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow = pytest.importorskip("pyarrow")
    (folder / "p").mkdir()
    parquet.write_table(arrow.Table.from_pylist(RECORDS["hotpot"]), folder / "p" / "train-00000-of-00001.parquet")
    path = download_dataset(f"hub:{folder / 'p'}?split=train", folder / "dataset.jsonl")
    assert [each.id for each in read_questions(path)] == ["h0", "h1", "h2"]


def test_a_missing_split_is_reported_in_one_line(folder: Path) -> None:
    spec = stored(folder, "nq").replace("validation", "nowhere")
    with pytest.raises(CorpusError, match=r"cannot be loaded from the hub: .*nowhere") as caught:
        download_dataset(spec, folder / "dataset.jsonl")
    assert "\n" not in str(caught.value)
    assert not (folder / "dataset.jsonl").exists()


def test_a_missing_network_is_reported(folder: Path) -> None:
    """In a separate process, as the packages read the environment on import."""
    code = (
        "import sys, pathlib; from hopgraph.tools.apps.evaluation.datasets import download_dataset; "
        "download_dataset(sys.argv[1], pathlib.Path('x'))"
    )
    command = [sys.executable, "-c", code, "hub:nobody/nothing"]
    ended = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, timeout=120)
    last = ended.stderr.strip().splitlines()[-1]
    assert "CorpusError: hub:nobody/nothing: cannot be loaded from the hub" in last


def test_a_missing_package_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(SettingsError, match=r"hopgraph\[hub\]"):
        download_dataset("hub:hotpotqa/hotpot_qa", tmp_path / "dataset.jsonl")
    assert not (tmp_path / "dataset.jsonl").exists()


def test_specs() -> None:
    assert parse_hub_spec("hub:hotpotqa/hotpot_qa?config=distractor&split=train&revision=abc") == (
        "hotpotqa/hotpot_qa",
        {"name": "distractor", "split": "train", "revision": "abc"},
    )
    assert parse_hub_spec("hub:nq_open") == ("nq_open", {"split": "validation"})
    with pytest.raises(SettingsError, match="lacks a data set"):
        parse_hub_spec("hub:?split=train")
    with pytest.raises(SettingsError, match="option 'splits'"):
        parse_hub_spec("hub:x?splits=train")
