"""Rerankers that run in this process, on real architectures with small random weights."""

import asyncio
import json
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the models extra")
pytest.importorskip("transformers", reason="needs the models extra")

from hopgraph.state import ModelError, Reranker, SpecError
from hopgraph.tools.scoring.rerankers import local
from hopgraph.tools.scoring.resolve import resolve_reranker
from hopgraph.tools.scoring.weights.batched import ForwardError, SingleForward, run_in_batches
from support import tiny_models

QUESTIONS = ("Who directed Ed Wood?", "In which city was the director of the film born?")


@pytest.fixture(scope="module")
def bge_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.xlm_roberta(tmp_path_factory.mktemp("bge"))


@pytest.fixture(scope="module")
def cross_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.bert(tmp_path_factory.mktemp("cross"))


def pairs(texts: int = 24) -> list[tuple[str, str]]:
    """Passages, sentences, texts that have to be cut, an over-long query, repeated pairs."""
    passages = tiny_models.corpus()[:texts]
    sentences = [each.partition(". ")[0] for each in passages]
    made = [(question, text) for question in QUESTIONS for text in [*passages, *sentences]]
    return [*made, (QUESTIONS[0], " ".join(passages)), ("why " * 600, passages[0]), made[3], ("ünïcode 東京?", "Tōkyō")]


def plain_logits(folder: Path, some: list[tuple[str, str]], truncation: str) -> list[float]:
    """Score pairs by transformers alone, one by one."""
    transformers, torch = tiny_models.transformers, tiny_models.torch
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        read = (tokenizer(*pair, truncation=truncation, max_length=512, return_tensors="pt") for pair in some)
        return [model(**each).logits[0, 0].item() for each in read]


def test_bge_scores_are_those_of_flag_reranker_and_of_transformers(
    bge_folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    flag = pytest.importorskip("FlagEmbedding", reason="needs the models extra")
    direct = flag.FlagReranker(str(bge_folder), use_fp16=False, devices="cpu").compute_score(pairs())
    capfd.readouterr()
    ours = resolve_reranker(f"bge:{bge_folder}?device=cpu").score(pairs())
    assert capfd.readouterr() == ("", "")  # no progress bars
    assert ours == pytest.approx(direct, abs=1e-5)
    assert max(ours) - min(ours) > 0.05  # not one value for all

    some = slice(None, None, 6)
    assert ours[some] == pytest.approx(plain_logits(bge_folder, pairs()[some], "only_second"), abs=1e-5)


def test_a_decoder_scores_by_its_logit_for_yes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    transformers, torch = tiny_models.transformers, tiny_models.torch
    folder = tiny_models.gemma(tmp_path)
    capfd.readouterr()
    some = pairs(4)[:-3]
    ours = resolve_reranker(f"bge:{folder}?device=cpu").score(some)
    assert capfd.readouterr() == ("", "")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    plain = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()

    def ids(text: str) -> list[int]:
        return tokenizer(text, add_special_tokens=False)["input_ids"]

    prompt = (
        "Given a query A and a passage B, determine whether the passage contains an answer to the query by providing "
        "a prediction of either 'Yes' or 'No'."
    )
    for (query, text), score in zip(some, ours, strict=True):
        pair = [tokenizer.bos_token_id, *ids(f"A: {query}"), *ids("\n"), *ids(f"B: {text}")[:512]]
        read = torch.tensor([[*pair[: 512 + len(ids("\n") + ids(prompt))], *ids("\n"), *ids(prompt)]])
        with torch.no_grad():
            logits = plain(read).logits[0, -1]
        assert score == pytest.approx(logits[ids("Yes")[0]].item(), abs=1e-4)
    assert max(ours) - min(ours) > 1e-3


def test_bge_m3_scores_by_all_three_of_its_representations(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    transformers, torch = tiny_models.transformers, tiny_models.torch
    folder = tiny_models.bge_m3(tmp_path)
    capfd.readouterr()
    some = pairs(6)[:-3]
    ours = resolve_reranker(f"bge:{folder}?device=cpu").score(some)
    assert capfd.readouterr() == ("", "")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    encoder = transformers.AutoModel.from_pretrained(folder).eval()
    colbert, sparse = (torch.load(folder / f"{name}_linear.pt", weights_only=True) for name in ("colbert", "sparse"))
    special = {tokenizer.cls_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id, tokenizer.unk_token_id}

    def represent(text: str) -> tuple[Any, dict[int, float], Any]:
        read = tokenizer(text, truncation=True, max_length=512, return_tensors="pt")
        with torch.no_grad():
            states = encoder(**read).last_hidden_state[0]
        weights: dict[int, float] = {}
        for token, weight in zip(
            read["input_ids"][0].tolist(), states @ sparse["weight"][0] + sparse["bias"], strict=True
        ):
            if token not in special and weight > 0:
                weights[token] = max(weights.get(token, 0.0), float(weight))
        vectors = states[1:] @ colbert["weight"].T + colbert["bias"]
        normalize = torch.nn.functional.normalize
        return normalize(states[0], dim=-1), weights, normalize(vectors, dim=-1)

    for (query, text), score in zip(some, ours, strict=True):
        (dense, weights, vectors), (other_dense, other_weights, other_vectors) = represent(query), represent(text)
        shared = sum(weight * other_weights.get(token, 0.0) for token, weight in weights.items())
        maxsim = float((vectors @ other_vectors.T).max(1).values.mean())
        assert score == pytest.approx(0.4 * float(dense @ other_dense) + 0.2 * shared + 0.4 * maxsim, abs=1e-4)
    assert max(ours) - min(ours) > 1e-3
    (folder / "sparse_linear.pt").unlink()
    with pytest.raises(
        SpecError, match=r"is XLMRobertaModel, and lacks weights, .*; bge: needs a model for SequenceClassification"
    ):
        resolve_reranker(f"bge:{folder}?device=cpu&batch_tokens=99")


def test_rerankers_that_need_another_transformers_are_refused_by_name(bge_folder: Path, tmp_path: Path) -> None:
    for name in ("LayerWiseMiniCPMForCausalLM", "CostWiseGemmaForCausalLM"):
        folder = tmp_path / name
        shutil.copytree(bge_folder, folder)
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, "architectures": [name]}))
        with pytest.raises(SpecError, match=f"{name} does not load with transformers 5"):
            resolve_reranker(f"bge:{folder}")


