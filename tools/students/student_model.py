"""`student:DIR`: a trained student, or the untrained weights of a base, as a chat model of this process."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, convert_to_openai_messages
from langchain_core.outputs import ChatResult
from pydantic import ConfigDict, SkipValidation
from typing_extensions import override

from hopgraph.state import SpecError
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.models.offline.offline_model import as_result
from hopgraph.tools.scoring.weights.batched import Batched, run_in_batches, shared, tokens_per_batch
from hopgraph.tools.scoring.weights.model_specs import (
    LOCAL_OPTIONS,
    NamedModel,
    number_option,
    placement_of,
    read_spec,
    share_option,
)
from hopgraph.tools.scoring.weights.text_model import TextModel, loading, max_length_of
from hopgraph.tools.students.base_models import BaseWeights, find_base, load_base, prompt_texts
from hopgraph.tools.students.student_record import RECORD, StudentMessage, StudentRecord, is_yes_no, read_record

OPTIONS = (*LOCAL_OPTIONS, "threshold", "merge", "max_tokens")
_ADAPTER = "adapter_config.json"
_GREEDY = {"do_sample": False, "num_beams": 1, "temperature": None, "top_p": None, "top_k": None}
"""Whatever a base's own settings for writing are."""
_UNTRAINED_TOKENS, _LONGEST_PROMPT = 256, 8192
Prompt = Sequence[StudentMessage]
Answering = Callable[[list[Prompt]], list[str]]
"""Returns one reply per prompt, in order."""


class StudentModel(BaseChatModel):
    """Reply as a student does: greedily, or by the most probable class of a classifier.

    Concurrent requests are answered in batches, by one thread. The weights are loaded at the first request, once per
    process. Token counts are estimates.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    model_name: str
    """The spec."""
    load: SkipValidation[Callable[[], Batched[Prompt, str]]]
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


def _prompt(messages: Sequence[BaseMessage]) -> Prompt:
    return [StudentMessage.model_validate(each) for each in convert_to_openai_messages(messages)]


def make_student(rest: str) -> StudentModel:
    """Make the model from what follows `student:` in its spec; its weights are only found, not loaded.

    `?threshold=0.3` is the probability from which a yes-no classifier says yes, `?merge=no` keeps a LoRA adapter apart
    from its base, `?max_tokens=` limits a reply; `device`, `dtype` and others are as of a reranker with weights.

    Raises:
        SpecError: no such student or base, an unfinished one, a missing package, or a wrong option.
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
    place, threshold = placement_of(named), _threshold(named, record)
    key = ("student", folder.absolute(), base.folder, base.gguf, place, str(named.options))
    make = partial(_load, named, base, record, folder, threshold, merge == "yes")
    return StudentModel(model_name=named.spec, load=lambda: shared(key, lambda: Batched(make(), named.spec)))


def _base_of(named: NamedModel, record: StudentRecord | None, folder: Path) -> BaseWeights:
    if record is None:
        return find_base(named)
    if not (folder / _ADAPTER).is_file():
        return BaseWeights(named, folder)
    require("peft", "train")
    return find_base(NamedModel(named.spec, named.kind, record.base, named.options))


def _threshold(named: NamedModel, record: StudentRecord | None) -> float | None:
    if "threshold" in named.options and not (record and is_yes_no(record.labels)):
        raise SpecError(f"option 'threshold' of {named.spec!r} is for classifiers that say yes or no")
    return share_option(named, "threshold", None)


def _load(
    named: NamedModel,
    base: BaseWeights,
    record: StudentRecord | None,
    folder: Path,
    threshold: float | None,
    merge: bool,
) -> Answering:
    """Load the weights and return what answers prompts."""
    place, kind = placement_of(named), record.kind if record else base.kind()
    if record is None and kind == "classifier":
        raise SpecError(f"{named.spec!r} cannot reply before it is trained; run hopgraph train")
    labels = record.labels if record else []
    model, tokenizer = load_base(base, kind, place.torch_dtype, len(labels))
    if record and (folder / _ADAPTER).is_file():
        model = _with_adapter(named, model, folder, merge)
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


def _classify(loaded: TextModel, labels: Sequence[str], threshold: float | None, prompts: list[Prompt]) -> list[str]:
    """Return the reply of each prompt's most probable class, or of a yes-no classifier yes from the threshold on."""
    texts = [prompt[-1].content for prompt in prompts]
    shares = loaded.run(texts, lambda tensors: loaded.model(**tensors).logits.softmax(-1), truncation=True)
    if threshold is not None:
        return [labels[share[1] >= threshold] for share in shares]
    return [labels[share.index(max(share))] for share in shares]


def _write(loaded: TextModel, is_seq2seq: bool, limit: int, prompts: list[Prompt]) -> list[str]:
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
