"""Building vectors: killed and resumed, interrupted by the model, added to."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hopgraph.state import BadRecordError, CorpusError, SettingsError
from hopgraph.tools.retrieval import build_index, delete_passages, open_index, update_index
from hopgraph.tools.retrieval.dense import STEP, find_kept_vectors, open_dense
from hopgraph.tools.retrieval.faiss_store import FILE
from support.hashed_words import HashedWords
from support.paths import ROOT

pytest.importorskip("faiss", reason="needs the models extra")
PASSAGES = 12 * STEP - 50

BUILD = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from support.hashed_words import HashedWords
from hopgraph.tools.retrieval import build_index
def stop(stage, done, total):
    if stage == "embed" and done > int(sys.argv[4]):
        print("here", flush=True)
        sys.stdin.read()
build_index(Path(sys.argv[1]), Path(sys.argv[2]), dense=HashedWords(), progress=stop)
"""


def write_corpus(path: Path, names: range, word: str = "fox") -> Path:
    path.write_text("".join(f'{{"_id": "{word}{n}", "text": "{word} number {n} of {n % 7}"}}\n' for n in names))
    return path


def killed_while_embedding(source: Path, out: Path, after: int, program: str = BUILD) -> None:
    command = [sys.executable, "-c", program, str(source), str(out), str(ROOT / "tests"), str(after)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)


def found_in(out: Path) -> int:
    return len(asyncio.run(open_dense(out, HashedWords()).asearch("fox", 2 * PASSAGES)))


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def test_a_killed_build_goes_on_and_embeds_nothing_twice(tmp_path: Path) -> None:
    source, out = write_corpus(tmp_path / "corpus.jsonl", range(PASSAGES)), tmp_path / "index"
    killed_while_embedding(source, out, 8 * STEP - 1)
    assert not out.exists()
    (kept,) = find_kept_vectors(out)
    (vectors,) = kept.glob("*.f32")
    assert vectors.stat().st_size == 8 * STEP * 32 * 4
    with vectors.open("ab") as file:
        file.write(b"half a vector")
    steps: list[tuple[int, int | None]] = []

    def watch(stage: str, done: int, total: int | None) -> None:
        if stage == "embed":
            steps.append((done, total))

    model = HashedWords()
    report = build_index(source, out, dense=model, progress=watch)
    assert report.reused == 8 * STEP
    assert steps[0] == (8 * STEP, PASSAGES)  # the first report says where it resumes
    assert steps[-1] == (PASSAGES, PASSAGES)
    assert model.texts <= PASSAGES - 8 * STEP + 3  # and the sentence by which the model is recognized
    undisturbed = build_index(source, tmp_path / "undisturbed", dense=HashedWords())
    assert undisturbed.reused == 0
    for name in (FILE, "manifest.json", "passages.jsonl"):
        assert (out / name).read_bytes() == (tmp_path / "undisturbed" / name).read_bytes()
    assert hidden(tmp_path) == []


async def test_what_does_not_fit_is_embedded_anew(tmp_path: Path) -> None:
    source, out = write_corpus(tmp_path / "corpus.jsonl", range(PASSAGES)), tmp_path / "index"
    killed_while_embedding(source, out, 8 * STEP - 1)
    lines = source.read_text().splitlines(keepends=True)
    lines[8 * STEP - 1] = '{"_id": "other", "text": "another passage"}\n'
    source.write_text("".join(lines))
    report = build_index(source, out, dense=HashedWords())
    assert report.reused == 0
    assert (await open_dense(out, HashedWords()).asearch("another passage", 1))[0].passage.id == "other"
    assert hidden(tmp_path) == []


def test_another_model_does_not_take_what_is_left(tmp_path: Path) -> None:
    class Negated(HashedWords):
        def embed_query(self, text: str) -> list[float]:
            return [-each for each in super().embed_query(text)]

    Negated.__name__ = "HashedWords"  # the same name, other weights
    source, out = write_corpus(tmp_path / "corpus.jsonl", range(PASSAGES)), tmp_path / "index"
    killed_while_embedding(source, out, 4 * STEP)
    assert build_index(source, out, dense=Negated()).reused == 0
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("kind", ["flat", "hnsw"])
async def test_adding_embeds_the_new_passages_alone(tmp_path: Path, kind: str) -> None:
    out = tmp_path / "index"
    build_index(write_corpus(tmp_path / "one.jsonl", range(300)), out, dense=HashedWords(), faiss=kind)
    more = write_corpus(tmp_path / "two.jsonl", range(250, 400))  # 50 of them are there already
    model = HashedWords()
    report = update_index(more, out, dense=model, add=True)
    assert (report.passages, report.before, report.known, report.skipped) == (400, 300, 50, 0)
    assert model.texts <= 100 + 2
    whole = build_index(
        write_corpus(tmp_path / "all.jsonl", range(400)), tmp_path / "whole", dense=HashedWords(), faiss=kind
    )
    for query in ("fox number 333", "of 3"):
        assert open_index(out).search(query, 30) == open_index(whole.path).search(query, 30)
        found, wanted = [await open_dense(each, HashedWords()).asearch(query, 30) for each in (out, whole.path)]
        assert [hit.score for hit in found] == pytest.approx([hit.score for hit in wanted], abs=1e-5)
    facts, wanted = (json.loads((each / "manifest.json").read_text())["corpus"] for each in (out, whole.path))
    assert facts["source"] == "one.jsonl, two.jsonl"
    assert facts["fingerprint"] == wanted["fingerprint"]