def test_a_first_batch_runs_once_and_errors_of_the_model_come_out() -> None:
    torch = tiny_models.torch
    runs: list[int] = []

    def model(**inputs: Any) -> Any:
        runs.append(len(inputs["input_ids"]))
        if len(inputs["input_ids"]) > 2:
            raise torch.OutOfMemoryError("full") if len(inputs["input_ids"]) > 3 else RuntimeError("sizes\nof tensors")
        return inputs["input_ids"].sum()

    single = SingleForward(model)
    for _ in range(2):
        assert single(input_ids=torch.tensor([1, 2]), return_dict=True) == 3
    assert single(input_ids=torch.tensor([1, 3]), return_dict=True) == 4
    assert runs == [2, 2]
    with pytest.raises(MemoryError):
        single(input_ids=torch.zeros(4))
    with pytest.raises(ForwardError) as failed:
        single(input_ids=torch.zeros(3))
    assert not isinstance(failed.value, RuntimeError)  # FlagEmbedding would try smaller and smaller batches
    with pytest.raises(ModelError, match="the model failed: sizes of tensors"):
        run_in_batches([0, 0, 0], [1, 1, 1], 3, lambda batch: single(input_ids=torch.tensor(batch)))


def test_cross_encoder_scores_are_raw_logits(cross_folder: Path) -> None:
    library = pytest.importorskip("sentence_transformers", reason="needs the models extra")
    ours = resolve_reranker(f"cross-encoder:{cross_folder}?device=cpu").score(pairs())
    direct = library.CrossEncoder(str(cross_folder), device="cpu")
    identity = tiny_models.torch.nn.Identity()
    assert ours == pytest.approx(direct.predict(pairs(), activation_fn=identity).tolist(), abs=1e-5)
    assert ours[:8] == pytest.approx(plain_logits(cross_folder, pairs()[:8], "longest_first"), abs=1e-5)


@pytest.mark.parametrize("kind", ["bge", "cross-encoder"])
def test_one_batch_gives_the_same_as_pair_by_pair(kind: str, bge_folder: Path, cross_folder: Path) -> None:
    reranker = resolve_reranker(f"{kind}:{bge_folder if kind == 'bge' else cross_folder}")
    some = pairs(6)
    assert isinstance(reranker, Reranker)
    assert reranker.threshold is None
    assert reranker.score(some) == pytest.approx([reranker.score([pair])[0] for pair in some], abs=1e-5)
    assert reranker.score([]) == []


