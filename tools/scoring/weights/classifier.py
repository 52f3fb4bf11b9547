"""A model that classifies pairs of texts: what most rerankers and entailment models are."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from hopgraph.state import SpecError
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.scoring.weights.forward import Row, run_batches, tokens_per_batch
from hopgraph.tools.scoring.weights.load_errors import loading
from hopgraph.tools.scoring.weights.model_specs import NamedModel, number_option
from hopgraph.tools.scoring.weights.placement import Placement

TOKENISED_AT_ONCE = 256
"""Texts per call of the tokeniser: its results become Python objects, which holds up other threads."""
USUAL_LENGTH = 512
"""Tokens of a text at most, where nothing else is said: what most of these models were trained on."""
_POSITIONS_BEFORE = 2
"""RoBERTa and its kin begin to count positions after the padding's own number."""

_HEADS = {"SequenceClassification": "SequenceClassification", "Seq2SeqLM": "ConditionalGeneration"}
"""How the names of models end that were made for a task."""

Pair = tuple[str, str]


@dataclass(frozen=True)
class TextModel:
    """A model with its tokeniser, on its device."""

    model: Any
    tokenizer: Any
    device: str
    tokens: int
    """Tokens per batch, padding included."""
    max_length: int
    """Tokens of one text at most, special ones included."""

    def rows(self, texts: Sequence[str] | Sequence[Pair], **how: Any) -> list[Row]:
        """Tokenise texts or pairs of texts; one row each, in order, not padded."""
        rows: list[Row] = []
        for first in range(0, len(texts), TOKENISED_AT_ONCE):
            read = self.tokenizer(
                *_columns(texts[first : first + TOKENISED_AT_ONCE]), max_length=self.max_length, verbose=False, **how
            )
            names = list(read.keys())
            rows.extend(dict(zip(names, row, strict=True)) for row in zip(*(read[name] for name in names), strict=True))
        return rows

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of each text, without special ones."""
        return (
            [len(ids) for ids in self.tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]]
            if texts
            else []
        )

    def run(self, rows: Sequence[Row], forward: Callable[[dict[str, Any]], Any]) -> list[list[float]]:
        """Run rows through `forward` in batches; see `run_batches`."""
        return run_batches(rows, forward, pad=self.tokenizer.pad, device=self.device, tokens=self.tokens)

    def logits(self, rows: Sequence[Row]) -> list[list[float]]:
        """Classify rows: for each the raw logits of all labels, in the order of the model's config."""
        return self.run(rows, lambda padded: self.model(**padded).logits)


def _columns(texts: Sequence[str] | Sequence[Pair]) -> tuple[list[str], ...]:
    if isinstance(texts[0], str):
        return (list(cast("Sequence[str]", texts)),)
    pairs = cast("Sequence[Pair]", texts)
    return [first for first, _ in pairs], [second for _, second in pairs]


def load_text_model(
    named: NamedModel, folder: Path, place: Placement, task: str, *, usual_length: int = USUAL_LENGTH
) -> TextModel:
    """Load a model with the head for a task, and its tokeniser.

    Only safetensors, or `.bin` files read as tensors alone; no code of the model's own.

    Args:
        named: the spec, for its options and for errors.
        folder: where the files are.
        place: device and precision.
        task: as transformers ends its classes: SequenceClassification, Seq2SeqLM.
        usual_length: tokens of a text at most, unless the spec or the model says otherwise.

    Raises:
        SpecError: the files cannot be loaded, or the model was not trained for this task.
    """
    check_task(named, folder, task)
    transformers = require("transformers")
    with loading(named.spec, str(folder)):
        given = {"local_files_only": True, "trust_remote_code": False}
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **given)
        model, about = getattr(transformers, f"AutoModelFor{task}").from_pretrained(
            folder, dtype=place.torch_dtype, weights_only=True, output_loading_info=True, **given
        )
        missing = sorted(about["missing_keys"])
        if missing:
            raise SpecError(f"{named.spec!r}: {folder} lacks weights, such as {missing[0]}; it is not a {task} model")
        model = model.to(place.device).train(False)
    return TextModel(
        model=model,
        tokenizer=tokenizer,
        device=place.device,
        tokens=number_option(named, "batch_tokens", tokens_per_batch(model.config, place)),
        max_length=_max_length(named, model.config, tokenizer, usual_length),
    )


def check_task(named: NamedModel, folder: Path, task: str) -> None:
    """Refuse a model without the head for a task: libraries would put a random one in its place.

    Raises:
        SpecError: the config is unreadable or names no class for this task.
    """
    if not is_task(named, folder, task):
        what = ", ".join(_classes(named, folder)) or "of an unknown class"
        raise SpecError(f"{named.spec!r}: the model in {folder} is {what}; {named.kind}: needs …For{_HEADS[task]}")


def is_task(named: NamedModel, folder: Path, task: str) -> bool:
    """Tell whether a model's config says that it was made for a task.

    Raises:
        SpecError: the config is unreadable.
    """
    return any(each.endswith(f"For{_HEADS[task]}") for each in _classes(named, folder))


def _classes(named: NamedModel, folder: Path) -> list[str]:
    try:
        config: Any = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        return [str(each) for each in config.get("architectures") or ()]
    except (OSError, ValueError, AttributeError) as error:
        raise SpecError(f"{named.spec!r}: {folder / 'config.json'} cannot be read ({error})") from None


def _max_length(named: NamedModel, config: Any, tokenizer: Any, usual: int) -> int:
    """Choose how many tokens of a text are read: the spec's number, else the usual one as far as the model allows.

    Raises:
        SpecError: the spec asks for more than the model has positions.
    """
    positions = int(getattr(config, "max_position_embeddings", 0) or 0)
    if "roberta" in config.model_type:
        positions -= _POSITIONS_BEFORE
    if positions <= 0 or not getattr(config, "position_biased_input", True):  # only relative positions
        positions = sys.maxsize
    asked = number_option(named, "max_length", min(usual, positions, int(tokenizer.model_max_length)))
    if asked > positions:
        raise SpecError(f"option 'max_length' of {named.spec!r} is {asked}; the model reads {positions} at most")
    return asked
