"""SKR-knn: which questions are looked up, and which labels are refused."""

from pathlib import Path
from typing import Any

import pytest

from hopgraph.state import SettingsError
from hopgraph.tools.retrieval.index_builder import build_index
from support.baselines_script import BORN, METHODS, go, labels_in, queries_of, settings_for
from support.walks import Script, walk


@pytest.mark.parametrize(
    ("labels", "neighbors", "retrieves"),
    [
        (["harms", "harms", "helps"], 1, False),
        (["helps", "harms", "harms"], 1, True),
        (["helps", "harms", "harms"], 2, True),
        (["harms", "helps", "harms", "helps"], 2, False),
        (["harms", "helps", "harms", "helps"], 9, False),
        (["harms", "helps", "helps", "helps"], 3, True),
        (["harms", "same", "same", "helps"], 1, False),
        (["same", "same", "helps"], 1, True),
        (["helps", "helps"], 2, True),
        (["harms"], 5, False),
    ],
    ids=["nearest", "helps", "draw against", "draw", "all", "most help", "no difference", "far", "no harm", "one"],
)
def test_the_neighbors_vote_against_the_tendency_of_all_labels(
    labels: list[str], neighbors: int, retrieves: bool, tmp_path: Path
) -> None:
    run, script = go("skr_knn", labels=labels_in(tmp_path, *labels), neighbors=neighbors)
    assert (len(script.steps), bool(queries_of(run))) == (1, retrieves)
    assert ("<passages>" in script.prompts[0]) == retrieves
    assert (run.result["answer"], run.result["explanation"]) == ("Tallinn", BORN)
    assert bool(run.result["citations"]) == retrieves
    [decided] = [event["data"] for event in run.events if event["event"] == "retrieval"]
    nearest = [each for each in labels if each != "same"][:neighbors]
    assert decided == {"share": nearest.count("helps") / len(nearest), "needed": retrieves}


def refused(**settings: Any) -> str:
    script = Script({})
    with pytest.raises(SettingsError) as raised:
        walk(METHODS["skr_knn"].graph, {"question": "Who?"}, settings_for("skr_knn", script, **settings))
    assert not script.steps
    return str(raised.value)


def test_without_labels_the_command_that_makes_them_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOPGRAPH_LABELS")
    assert "`hopgraph build skr_knn DATASET --out FILE`" in refused()


def test_labels_of_another_model_or_corpus_are_refused(tmp_path: Path) -> None:
    other = labels_in(tmp_path, "helps", model="openai:other")
    assert "made with the model openai:other, and this run has ScriptedChatModel; make them" in refused(labels=other)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("Ada Brink was born in Tallinn.")
    build_index(tmp_path / "notes", tmp_path / "index")
    elsewhere = labels_in(tmp_path, "helps", corpus="abc")
    assert "made with the corpus abc" in refused(labels=elsewhere, retriever=f"bm25:{tmp_path / 'index'}")
    assert go("skr_knn", labels=elsewhere)[0].result["answer"]  # of a corpus without a fingerprint
