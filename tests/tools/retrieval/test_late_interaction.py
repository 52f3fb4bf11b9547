"""Late interaction with a real model: a small BERT with a projection, saved by PyLate."""

import json
import shutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pylate", reason="needs the colbert extra")

from hopgraph.graphs import METHODS
from hopgraph.state import CorpusError, SpecError
from hopgraph.tools.retrieval import build_index, resolve_retriever
from hopgraph.tools.retrieval.late_interaction import add_late_interaction, load_late_interaction
from support import tiny_models
from support.sample import read_sample_passages

PASSAGES = list(read_sample_passages())
QUESTIONS = ["Who directed Pan's Labyrinth?", "In which city was the sculptor of the Statue of Liberty born?", "x"]


def saved(folder: Path, seed: int) -> Path:
    """Save a ColBERT model of a small random BERT."""
    base = tiny_models.bert(folder / "base")
    tiny_models.torch.manual_seed(seed)
    models: Any = import_module("pylate.models")
    model = models.ColBERT(str(base), device="cpu", embedding_size=16, document_length=96, query_length=24)
    model.save_pretrained(str(folder / "colbert"))
    return folder / "colbert"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("model"), 1)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "corpus.jsonl"
    lines = (json.dumps({"_id": p["id"], "title": p["title"], "text": p["text"]}) for p in PASSAGES)
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def index(source: Path, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("index") / "index"
    build_index(source, folder)
    steps: list[tuple[str, int, int | None]] = []
    tokens = add_late_interaction(folder, load_late_interaction(str(model)), lambda *step: steps.append(step))
    assert tokens > len(PASSAGES)
    assert steps[0] == ("encode", 0, len(PASSAGES))
    return folder


def scores_of_pylate(model: Path, question: str, *, rounded: bool) -> dict[str, float]:
    """Score every passage by nothing but PyLate; rounded: as two-byte numbers are."""
    direct: Any = import_module("pylate.models").ColBERT(str(model), device="cpu")
    torch = tiny_models.torch
    texts = [f"{p['title']} {p['text']}" for p in PASSAGES]
    query = direct.encode([question], is_query=True, convert_to_tensor=True, show_progress_bar=False)[0]
    scores: dict[str, float] = {}
    for passage, text in zip(PASSAGES, texts, strict=True):
        found = direct.encode([text], is_query=False, convert_to_tensor=True, show_progress_bar=False)[0]
        found = found.to(torch.float16).to(torch.float32) if rounded else found
        scores[passage["id"]] = float(import_module("pylate.scores").colbert_scores(query[None], found[None])[0, 0])
    return scores


@pytest.mark.parametrize("question", QUESTIONS)
async def test_scores_are_those_of_pylate(index: Path, model: Path, question: str) -> None:
    retriever = resolve_retriever(f"colbert:{index}")
    found = await retriever.ainvoke(question, k=1000)
    scores = {str(each.id): each.metadata["score"] for each in found}
    assert scores == pytest.approx(scores_of_pylate(model, question, rounded=True), abs=1e-4)
    assert scores == pytest.approx(scores_of_pylate(model, question, rounded=False), abs=5e-3)
    assert list(scores.values()) == sorted(scores.values(), reverse=True)
    assert found[0].metadata["source"] == f"colbert:{index}"
    assert [each.id for each in await retriever.ainvoke(question, k=7)] == [each.id for each in found[:7]]
    assert [each.id for each in retriever.invoke(question, k=7)] == [each.id for each in found[:7]]


async def test_a_long_query_is_read_to_its_end(model: Path) -> None:
    """The model was trained with 24 tokens; BlendFilter sends the question behind a chain of thought."""
    loaded = load_late_interaction(str(model))
    chain = "The film was made in Spain by a director who was born in Mexico and lives there."
    long = f"{chain} {QUESTIONS[0]}"
    [short, first, second] = [await loaded.query(text) for text in (QUESTIONS[0], long, f"{chain} {QUESTIONS[1]}")]
    assert len(short) == 24 < min(len(first), len(second))
    assert not np.allclose(first[: len(second)], second[: len(first)], atol=1e-3)
    direct: Any = import_module("pylate.models").ColBERT(str(model), device="cpu", query_length=len(first))
    [expected] = direct.encode([long], is_query=True, show_progress_bar=False)
    assert first == pytest.approx(expected, abs=1e-4)
    assert direct.tokenize([long])["input_ids"][0][-1] == direct.tokenizer.sep_token_id  # neither cut nor filled up
    [again, *_] = loaded.encode([(QUESTIONS[0], True), (long, True), (long, False)])
    assert again == pytest.approx(short, abs=1e-5)
    most = tiny_models.transformers.AutoConfig.from_pretrained(str(model)).max_position_embeddings
    assert len(await loaded.query("word " * 2 * most)) == most


async def test_candidates_of_bm25_are_scored_the_same(index: Path) -> None:
    question = QUESTIONS[0]
    exact = {e.id: e.metadata["score"] for e in await resolve_retriever(f"colbert:{index}").ainvoke(question, k=999)}
    proposed = [each.id for each in await resolve_retriever(f"bm25:{index}").ainvoke(question, k=12)]
    found = await resolve_retriever(f"colbert:{index}?candidates=12").ainvoke(question, k=5)
    best = sorted(proposed, key=lambda name: (-exact[name], name))[:5]
    assert [each.id for each in found] == best
    assert [each.metadata["score"] for each in found] == pytest.approx([exact[name] for name in best], abs=1e-5)
    everything = await resolve_retriever(f"colbert:{index}?candidates=all").ainvoke(question, k=999)
    assert {each.id for each in everything} == exact.keys()
    assert await resolve_retriever(f"colbert:{index}?candidates=5").ainvoke("unheardof", k=5) == []
    with pytest.raises(SpecError, match=r"'candidates' of .* must be a whole number"):
        resolve_retriever(f"colbert:{index}?candidates=few")


async def test_blank_queries_and_no_passages_find_nothing(index: Path) -> None:
    retriever = resolve_retriever(f"colbert:{index}")
    assert await retriever.ainvoke("  ") == []
    assert await retriever.ainvoke("x", k=0) == []


def test_nothing_in_it_is_pickled(index: Path) -> None:
    files = {path.name: path for path in (index / "colbert").iterdir()}
    assert set(files) == {"facts.json", "vectors.f16", "ends.npy"}
    assert np.load(files["ends.npy"], allow_pickle=False).dtype == np.int64


def test_another_model_is_refused_by_name(index: Path, tmp_path: Path) -> None:
    other = saved(tmp_path, 2)
    with pytest.raises(CorpusError, match=r"its vectors were made by '.*colbert', and '.*colbert' has other weights"):
        resolve_retriever(f"colbert:{index}?model={other}")


async def test_a_model_that_was_moved_is_named(index: Path, model: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(model, tmp_path / "moved")
    found = await resolve_retriever(f"colbert:{index}?model={moved}&device=cpu&batch_size=2").ainvoke("fox", k=3)
    same = await resolve_retriever(f"colbert:{index}").ainvoke("fox", k=3)
    assert [each.id for each in found] == [each.id for each in same]


async def test_new_vectors_are_used_at_once(source: Path, model: Path, tmp_path: Path) -> None:
    build_index(source, tmp_path / "index")
    add_late_interaction(tmp_path / "index", load_late_interaction(str(model)))
    before = await resolve_retriever(f"colbert:{tmp_path / 'index'}").ainvoke("fox", k=3)
    add_late_interaction(tmp_path / "index", load_late_interaction(str(saved(tmp_path, 2))))
    after = await resolve_retriever(f"colbert:{tmp_path / 'index'}").ainvoke("fox", k=3)
    assert [each.metadata["score"] for each in before] != [each.metadata["score"] for each in after]


async def test_the_format_of_colberts_authors_is_read_with_its_own_settings(tmp_path: Path) -> None:
    base = tiny_models.bert(tmp_path / "bert")
    bert = tiny_models.transformers.BertForSequenceClassification.from_pretrained(base)
    torch = tiny_models.torch
    weights = {name: value.contiguous() for name, value in bert.state_dict().items() if name.startswith("bert.")}
    weights["linear.weight"] = torch.randn(24, 32)
    import_module("safetensors.torch").save_file(weights, base / "model.safetensors", {"format": "pt"})
    change("config.json", architectures=["HF_ColBERT"])(base)
    (base / "artifact.metadata").write_text(json.dumps({"query_maxlen": 12, "doc_maxlen": 40}))
    model = load_late_interaction(str(base))
    assert model.dimension == 24
    assert (await model.query("Who directed it?")).shape == (12, 24)
    (vectors,) = model.passages(["word " * 200])
    assert len(vectors) <= 40
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)


async def test_bf16_gives_nearly_the_same(model: Path) -> None:
    exact, rough = load_late_interaction(str(model)), load_late_interaction(f"{model}?dtype=bf16")
    assert await rough.query("fox") == pytest.approx(await exact.query("fox"), abs=0.05)


def drop_projection(folder: Path) -> None:
    modules = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps(modules[:1]))


