"""Train students: SFT by TRL for causal models, transformers' trainers for T5 and classifiers, LoRA by peft.

This module adds the settings, the record, and resuming an interrupted training by the same call.
"""

import json
import shutil
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, cast

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hopgraph.state import CorpusError, RunError, SettingsError
from hopgraph.state.errors import format_error
from hopgraph.tools.io.guarded_files import write_files
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.students.student_model import BaseWeights, load_base, prompt_texts
from hopgraph.tools.students.student_record import (
    RECORD,
    DataInfo,
    MarkedSetting,
    StudentExample,
    StudentKind,
    StudentRecord,
    class_replies,
    read_record,
)

LOSSES, CHECKPOINTS = "loss.json", "checkpoints"
TRAINED_PAPERS = ("genground", "ra_isf")
_PACKAGES = ("torch", "transformers", "peft", "trl", "accelerate", "datasets")
_LORA_TASKS = {"causal": "CAUSAL_LM", "seq2seq": "SEQ_2_SEQ_LM", "classifier": "SEQ_CLS"}
_END_TOKENS = 4  # that a chat template may add after a reply
_IGNORED = -100  # label of tokens without loss
TrainingProgress = Callable[[str, int, int | None], None]


class TrainingSettings(BaseModel):
    """Hyperparameters of a training run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    learning_rate: float = Field(gt=0, lt=1)
    weight_decay: float = Field(ge=0, lt=1)
    epochs: float = Field(gt=0)
    batch: int = Field(ge=1)
    """Examples per forward pass."""
    accumulation: int = Field(ge=1)
    """Forward passes per optimizer step."""
    schedule: Literal["linear", "cosine", "constant", "constant_with_warmup"]
    warmup: float = Field(ge=0, lt=1)
    """Share of all steps."""
    max_length: int = Field(ge=16)
    """Tokens of prompt and reply."""
    lora_rank: int = Field(ge=0)
    """0 trains all weights."""
    lora_alpha: int = Field(ge=1)
    lora_dropout: float = Field(ge=0, lt=1)
    precision: Literal["auto", "fp32", "bf16"]
    """`auto` is bf16 if the GPU or CPU supports it."""
    balance: bool
    """True if examples with rarer replies are repeated until all replies are about equally frequent."""
    checkpoint_steps: int = Field(ge=1)
    seed: int = Field(ge=0)


def choose_settings(
    role: str, kind: StudentKind, given: Mapping[str, str]
) -> tuple[TrainingSettings, dict[str, MarkedSetting]]:
    """Return the settings of a role's paper, overridden by `given`.

    Raises SettingsError for an unknown paper, or a setting that is unknown or out of range.
    """
    parts = _read_settings(role.partition("/")[0])
    marked = {**parts.get("all", {}), **parts.get(kind, {})}
    marked |= {name: MarkedSetting(value=value, source="set") for name, value in given.items()}
    try:
        settings = TrainingSettings.model_validate({name: each.value for name, each in marked.items()})
    except ValidationError as error:
        known = ", ".join(TrainingSettings.model_fields)
        raise SettingsError(f"training settings: {format_error(error, got=True)}; known: {known}") from None
    used = settings.model_dump()
    return settings, {name: MarkedSetting(value=used[name], source=each.source) for name, each in marked.items()}


def _read_settings(paper: str) -> dict[str, dict[str, MarkedSetting]]:
    if paper not in TRAINED_PAPERS:
        raise SettingsError(f"there are no training settings for {paper!r}")
    text = files(__package__ or "").joinpath("settings", f"{paper}.yaml").read_text("utf-8")
    parts = cast("dict[str, dict[str, Any]]", yaml.safe_load(text))
    return {
        part: {name: MarkedSetting(value=value, source=source) for name, (value, source) in settings.items()}
        for part, settings in parts.items()
    }


@dataclass(frozen=True)
class TrainingPlan:
    """Base model, data, settings and output folder of a training."""

    out: Path
    base: BaseWeights
    kind: StudentKind
    settings: TrainingSettings
    marked: dict[str, MarkedSetting]
    examples: Sequence[StudentExample]
    data: DataInfo


def train(plan: TrainingPlan, progress: TrainingProgress) -> StudentRecord:
    """Train the student, or resume from the last checkpoint; a finished student is returned unchanged.

    Writes the weights or LoRA adapter, the tokenizer, `student.json`, and `loss.json` with the loss of each step into
    `out`. Under `accelerate launch` every process calls this, and the first one writes.

    Raises:
        SettingsError: `out` has other files, or was started with other settings, data or another base.
        SpecError: a package is missing, or the weights cannot be loaded. CorpusError: no example is short enough.
        RunError: out of memory, or the loss is not a number.
    """
    for package in _PACKAGES:
        require(package, "train")
    record = _start_record(plan)
    if record.seconds is not None:
        return record
    started = time.monotonic()
    _silence_libraries()
    trainer, left_out, longest = _make_trainer(plan, record)
    trainer.remove_callback(require("transformers").PrinterCallback)
    trainer.add_callback(_reporter(progress))
    try:
        trainer.train(resume_from_checkpoint=_last_checkpoint(plan.out))
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and "memory" not in str(error).lower():
            raise
        advice = "set a smaller batch (and accumulation larger) or max_length"
        raise RunError(f"{plan.out}: out of memory; {advice}") from None
    losses = [each for each in trainer.state.log_history if "loss" in each]
    if any(each["loss"] != each["loss"] for each in losses):
        raise RunError(f"{plan.out}: the loss is not a number; set a smaller learning_rate, or precision=fp32")
    trainer.save_model(str(plan.out))
    record.left_out, record.reply_tokens = left_out, 2 * longest
    record.seconds = round(time.monotonic() - started, 1)
    if trainer.is_world_process_zero():
        write_files({plan.out / LOSSES: json.dumps(losses, indent=1).encode()})
        record.write(plan.out)
        shutil.rmtree(plan.out / CHECKPOINTS, ignore_errors=True)
    return record


def _start_record(plan: TrainingPlan) -> StudentRecord:
    """Write the record of a new training, or return that of the one to resume."""
    record = StudentRecord(
        base=plan.base.named.name,
        kind=plan.kind,
        labels=class_replies(plan.examples) if plan.kind == "classifier" else [],
        settings=plan.marked,
        data=plan.data,
        versions={name: version(name) for name in _PACKAGES},
    )
    if not (plan.out / RECORD).exists():
        if plan.out.exists() and any(plan.out.iterdir()):
            raise SettingsError(f"--out {plan.out}: it is not empty and has no student; choose another folder")
        record.write(plan.out)
        return record
    before = read_record(plan.out)
    for name in ("base", "kind", "labels", "data"):
        if getattr(before, name) != getattr(record, name):
            raise SettingsError(f"--out {plan.out}: it was started with another {name}; choose another folder")
    for name, setting in record.settings.items():
        if name != "checkpoint_steps" and before.settings[name].value != setting.value:
            raise SettingsError(f"--out {plan.out}: it was started with {name}={before.settings[name].value}")
    return before


def _silence_libraries() -> None:
    """Hide the libraries' progress bars, log messages and future warnings."""
    for package in ("transformers.utils.logging", "datasets.utils.logging"):
        output = require(package, "train")
        output.disable_progress_bar()
        output.set_verbosity_error()
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers|trl|peft|torch")