def test_the_papers_reranker_has_the_papers_threshold(bge_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(bge_folder, tmp_path / "bge-reranker-base")
    assert [resolve_reranker(f"{kind}:{folder}").threshold for kind in ("bge", "cross-encoder")] == [3.0, None]


def test_equal_pairs_are_scored_once() -> None:
    seen: list[list[tuple[str, str]]] = []

    def work(distinct: Any) -> list[float]:
        seen.append(list(distinct))
        return [float(len(text)) for _, text in distinct]

    assert local.score_distinct(work, 512, 2048, [("q", "aa"), ("q", "b"), ("q", "aa")]) == [2.0, 1.0, 2.0]
    assert [sorted(each) for each in seen] == [[("q", "aa"), ("q", "b")]]


async def test_twenty_callers_load_a_model_once_and_get_their_own_scores(
    bge_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[threading.Thread] = []
    load = local.check_weights

    def counted(*args: Any, **kwargs: Any) -> Any:
        loads.append(threading.current_thread())
        time.sleep(0.05)  # so that all have asked before the first is done
        return load(*args, **kwargs)

    monkeypatch.setattr(local, "check_weights", counted)
    spec = f"bge:{bge_folder}?batch_tokens=777"
    with ThreadPoolExecutor(20) as pool:
        rerankers = [each.result() for each in [pool.submit(resolve_reranker, spec) for _ in range(20)]]
    assert len(loads) == 1
    some = pairs(10)
    alone = rerankers[0].score(some)
    from_tasks = await asyncio.gather(*(each.ascore(some[at : at + 3]) for at, each in enumerate(rerankers)))  # type: ignore[attr-defined]
    for at, scores in enumerate(from_tasks):
        assert scores == pytest.approx(alone[at : at + 3], abs=1e-5)
    with ThreadPoolExecutor(20) as pool:
        from_threads = list(pool.map(lambda at: rerankers[at].score(some[at : at + 3]), range(20)))
    for at, scores in enumerate(from_threads):
        assert scores == pytest.approx(alone[at : at + 3], abs=1e-5)


def test_wrong_models_are_refused_by_name(tmp_path: Path, cross_folder: Path, bge_folder: Path) -> None:
    three = tiny_models.bert(tmp_path / "three", labels={0: "a", 1: "b", 2: "c"})
    with pytest.raises(SpecError, match="a reranker has one output, and this model has 3 labels"):
        resolve_reranker(f"bge:{three}")
    with pytest.raises(SpecError, match="3 labels"):
        resolve_reranker(f"cross-encoder:{three}")
    seq2seq = tiny_models.t5(tmp_path / "t5")
    for kind in ("bge", "cross-encoder"):
        with pytest.raises(
            SpecError, match=r"is T5ForConditionalGeneration, and lacks .* needs a model for SequenceClassification"
        ):
            resolve_reranker(f"{kind}:{seq2seq}")
    with pytest.raises(SpecError, match="is 2000; the model reads 512 at most"):
        resolve_reranker(f"bge:{bge_folder}?max_length=2000")
    with pytest.raises(SpecError, match=r"option 'use_fp16' of .* is unknown; valid: device, dtype"):
        resolve_reranker(f"bge:{bge_folder}?use_fp16=true")
    with pytest.raises(SpecError, match="write cross-encoder:NAME_OR_PATH"):
        resolve_reranker("cross-encoder:")


def test_bf16_on_the_cpu_is_near_fp32(bge_folder: Path) -> None:
    some = pairs(4)
    exact, rough = (resolve_reranker(f"bge:{bge_folder}?dtype={dtype}").score(some) for dtype in ("fp32", "bf16"))
    assert rough == pytest.approx(exact, abs=0.05)
    assert rough != exact


def test_too_little_memory_halves_the_batch() -> None:
    """An allocation that fails is real where a GPU is full; here the failure is the work's own."""
    torch = tiny_models.torch
    sizes: list[int] = []

    def limited(batch: list[int]) -> list[int]:
        sizes.append(len(batch))
        if len(batch) > 2:
            raise torch.OutOfMemoryError
        return [10 * each for each in batch]

    assert run_in_batches(range(5), [6] * 5, 1000, limited) == [0, 10, 20, 30, 40]
    assert sizes == [5, 2, 3, 1, 2]