def change(name: str, **values: Any) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        content = json.loads((folder / name).read_text())
        entry = content[-1] if isinstance(content, list) else content
        entry.update(values)
        (folder / name).write_text(json.dumps(content))

    return apply


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (drop_projection, "is not a late-interaction model: it has no projection layer"),
        (lambda folder: (folder / "modules.json").unlink(), "is not a late-interaction model"),
        (change("modules.json", type="evil.Module"), r"asks for custom code \(evil.Module\)"),
        (change("1_Dense/config.json", activation_function="os.system"), "activation function 'os.system' is none"),
        (lambda folder: (folder / "modules.json").write_text("{}"), "modules.json cannot be read"),
        (lambda folder: (folder / "modules.json").write_text("5"), "modules.json cannot be read"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"x" * 9), "cannot be loaded"),
        (lambda folder: (folder / "1_Dense" / "config.json").unlink(), "cannot be read"),
    ],
)
def test_a_model_of_another_kind_is_refused(
    model: Path, tmp_path: Path, damage: Callable[[Path], Any], reason: str
) -> None:
    copy = shutil.copytree(model, tmp_path / "copy")
    damage(copy)
    with pytest.raises(SpecError, match=reason) as error:
        load_late_interaction(str(copy))
    assert "\n" not in str(error.value)


def test_the_command_line_adds_vectors_and_says_how_to_use_them(
    source: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from hopgraph.tools.apps.cli import main

    out = tmp_path / "index"
    assert main(["index", str(source), "--out", str(out), "--colbert", str(model)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "vectors by" in shown
    assert f"colbert:{out}" in shown.replace(" ", "")
    assert main(["index", str(source), "--out", str(tmp_path / "no"), "--colbert", str(tmp_path / "missing")]) != 0
    assert not (tmp_path / "no").exists()


async def test_a_method_runs_on_it(index: Path) -> None:
    result = await METHODS["genground"].graph.ainvoke(
        {"question": QUESTIONS[0]}, context={"retriever": f"colbert:{index}"}
    )
    assert result["stop_reason"]
    assert {each["source"] for each in result["passages"]} == {f"colbert:{index}"}