def _last_checkpoint(out: Path) -> str | None:
    """Return the last complete checkpoint, i.e. with a trainer state, which is written last."""
    found = sorted((out / CHECKPOINTS).glob("checkpoint-*"), key=lambda each: int(each.name.rpartition("-")[2]))
    for folder in reversed(found):
        try:
            json.loads((folder / "trainer_state.json").read_text("utf-8"))
        except (OSError, ValueError):
            continue
        return str(folder)
    return None


def _reporter(progress: TrainingProgress) -> Any:
    class Report(require("transformers").TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            progress("train", state.global_step, state.max_steps)

    return Report()


def balance_replies(examples: Sequence[StudentExample]) -> list[StudentExample]:
    """Repeat examples with rarer replies until each reply is about as frequent as the commonest; keeps the order."""
    counts = Counter(each.reply for each in examples)
    most = max(counts.values())
    return [each for each in examples for _ in range(most // counts[each.reply])]


def _arguments(plan: TrainingPlan, kind: Any, **more: Any) -> Any:
    """Return the libraries' training arguments, with a fixed seed and without reporting to other services."""
    torch, ours = require("torch"), plan.settings
    return kind(
        output_dir=str(plan.out / CHECKPOINTS),
        learning_rate=ours.learning_rate,
        weight_decay=ours.weight_decay,
        num_train_epochs=ours.epochs,
        per_device_train_batch_size=ours.batch,
        gradient_accumulation_steps=ours.accumulation,
        lr_scheduler_type=ours.schedule,
        warmup_steps=ours.warmup,
        seed=ours.seed,
        bf16=_in_bf16(plan),
        use_cpu=not torch.cuda.is_available(),
        save_steps=ours.checkpoint_steps,
        save_total_limit=1,
        logging_steps=1,
        train_sampling_strategy="group_by_length",
        report_to=[],
        disable_tqdm=True,
        **more,
    )


def _in_bf16(plan: TrainingPlan) -> bool:
    if plan.settings.precision != "auto":
        return plan.settings.precision == "bf16"
    cuda = require("torch").cuda
    if cuda.is_available():
        return bool(cuda.is_bf16_supported())
    try:  # without native instructions bf16 is many times slower than fp32
        return "avx512_bf16" in Path("/proc/cpuinfo").read_text("ascii", "replace")
    except OSError:
        return False


def _make_trainer(plan: TrainingPlan, record: StudentRecord) -> tuple[Any, int, int]:
    """Return the trainer, the number of overlong examples, and the tokens of the longest reply."""
    torch, lora = require("torch"), plan.settings.lora_rank > 0
    require("transformers").set_seed(plan.settings.seed)  # a new head has random weights
    # Trained weights are in fp32, since bf16 would lose small updates.
    dtype = torch.bfloat16 if lora and _in_bf16(plan) else torch.float32
    model, tokenizer = load_base(plan.base, plan.kind, dtype, len(record.labels))
    if lora:
        peft, ours = require("peft"), plan.settings
        adapter = peft.LoraConfig(
            r=ours.lora_rank,
            lora_alpha=ours.lora_alpha,
            lora_dropout=ours.lora_dropout,
            target_modules="all-linear",
            task_type=_LORA_TASKS[plan.kind],
        )
        model = peft.get_peft_model(model, adapter)
    choose = balance_replies if plan.settings.balance else list[StudentExample]
    if plan.kind == "classifier":
        return _classifier_trainer(plan, model, tokenizer, choose(plan.examples), record.labels), 0, 0
    replies = [len(ids) for ids in tokenizer([each.reply for each in plan.examples])["input_ids"]]
    fitting = [
        each
        for each, prompt, reply in zip(plan.examples, _prompt_ids(plan, tokenizer, plan.examples), replies, strict=True)
        if len(prompt) + (reply + _END_TOKENS if plan.kind == "causal" else 0) <= plan.settings.max_length
    ]
    if not fitting:
        raise CorpusError(f"all examples have more than max_length={plan.settings.max_length} tokens; set another")
    make = _causal_trainer if plan.kind == "causal" else _seq2seq_trainer
    return make(plan, model, tokenizer, choose(fitting)), len(plan.examples) - len(fitting), max(replies)


def _causal_trainer(plan: TrainingPlan, model: Any, tokenizer: Any, examples: Sequence[StudentExample]) -> Any:
    trl = require("trl")

    class CompletionTrainer(trl.SFTTrainer):
        """Compute logits only for the replies: with a large vocabulary, those of the prompts take half of the time."""

        def compute_loss(self, model: Any, inputs: Any, **more: Any) -> Any:
            is_reply = (inputs["labels"] != _IGNORED).any(0)
            kept = len(is_reply) - int(is_reply.nonzero()[0]) + 1
            shown = {**inputs, "labels": inputs["labels"][:, -kept:], "logits_to_keep": kept}
            return require("transformers").Trainer.compute_loss(self, model, shown, **more)

    rows = [each.model_dump(include={"prompt", "completion"}) for each in examples]
    options = _arguments(plan, trl.SFTConfig, max_length=plan.settings.max_length, completion_only_loss=True)
    return _trainer(CompletionTrainer, options, model, tokenizer, rows)


def _seq2seq_trainer(plan: TrainingPlan, model: Any, tokenizer: Any, examples: Sequence[StudentExample]) -> Any:
    transformers = require("transformers")
    replies = tokenizer([each.reply for each in examples])["input_ids"]
    rows = [
        {"input_ids": prompt, "labels": reply}
        for prompt, reply in zip(_prompt_ids(plan, tokenizer, examples), replies, strict=True)
    ]
    options = _arguments(plan, transformers.Seq2SeqTrainingArguments)
    collator = transformers.DataCollatorForSeq2Seq(tokenizer, model=model, label_pad_token_id=_IGNORED)
    return _trainer(transformers.Seq2SeqTrainer, options, model, tokenizer, rows, collator)


def _classifier_trainer(
    plan: TrainingPlan, model: Any, tokenizer: Any, examples: Sequence[StudentExample], labels: Sequence[str]
) -> Any:
    transformers = require("transformers")
    positions = getattr(model.config, "max_position_embeddings", None) or plan.settings.max_length
    tokenizer.model_max_length = min(plan.settings.max_length, positions, tokenizer.model_max_length)
    texts = tokenizer([each.prompt[-1].content for each in examples], truncation=True)["input_ids"]
    rows = [{"input_ids": ids, "labels": labels.index(each.reply)} for ids, each in zip(texts, examples, strict=True)]
    options = _arguments(plan, transformers.TrainingArguments)
    collator = transformers.DataCollatorWithPadding(tokenizer)
    return _trainer(transformers.Trainer, options, model, tokenizer, rows, collator)


def _trainer(kind: Any, options: Any, model: Any, tokenizer: Any, rows: list[Any], collator: Any = None) -> Any:
    return kind(
        model=model,
        args=options,
        train_dataset=require("datasets").Dataset.from_list(rows),
        processing_class=tokenizer,
        data_collator=collator,
    )


def _prompt_ids(plan: TrainingPlan, tokenizer: Any, examples: Sequence[StudentExample]) -> list[list[int]]:
    texts = prompt_texts(tokenizer, [each.prompt for each in examples])
    return tokenizer(texts, add_special_tokens=plan.kind == "seq2seq")["input_ids"]
