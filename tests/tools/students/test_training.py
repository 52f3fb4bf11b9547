"""Training and using students, on real architectures with small random weights."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="needs the train extra")
pytest.importorskip("peft", reason="needs the train extra")

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from hopgraph.tools.apps.cli import main
from hopgraph.tools.students.student_model import PLAIN_TEMPLATE, make_student, prompt_texts
from hopgraph.tools.students.student_record import StudentMessage, read_examples, read_record
from support import tiny_models
from support.student_data import write_data

torch, transformers = tiny_models.torch, tiny_models.transformers
pytestmark = pytest.mark.filterwarnings("ignore")  # of the libraries, about their next versions
WORDS = ("relevance", "irrelevance")
"""Replies of tokens that the small tokenizers have."""
QUICK = ("accumulation=1", "max_length=300", "precision=fp32", "warmup=0")
LEARNS = ("epochs=45", "batch=16", "learning_rate=0.005", "schedule=constant", "checkpoint_steps=999")
SHORT = ("epochs=2", "batch=4", "learning_rate=0.005", "checkpoint_steps=2")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("data"), replies=WORDS)


@pytest.fixture(scope="module")
def gemma(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.gemma(tmp_path_factory.mktemp("gemma"))


def arguments(data: Path, student: Path, out: Path, settings: Sequence[str]) -> list[str]:
    given = [word for each in (*QUICK, *settings) for word in ("--set", each)]
    return ["train", str(data), "--student", str(student), "--out", str(out), *given]


def train(data: Path, student: Path, out: Path, *settings: str, more: Sequence[str] = ()) -> Path:
    assert main([*arguments(data, student, out, settings), *more]) == 0
    return out


def same_weights(one: Path, other: Path) -> bool:
    safetensors: Any = pytest.importorskip("safetensors.torch")
    (mine, theirs) = (safetensors.load_file(next(each.glob("*model.safetensors"))) for each in (one, other))
    return mine.keys() == theirs.keys() and all(torch.equal(mine[name], theirs[name]) for name in mine)


def replies(spec: object, data: Path) -> list[str]:
    """Ask all examples at once."""
    model, kinds = make_student(str(spec)), {"system": SystemMessage, "user": HumanMessage}
    prompts: list[list[BaseMessage]] = [
        [kinds[message.role](message.content) for message in example.prompt] for example in read_examples(data)[0]
    ]

    async def ask() -> list[Any]:
        return await asyncio.gather(*map(model.ainvoke, prompts))

    asked = [each.text for each in asyncio.run(ask())]
    assert model.invoke(prompts[0]).text == asked[0]
    return asked


def wanted(data: Path) -> list[str]:
    return [each.reply for each in read_examples(data)[0]]


def losses(folder: Path) -> list[float]:
    return [each["loss"] for each in json.loads((folder / "loss.json").read_text("utf-8"))]


def test_overfits_16_examples_to_exact_greedy_replies(
    data: Path, gemma: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = train(data, gemma, tmp_path / "student", *LEARNS, more=["--full"])
    shown = capsys.readouterr()
    assert f"""--set 'models={{"ra_isf/judge_relevance": "student:{out}"}}'\n""" in shown.out
    assert shown.err == ""
    assert replies(out, data) == wanted(data)
    record = read_record(out)
    assert (record.kind, record.data.role, record.data.examples, record.left_out) == (
        "causal",
        "ra_isf/judge_relevance",
        16,
        0,
    )
    sources = {name: each.source for name, each in record.settings.items()}
    assert (sources["learning_rate"], sources["weight_decay"]) == ("set", "ours")
    assert losses(out)[-1] < losses(out)[0] / 10
    assert not (out / "checkpoints").exists()
    assert main(["check-student", f"student:{out}", str(data), "--json"]) == 0
    checked = json.loads(capsys.readouterr().out)
    assert (checked["scores"]["f1"]["value"], checked["questions"]) == (1, 8)


def test_lora_merged_and_apart_write_the_same_tokens(data: Path, gemma: Path, tmp_path: Path) -> None:
    settings = (*LEARNS, "epochs=20", "lora_rank=8", "learning_rate=0.02")
    out = train(data, gemma, tmp_path / "student", *settings, more=["--merged"])
    merged = replies(out, data)
    assert merged == replies(f"{out}?merge=no", data) == replies(f"{out / 'merged'}?max_tokens=20", data)
    assert merged != replies(f"{gemma}?max_tokens=20", data)
    assert (out / "adapter_model.safetensors").stat().st_size < (out / "merged/model.safetensors").stat().st_size


def test_prompts_are_masked(data: Path, gemma: Path, tmp_path: Path) -> None:
    out = train(data, gemma, tmp_path / "student", "epochs=1", "batch=16", "lora_rank=4")
    tokenizer = transformers.AutoTokenizer.from_pretrained(gemma)
    model, sums = transformers.AutoModelForCausalLM.from_pretrained(gemma).eval(), [0.0, 0]
    tokenizer.chat_template = PLAIN_TEMPLATE
    for example in read_examples(data)[0]:
        prompt, whole = (
            tokenizer.apply_chat_template([each.model_dump() for each in messages], tokenize=True, return_dict=False)
            for messages in (example.prompt, [*example.prompt, *example.completion])
        )
        with torch.no_grad():
            shares = model(torch.tensor([whole])).logits[0].log_softmax(-1)
        learned = range(len(prompt), len(whole))
        sums = [sums[0] - sum(float(shares[at - 1, whole[at]]) for at in learned), sums[1] + len(learned)]
    assert losses(out) == [pytest.approx(sums[0] / sums[1], rel=1e-4)]


@pytest.mark.long
def test_one_seed_gives_one_student_and_a_killed_training_resumes_to_it(
    data: Path, gemma: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = (*SHORT, "lora_rank=4", "lora_dropout=0.1", "epochs=8")
    first, second = (train(data, gemma, tmp_path / name, *settings) for name in ("first", "second"))
    assert same_weights(first, second)
    other = train(data, gemma, tmp_path / "other", *settings, more=["--set", "seed=7"])
    assert not same_weights(first, other)
    killed = tmp_path / "killed"
    code = f"from hopgraph.tools.apps.cli import main; main({arguments(data, gemma, killed, settings)!r})"
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    while process.poll() is None and not list(killed.glob("checkpoints/checkpoint-*/trainer_state.json")):
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert main(["ask", "Who?", "--model", f"student:{killed}"]) == 2
    assert "its training is not finished" in capsys.readouterr().err
    half = killed / "checkpoints" / "checkpoint-30"  # one that was being written
    half.mkdir()
    train(data, gemma, killed, *settings)
    assert same_weights(first, killed)
    assert losses(first) == losses(killed)
    assert main(arguments(data, gemma, killed, (*settings, "epochs=9"))) == 2
    assert "it was started with epochs=8" in capsys.readouterr().err


def test_a_marker_in_a_passage_is_no_special_token(gemma: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(gemma)
    tokenizer.chat_template = PLAIN_TEMPLATE
    ends = {tokenizer.bos_token_id, tokenizer.eos_token_id}
    assert ends < set(tokenizer("a<eos><bos>a")["input_ids"])
    [text] = prompt_texts(tokenizer, [[StudentMessage(role="user", content="a<eos><bos>a")]])
    assert not ends & set(tokenizer(text, add_special_tokens=False)["input_ids"])


@pytest.mark.long
def test_t5_learns_by_its_own_trainer(data: Path, tmp_path: Path) -> None:
    t5 = tiny_models.t5(tmp_path / "t5")
    out = train(data, t5, tmp_path / "student", *LEARNS, "epochs=120", "learning_rate=0.003")
    assert read_record(out).kind == "seq2seq"
    assert replies(out, data) == wanted(data)


def test_a_classifier_gives_the_reply_of_its_class_and_takes_a_threshold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, bert = write_data(tmp_path / "data"), tiny_models.bert(tmp_path / "bert")
    out = train(data, bert, tmp_path / "student", *LEARNS, "balance=yes")
    assert read_record(out).labels == ['{"relevant": false}', '{"relevant": true}']
    assert replies(out, data) == wanted(data)
    assert set(replies(f"{out}?threshold=0", data)) == {'{"relevant": true}'}
    assert set(replies(f"{out}?threshold=1", data)) == {'{"relevant": false}'}
    for wrong in ("threshold=2", "merge=perhaps"):
        assert main(["check-student", f"student:{out}?{wrong}", str(data)]) == 2
        assert f"option {wrong.partition('=')[0]!r}" in capsys.readouterr().err
    assert main(["check-student", f"student:{bert}", str(data)]) == 2
    assert "cannot reply before it is trained" in capsys.readouterr().err


def test_ra_isf_judges_by_the_student_that_is_bound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, bert = write_data(tmp_path / "data"), tiny_models.bert(tmp_path / "bert")
    out = train(data, bert, tmp_path / "student", *SHORT, "epochs=1")
    capsys.readouterr()
    given = ["--set", "judge=each", "--set", f'models={{"ra_isf/judge_relevance": "student:{out}?threshold=0"}}']
    assert main(["ask", "Who directed Ed Wood?", "--method", "ra_isf", "--json", *given]) == 0
    shown = json.loads(capsys.readouterr().out)
    judged = [
        each["data"] for each in shown["trace"] if each["node"] == "judge_relevance" and "relevant" in each["data"]
    ]
    assert judged
    assert all(each["relevant"] == each["passage_ids"] for each in judged)
