"""Load a transformers model, and check its files before any library loads them."""

import json
import sys
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, cast

from hopgraph.state import SpecError
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.scoring.pair_scorers import Pair, PairScorer, ThresholdT
from hopgraph.tools.scoring.weights.batched import Batched, estimate_tokens, load_once, run_in_batches, tokens_per_batch
from hopgraph.tools.scoring.weights.model_specs import ModelSpec, Placement, locate, number_option, placement_of

USUAL_LENGTH = 512
"""Default maximum tokens of a text: what most of these models were trained with."""
_ROBERTA_OFFSET = 2  # RoBERTa and its kin count positions from the padding token's id
_SAFE = {"local_files_only": True, "trust_remote_code": False}
_FILE_ERRORS = (OSError, ValueError, KeyError, RuntimeError, AttributeError, TypeError, ImportError)
"""Exceptions of transformers and torch for files that are missing, damaged or of another kind."""

Scoring = Callable[[list[Pair]], Sequence[float]]
"""Returns one score per pair, in order."""


@dataclass(frozen=True)
class TextModel:
    """A model with its tokenizer, on its device."""

    model: Any
    tokenizer: Any
    device: str
    tokens: int
    """Tokens per batch, padding included."""
    max_length: int
    """Maximum tokens of a text, special ones included."""

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, without special ones."""
        if not texts:
            return []
        return [len(ids) for ids in self.tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]]

    def run(
        self, texts: Sequence[str] | Sequence[Pair], forward: Callable[[dict[str, Any]], Any], truncation: bool | str
    ) -> list[list[float]]:
        """Run texts, or pairs of texts, through the model in batches; return the output values of each, in order.

        `forward` maps padded tensors of shape (texts, longest) by name to (texts, values); `truncation` is the
        tokenizer's.
        """

        def work(batch: list[Any]) -> list[list[float]]:
            columns = (batch,) if isinstance(batch[0], str) else map(list, zip(*batch, strict=True))
            padded = self.tokenizer(
                *columns, truncation=truncation, max_length=self.max_length, padding=True, return_tensors="pt"
            ).to(self.device)
            with require("torch").inference_mode():
                return forward(dict(padded)).float().cpu().tolist()

        joined = [each if isinstance(each, str) else " ".join(each) for each in texts]
        lengths = estimate_tokens(joined, self.max_length)
        return run_in_batches(cast("Sequence[Any]", texts), lengths, self.tokens, work)


@contextmanager
def loading(spec: str, folder: str) -> Generator[None]:
    """Turn library errors about a model's files into a SpecError of one line that names spec and folder.

    Meanwhile transformers shows no progress bars, advice to programmers or FutureWarnings.
    """
    output = require("transformers").utils.logging
    progress, verbosity = output.is_progress_bar_enabled(), output.get_verbosity()
    output.disable_progress_bar()
    output.set_verbosity_error()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            yield
    except SpecError:
        raise
    except UnpicklingError:
        raise SpecError(
            f"{spec!r}: the weights in {folder} are a pickle that holds more than tensors, which is never loaded; "
            "use a copy of the model with .safetensors files"
        ) from None
    except (*_FILE_ERRORS, require("safetensors").SafetensorError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        if "trust_remote_code" in reason:
            reason = "it needs custom code (trust_remote_code), which is never run"
        raise SpecError(f"{spec!r}: the model in {folder} cannot be loaded: {reason[:240]}") from None
    finally:
        output.set_verbosity(verbosity)
        if progress:
            output.enable_progress_bar()


def local_scorer(
    named: ModelSpec, threshold: ThresholdT, load: Callable[[ModelSpec, Path, Placement], Scoring]
) -> PairScorer[ThresholdT]:
    """Return a scorer with a model loaded once per process and run by one thread; SpecError if it cannot be."""
    folder, place = locate(named), placement_of(named)
    key = (named.kind, folder, place, named.limits)
    model = load_once(key, lambda: Batched(load(named, folder, place), named.spec))
    return PairScorer(named.spec, threshold, model.acall)


def load_text_model(
    named: ModelSpec, folder: Path, place: Placement, task: str, *, usual_length: int = USUAL_LENGTH
) -> TextModel:
    """Load a tokenizer, and a model with the head for a task: the suffix of transformers' class names, e.g. Seq2SeqLM.

    SpecError if the files cannot be loaded, or the model was not trained for this task.
    """
    check_weights(named, folder, task)
    transformers = require("transformers")
    with loading(named.spec, str(folder)):
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **_SAFE)
        model = getattr(transformers, f"AutoModelFor{task}").from_pretrained(
            folder, dtype=place.torch_dtype, weights_only=True, **_SAFE
        )
        model = model.to(place.device).eval()
    tokens = number_option(named, "batch_tokens", tokens_per_batch(model.config, place))
    longest = max_length_of(named, model.config, tokenizer, usual_length)
    return TextModel(model, tokenizer, place.device, tokens, longest)


def check_weights(named: ModelSpec, folder: Path, task: str = "") -> None:
    """Raise SpecError for a model whose files cannot be loaded safely, or lack weights, before any library loads them.

    Only safetensors, or `.bin` files read as tensors only; no custom code. A library would fill missing weights with
    random ones, and most do not report it. The task is empty for a model without a head, whose pooler may be missing.
    """
    auto = getattr(require("transformers"), f"AutoModelFor{task}" if task else "AutoModel")
    with loading(named.spec, str(folder)):
        _, about = auto.from_pretrained(folder, device_map="meta", weights_only=True, output_loading_info=True, **_SAFE)
    missing = sorted(name for name in about["missing_keys"] if task or not name.startswith("pooler."))
    if missing:
        kind = f"; {named.kind}: needs a model for {task}" if task else ""
        what = ", ".join(architectures(named, folder)) or "of an unknown class"
        lacks = f"lacks weights, such as {missing[0]}{kind}"
        raise SpecError(f"{named.spec!r}: the model in {folder} is {what}, and {lacks}")


def architectures(named: ModelSpec, folder: Path) -> list[str]:
    """Return the class names in a model's config, mostly one; SpecError if it is unreadable."""
    try:
        config: Any = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        return [str(each) for each in config.get("architectures") or ()]
    except (OSError, ValueError, AttributeError) as error:
        raise SpecError(f"{named.spec!r}: {folder / 'config.json'} cannot be read ({error})") from None


def max_length_of(named: ModelSpec, config: Any, tokenizer: Any, usual: int = USUAL_LENGTH) -> int:
    """Return the maximum tokens of a text: the spec's number, else the usual one within the model's limit.

    SpecError if the spec asks for more than the model has positions.
    """
    positions = int(getattr(config, "max_position_embeddings", 0) or 0)
    if "roberta" in config.model_type:
        positions -= _ROBERTA_OFFSET
    if positions <= 0 or not getattr(config, "position_biased_input", True):  # relative positions only
        positions = sys.maxsize
    asked = number_option(named, "max_length", min(usual, positions, int(tokenizer.model_max_length)))
    if asked > positions:
        raise SpecError(f"option 'max_length' of {named.spec!r} is {asked}; the model reads {positions} at most")
    return asked