def test_adding_works_without_vectors_and_can_bring_them(tmp_path: Path) -> None:
    out = tmp_path / "index"
    build_index(write_corpus(tmp_path / "one.jsonl", range(30)), out, language="de")
    report = update_index(write_corpus(tmp_path / "two.jsonl", range(30, 40)), out, add=True)
    assert (report.passages, report.dense) == (40, None)
    assert json.loads((out / "manifest.json").read_text())["analyzer"]["language"] == "german"
    update_index(write_corpus(tmp_path / "three.jsonl", range(40, 45)), out, add=True, dense=HashedWords())
    assert found_in(out) == 45


def test_what_cannot_be_added_is_told_and_harms_nothing(tmp_path: Path) -> None:
    out = tmp_path / "index"
    source = write_corpus(tmp_path / "one.jsonl", range(30))
    with pytest.raises(CorpusError, match="no such index"):
        update_index(source, out, add=True)
    build_index(source, out, dense=HashedWords())
    other = tmp_path / "other.jsonl"
    other.write_text('{"_id": "fox3", "text": "something else"}\n')
    with pytest.raises(BadRecordError, match="the id 'fox3' is already in the index, with another text"):
        update_index(other, out, add=True, dense=HashedWords())
    with pytest.raises(SettingsError, match="remains flat when updated; rebuild it as hnsw with --replace"):
        update_index(source, out, add=True, dense=HashedWords(), faiss="hnsw")
    with pytest.raises(CorpusError, match=r"its vectors have 32 dimensions, those of .* have 8"):
        update_index(source, out, add=True, dense=HashedWords(8))
    with pytest.raises(SettingsError, match="is in the language 'auto:english'; leave --language out"):
        update_index(source, out, add=True, dense=HashedWords(), language="de")
    with pytest.raises(SettingsError, match="a FAISS index needs an embedding model: add --dense SPEC"):
        build_index(source, tmp_path / "plain", faiss="flat")
    with pytest.raises(SettingsError, match="'tree' is unknown"):
        build_index(source, tmp_path / "plain", dense=HashedWords(), faiss="tree")
    assert found_in(out) == 30
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("kind", ["flat", "hnsw"])
def test_an_update_embeds_new_texts_alone_and_ends_as_if_built_anew(tmp_path: Path, kind: str) -> None:
    docs, out = tmp_path / "docs", tmp_path / "index"
    docs.mkdir()
    for number in range(40):
        lines = [f"Line {line} of file {number} is about {'foxes' * 20}. " * 12 for line in range(2)]
        (docs / f"f{number:02}.md").write_text("\n\n".join(lines))
    built = build_index(docs, out, dense=HashedWords(), faiss=kind)
    (docs / "f05.md").unlink()
    (docs / "f10.md").write_text((docs / "f10.md").read_text() + "\n\nAn otter joins the others.")
    (docs / "f07b.md").write_text("A badger.")
    model = HashedWords()
    report = update_index(docs, out, dense=model)
    assert built.passages > 80  # several of each file
    assert model.texts <= 3 + 2
    build_index(docs, tmp_path / "anew", dense=HashedWords(), faiss=kind)
    for name in (FILE, "manifest.json", "passages.jsonl", "sources.json"):
        assert (out / name).read_bytes() == (tmp_path / "anew" / name).read_bytes()
    assert report.dense is not None
    assert delete_passages(out, ["f07b.md#1"]) == 1  # without a model
    assert found_in(out) == report.passages - 1
    assert hidden(tmp_path) == []


@pytest.mark.slow
def test_a_killed_update_goes_on_and_embeds_nothing_twice(tmp_path: Path) -> None:
    source, out = write_corpus(tmp_path / "corpus.jsonl", range(100)), tmp_path / "index"
    build_index(source, out, dense=HashedWords())
    write_corpus(source, range(PASSAGES))
    command = BUILD.replace("build_index", "update_index")
    killed_while_embedding(source, out, 4 * STEP - 1, command)
    assert len(open_index(out)) == 100
    model = HashedWords()
    assert update_index(source, out, dense=model).reused == 4 * STEP
    assert model.texts <= PASSAGES - 100 - 4 * STEP + 3
    assert found_in(out) == PASSAGES
