"""MaxSim over stored vectors, against the definition; no model is needed."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopgraph.state import CorpusError, SpecError
from hopgraph.tools.retrieval import build_index, delete_passages, late_interaction, resolve_retriever, update_index
from hopgraph.tools.retrieval.late_interaction import (
    LateInteractionInfo,
    LateInteractionModel,
    TokenVectors,
    add_late_interaction,
    read_late_interaction_info,
    write_token_vectors,
)
from hopgraph.tools.scoring.weights.batched import Batched

SIZE = 8


def vectors_of(count: int, seed: int) -> Any:
    found = np.random.default_rng(seed).normal(size=(count, SIZE)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def written(folder: Path, passages: list[Any]) -> TokenVectors:
    place = folder / "colbert"
    place.mkdir(parents=True)
    facts = LateInteractionInfo(model="m", model_fingerprint="0" * 64, dimension=SIZE, corpus_fingerprint="f")
    assert write_token_vectors(place, passages, facts) == sum(map(len, passages))
    return TokenVectors(place, read_late_interaction_info(folder))


def by_definition(query: Any, passages: list[Any]) -> list[float]:
    return [
        sum(max(float(one @ other) for other in vectors.astype(np.float16).astype(np.float32)) for one in query)
        for vectors in passages
    ]


@given(
    counts=st.lists(st.integers(1, 7), min_size=1, max_size=30),
    query_tokens=st.integers(1, 5),
    at_once=st.integers(1, 40),
)
def test_scores_are_those_of_the_definition_however_they_are_cut(
    counts: list[int], query_tokens: int, at_once: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    passages = [vectors_of(count, seed) for seed, count in enumerate(counts)]
    query = vectors_of(query_tokens, 999)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(late_interaction, "_TOKENS_AT_ONCE", at_once)
        found = written(tmp_path_factory.mktemp("index"), passages)
        scores = found.score(query, np.arange(len(counts)))
        rows = np.arange(len(counts))[::-2]
        some = found.score(query, rows)
    assert scores == pytest.approx(by_definition(query, passages), abs=1e-5)
    assert some == pytest.approx(scores[rows], abs=1e-5)
    assert found.score(query, rows[:0]).shape == (0,)
    assert [len(found.of_passage(row)) for row in range(len(counts))] == counts


def indexed(folder: Path) -> Path:
    (folder / "notes.txt").write_text("Some notes on foxes. They run.")
    build_index(folder / "notes.txt", folder / "index")
    written(folder / "index", [vectors_of(3, 1)])
    return folder / "index"


def edit(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        content = json.loads((folder / "facts.json").read_text())
        change(content)
        (folder / "facts.json").write_text(json.dumps(content))

    return apply


def same_corpus(folder: Path) -> None:
    manifest = json.loads((folder.parent / "manifest.json").read_text())
    edit(lambda facts: facts.update(corpus_fingerprint=manifest["corpus"]["fingerprint"]))(folder)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda folder: (folder / "facts.json").unlink(), "it has no vectors for colbert; build it with"),
        (lambda folder: (folder / "facts.json").write_text("{"), "facts.json: damaged, or of another version"),
        (edit(lambda facts: facts.update(format_version=2)), r"another version of hopgraph \(format_version: "),
        (edit(lambda facts: facts.update(dimension=4)), "vectors.f16 or ends.npy does not match facts.json"),
        (lambda folder: (folder / "vectors.f16").write_bytes(b"x" * 47), "damaged .vectors.f16 or ends.npy does not"),
        (lambda folder: np.save(folder / "ends.npy", np.array([2])), "ends.npy does not match facts.json"),
        (
            lambda folder: np.save(folder / "ends.npy", np.array([{}]), allow_pickle=True),
            "damaged .Array can.t be memory-mapped",
        ),
        (lambda folder: (folder / "ends.npy").unlink(), "damaged .*ends.npy"),
        (edit(lambda facts: facts.update(corpus_fingerprint="other")), "built from other passages"),
    ],
)
def test_damaged_vectors_are_refused_in_one_line(tmp_path: Path, damage: Callable[[Path], Any], reason: str) -> None:
    folder = indexed(tmp_path)
    same_corpus(folder / "colbert")
    damage(folder / "colbert")
    with pytest.raises(CorpusError, match=reason) as error:
        resolve_retriever(f"colbert:{folder}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("colbert:", "the folder's name is missing; write colbert:DIR"),
        ("colbert:x?speed=1", "option 'speed' of .* is unknown; valid: candidates, model, device"),
    ],
)
def test_a_bad_spec_says_what_is_wrong(spec: str, reason: str) -> None:
    with pytest.raises(SpecError, match=reason):
        resolve_retriever(spec)


def test_an_index_without_vectors_and_a_missing_one_say_so(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no such index"):
        resolve_retriever(f"colbert:{tmp_path / 'missing'}")


def test_an_update_encodes_new_texts_alone_and_is_as_built_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[str] = []

    def encode(items: list[tuple[str, bool]]) -> list[Any]:
        encoded.extend(text for text, _ in items)
        return [vectors_of(1 + len(text) % 5, sum(text.encode())) for text, _ in items]

    model = LateInteractionModel("m", "0" * 64, SIZE, Batched(encode))
    monkeypatch.setattr(late_interaction, "load_late_interaction", lambda _: model)
    docs, out = tmp_path / "docs", tmp_path / "index"
    docs.mkdir()
    for number in range(9):
        (docs / f"f{number}.txt").write_text(f"An owl{number} sits here.")
    add_late_interaction(build_index(docs, out).path, model)
    encoded.clear()
    (docs / "f0.txt").unlink()
    (docs / "f4.txt").write_text("A badger digs there.")
    (docs / "f10.txt").write_text("A stoat runs.")
    update_index(docs, out)
    assert len(encoded) == 2
    anew = build_index(docs, tmp_path / "anew").path
    tokens = add_late_interaction(anew, model)
    encoded.clear()
    assert add_late_interaction(out, model) == tokens  # as the command does after an update
    for name in ("facts.json", "vectors.f16", "ends.npy"):
        assert (out / "colbert" / name).read_bytes() == (anew / "colbert" / name).read_bytes()
    assert delete_passages(out, ["f7.txt#1"]) == 1
    assert encoded == []
    resolve_retriever(f"colbert:{out}")
    monkeypatch.setattr(late_interaction, "load_late_interaction", lambda _: replace(model, fingerprint="other"))
    (docs / "f4.txt").write_text("A newt swims.")
    with pytest.raises(CorpusError, match="has other weights or settings; use the same model"):
        update_index(docs, out)


def test_an_index_with_vectors_can_be_built_again(tmp_path: Path) -> None:
    folder = indexed(tmp_path)
    (folder / ".colbert.building-x").mkdir()
    (folder / ".colbert.building-x" / "lock").touch()
    build_index(tmp_path / "notes.txt", folder)
    assert not (folder / "colbert").exists()
    assert {path.name for path in folder.iterdir()} >= {"manifest.json", "bm25"}
