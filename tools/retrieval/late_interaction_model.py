"""Late-interaction models (ColBERT): one vector for each token of a text, made by PyLate.

A query and a passage score the sum, over the query's tokens, of the highest inner product with any token of
the passage (MaxSim; Khattab and Zaharia 2020, ColBERTv2: Santhanam et al. 2022).
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopgraph.state import SpecError
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.retrieval.embeddings.local import read_modules, read_settings
from hopgraph.tools.scoring.weights.batched import Batched
from hopgraph.tools.scoring.weights.batched import shared as shared_model
from hopgraph.tools.scoring.weights.model_hub import locate
from hopgraph.tools.scoring.weights.model_specs import NamedModel, number_option, placement_of, read_spec
from hopgraph.tools.scoring.weights.text_model import loading, max_length_of

EXTRA = "colbert"
MODEL_OPTIONS = ("device", "dtype", "revision", "batch_size")
_BATCH = 32
_STANFORD = "HF_ColBERT"
"""How the models of ColBERT's authors call their class, whose projection is among the weights."""
_KNOWN_MODULES = ("sentence_transformers.", "pylate.")
_KNOWN_ACTIVATIONS = "torch.nn.modules."
_DECISIVE = frozenset({".safetensors", ".bin", ".json", ".txt", ".metadata"})
"""Ends of the files that decide what vectors a model makes: weights, settings, vocabulary."""

Vectors = NDArray[np.float32]
"""One row per token, each of length 1."""


@dataclass(frozen=True)
class LateInteractionModel:
    """A loaded model; any number of threads may use it."""

    name: str
    """As in specs: a name on the hub, or a folder."""
    fingerprint: str
    """SHA-256 over its weights and settings: two models of one fingerprint make the same vectors."""
    dimension: int
    encode: Batched[tuple[str, bool], Vectors]
    """From pairs of a text and whether it is a query to its vectors."""

    def passages(self, texts: Sequence[str]) -> list[Vectors]:
        """Encode passages: for each at least one vector, punctuation left out; a long one is cut by the model."""
        return self.encode([(text, False) for text in texts])

    async def query(self, text: str) -> Vectors:
        """Encode a query, filled up with mask tokens to the length that the model was trained with; a longer one whole.

        Methods send long queries, as BlendFilter's with the question behind a chain of thought; ColBERT's authors read
        them so, too (`full_length_search`). Only what exceeds the model's positions, or 512 tokens, is cut.
        """
        return (await self.encode.acall([(text, True)]))[0]


def load_late_interaction(model: str) -> LateInteractionModel:
    """Load a model of this kind: from PyLate, or from ColBERT's authors; takes as long as that does.

    Args:
        model: its name on the hub or its folder, with options: `colbert-ir/colbertv2.0?device=cuda`.

    Raises:
        SpecError: PyLate is missing, the model cannot be found or loaded, or is of another kind.
    """
    named = read_spec(f"colbert:{model}", MODEL_OPTIONS)
    require("pylate", EXTRA)
    place = placement_of(named)
    folder = locate(named)
    batch = number_option(named, "batch_size", _BATCH)
    return shared_model(("colbert", named.name, folder, place, batch), lambda: _load(named, folder, batch))


def _load(named: NamedModel, folder: Path, batch: int) -> LateInteractionModel:
    _check_kind(named, folder)
    place = placement_of(named)
    with loading(named.spec, str(folder)):
        model: Any = require("pylate.models", EXTRA).ColBERT(
            str(folder),
            device=place.device,
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"torch_dtype": place.torch_dtype, "weights_only": True},
        )
        dimension = int(model[-1].out_features)
    usual, prefix = int(model.query_length), int(model.query_prefix_id is not None)
    longest = max(usual, max_length_of(named, model[0].auto_model.config, model.tokenizer))

    def query_length(text: str) -> int:
        tokens = len(model.tokenizer(text.strip(), verbose=False)["input_ids"])
        return max(usual, min(tokens + prefix, longest))

    def encode(items: list[tuple[str, bool]]) -> list[Vectors]:
        vectors: dict[int, Vectors] = {}
        alike: defaultdict[tuple[bool, int], list[int]] = defaultdict(list)
        for at, (text, is_query) in enumerate(items):
            alike[is_query, query_length(text) if is_query else usual].append(at)
        for (is_query, model.query_length), places in alike.items():
            texts = [items[at][0] for at in places]
            # Tensors: NumPy has no bf16.
            found = model.encode(
                texts, batch_size=batch, is_query=is_query, convert_to_tensor=True, show_progress_bar=False
            )
            vectors.update(zip(places, (each.float().cpu().numpy() for each in found), strict=True))
        return [vectors[at] for at in range(len(items))]

    # A folder is recorded as a whole, since the next program may run elsewhere.
    name = str(folder) if Path(named.name).expanduser().is_dir() else named.name
    return LateInteractionModel(name, _fingerprint(folder), dimension, Batched(encode, "colbert"))


def _check_kind(named: NamedModel, folder: Path) -> None:
    """Refuse a model without a trained projection, for which PyLate makes a random one, and code of its own."""
    modules = read_modules(named, folder, _KNOWN_MODULES)
    if modules is None and _STANFORD in (_config(named, folder).get("architectures") or ()):
        return
    projections = [module for module in modules or () if str(module["type"]).endswith(".Dense")]
    if not projections:
        raise SpecError(f"{named.spec!r}: {folder} is no late-interaction model: it has no projection layer")
    for module in projections:
        activation = str(_config(named, folder / str(module.get("path"))).get("activation_function"))
        if not activation.startswith(_KNOWN_ACTIVATIONS):
            raise SpecError(f"{named.spec!r}: its activation function {activation!r} is none of torch's")


def _config(named: NamedModel, folder: Path) -> dict[str, Any]:
    return read_settings(named, folder / "config.json", dict[str, Any])


def _fingerprint(folder: Path) -> str:
    """Hash the decisive files with their names."""
    digest = sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in _DECISIVE):
        digest.update(path.relative_to(folder).as_posix().encode())
        with path.open("rb") as file:
            file_digest(file, lambda: digest)
    return digest.hexdigest()
