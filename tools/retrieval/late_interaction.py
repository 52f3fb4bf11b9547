"""Retrieval by late interaction (ColBERT): `colbert:DIR`, an index with a vector for each token, made by PyLate.

A passage's score is the sum, over the query's tokens, of the highest inner product with any token of the passage
(MaxSim; Khattab and Zaharia 2020, ColBERTv2: Santhanam et al. 2022). PyLate's own indexes contain a pickled mapping,
which is never loaded here. The vectors are plain half-precision arrays, mapped into memory: exact, unlike PLAID's
compressed ones, and so about 25 GB for a million passages of 100 tokens.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from hopgraph.state import CorpusError, SpecError
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.retrieval.embeddings.resolve import read_modules, read_settings
from hopgraph.tools.retrieval.index import Hit, open_index, searchable_text
from hopgraph.tools.retrieval.index_manifest import COLBERT, REBUILD, damaged, map_array, read_info, read_manifest
from hopgraph.tools.retrieval.linked_index import with_links
from hopgraph.tools.retrieval.passage_retriever import IndexRetriever, VectorIndex
from hopgraph.tools.retrieval.passage_store import PassageFile, PassageStore
from hopgraph.tools.retrieval.staging import Progress, ignore_progress, stage_folder
from hopgraph.tools.scoring.weights.batched import Batched, load_once
from hopgraph.tools.scoring.weights.model_specs import ModelSpec, locate, number_option, parse_spec, placement_of
from hopgraph.tools.scoring.weights.text_model import loading, max_length_of

EXTRA = "colbert"
MODEL_OPTIONS = ("device", "dtype", "revision", "batch_size")
_BATCH = 32
_STANFORD = "HF_ColBERT"
"""The class of models by ColBERT's authors, whose projection is among the weights."""
_KNOWN_MODULES = ("sentence_transformers.", "pylate.")
_KNOWN_ACTIVATIONS = "torch.nn.modules."
_DECISIVE = frozenset({".safetensors", ".bin", ".json", ".txt", ".metadata"})
"""Suffixes of the files that determine a model's vectors: weights, settings, vocabulary."""

Vectors = NDArray[np.float32]
"""One row per token, each of length 1."""


@dataclass(frozen=True)
class LateInteractionModel:
    """A loaded model; any number of threads may use it."""

    name: str
    """A name on the hub, or a folder."""
    fingerprint: str
    """SHA-256 over its weights and settings; models with the same fingerprint make the same vectors."""
    dimension: int
    encode: Batched[tuple[str, bool], Vectors]
    """Encodes pairs of a text and whether it is a query."""

    def passages(self, texts: Sequence[str]) -> list[Vectors]:
        """Encode passages, without punctuation; the model truncates. Each has at least one vector."""
        return self.encode([(text, False) for text in texts])

    async def query(self, text: str) -> Vectors:
        """Encode a query, padded with mask tokens to the length that the model was trained with.

        A longer query, e.g. BlendFilter's with the question after a chain of thought, is encoded in full, as ColBERT's
        authors do (`full_length_search`), up to the model's positions or 512 tokens.
        """
        return (await self.encode.acall([(text, True)]))[0]


def load_late_interaction(model: str) -> LateInteractionModel:
    """Load a model of PyLate or of ColBERT's authors by its name on the hub or its folder.

    Options may follow: `colbert-ir/colbertv2.0?device=cuda`. SpecError if PyLate is missing, or the model cannot be
    found or loaded, or is of another kind.
    """
    named = parse_spec(f"colbert:{model}", MODEL_OPTIONS)
    require("pylate", EXTRA)
    place = placement_of(named)
    folder = locate(named)
    batch = number_option(named, "batch_size", _BATCH)
    return load_once(("colbert", named.name, folder, place, batch), lambda: _load(named, folder, batch))


def _load(named: ModelSpec, folder: Path, batch: int) -> LateInteractionModel:
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
        by_length: defaultdict[tuple[bool, int], list[int]] = defaultdict(list)
        for index, (text, is_query) in enumerate(items):
            by_length[is_query, query_length(text) if is_query else usual].append(index)
        for (is_query, model.query_length), places in by_length.items():
            texts = [items[index][0] for index in places]
            # Tensors: NumPy has no bf16.
            found = model.encode(
                texts, batch_size=batch, is_query=is_query, convert_to_tensor=True, show_progress_bar=False
            )
            vectors.update(zip(places, (each.float().cpu().numpy() for each in found), strict=True))
        return [vectors[index] for index in range(len(items))]

    # A folder is recorded as an absolute path, since the next program may run elsewhere.
    name = str(folder) if Path(named.name).expanduser().is_dir() else named.name
    return LateInteractionModel(name, _fingerprint(folder), dimension, Batched(encode, "colbert"))


def _check_kind(named: ModelSpec, folder: Path) -> None:
    """Raise SpecError for custom code, or a model without a trained projection (PyLate would make a random one)."""
    modules = read_modules(named, folder, _KNOWN_MODULES)
    if modules is None and _STANFORD in (_config(named, folder).get("architectures") or ()):
        return
    projections = [module for module in modules or () if str(module["type"]).endswith(".Dense")]
    if not projections:
        raise SpecError(f"{named.spec!r}: {folder} is not a late-interaction model: it has no projection layer")
    for module in projections:
        activation = str(_config(named, folder / str(module.get("path"))).get("activation_function"))
        if not activation.startswith(_KNOWN_ACTIVATIONS):
            raise SpecError(f"{named.spec!r}: its activation function {activation!r} is not one of torch's")


def _config(named: ModelSpec, folder: Path) -> dict[str, Any]:
    return read_settings(named, folder / "config.json", dict[str, Any])


def _fingerprint(folder: Path) -> str:
    """Hash the files that determine the vectors, with their names."""
    digest = sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in _DECISIVE):
        digest.update(path.relative_to(folder).as_posix().encode())
        with path.open("rb") as file:
            file_digest(file, lambda: digest)
    return digest.hexdigest()


FACTS, _VECTORS, _ENDS = "facts.json", "vectors.f16", "ends.npy"
_TOKENS_AT_ONCE = 1 << 12
"""Tokens scored at once: they and their products stay within the processor's cache."""


class LateInteractionInfo(BaseModel, frozen=True, extra="forbid"):
    """The model and the passages of token vectors."""

    kind: Literal["hopgraph-colbert"] = "hopgraph-colbert"
    format_version: Literal[1] = 1
    model: str
    model_fingerprint: str
    dimension: int = Field(ge=1)
    passages: int = Field(default=1, ge=1)
    tokens: int = Field(default=1, ge=1)
    corpus_fingerprint: str


def write_token_vectors(
    folder: Path, passages: Iterable[Vectors | NDArray[np.float16]], info: LateInteractionInfo
) -> int:
    """Write the vectors of passages, at least one each, and their info; return the number of vectors."""
    ends, tokens = array("q"), 0
    with (folder / _VECTORS).open("wb") as file:
        for vectors in passages:
            vectors.astype(np.float16).tofile(file)
            tokens += len(vectors)
            ends.append(tokens)
    np.save(folder / _ENDS, np.frombuffer(ends, dtype=np.int64), allow_pickle=False)
    info = info.model_copy(update={"passages": len(ends), "tokens": tokens})
    (folder / FACTS).write_text(info.model_dump_json(indent=2) + "\n", encoding="utf-8")
    return tokens


class TokenVectors:
    """Token vectors written by `write_token_vectors`; any number of threads may search them."""

    def __init__(self, folder: Path, info: LateInteractionInfo) -> None:
        """Map the files into memory; CorpusError if one is missing or does not match `info`."""
        self._ends = map_array(folder / _ENDS, info.passages)
        path, wanted = folder / _VECTORS, info.tokens * info.dimension * 2
        size = path.stat().st_size if path.is_file() else 0
        if size != wanted or self._ends[-1] != info.tokens or self._ends[0] < 1:
            raise damaged(folder, f"{_VECTORS} or {_ENDS} does not match {FACTS}")
        mapped = np.memmap(path, dtype=np.float16, mode="r", shape=(info.tokens, info.dimension))
        self._vectors: NDArray[np.float16] = np.asarray(mapped)

    def of_passage(self, row: int) -> NDArray[np.float16]:
        """Return a passage's vectors."""
        return self._vectors[self._ends[row - 1] if row else 0 : self._ends[row]]

    def score(self, query: Vectors, rows: NDArray[np.int64]) -> Vectors:
        """Return the MaxSim score of each passage in `rows`."""
        ends = self._ends[rows]
        lengths = ends - np.where(rows > 0, self._ends[rows - 1], 0)
        totals = np.cumsum(lengths)
        scores = np.empty(len(rows), dtype=np.float32)
        first = scored = 0
        while first < len(rows):
            # At least one passage, and as many as fit.
            last = max(first + 1, int(np.searchsorted(totals, scored + _TOKENS_AT_ONCE, side="right")))
            some = slice(first, last)
            spans = zip(ends[some].tolist(), lengths[some].tolist(), strict=True)
            vectors = np.concatenate([self._vectors[end - length : end] for end, length in spans])
            products = vectors.astype(np.float32) @ query.T
            starts = totals[some] - lengths[some] - scored
            scores[some] = np.maximum.reduceat(products, starts, axis=0).sum(axis=1)
            first, scored = last, int(totals[last - 1])
        return scores


def read_late_interaction_info(folder: Path) -> LateInteractionInfo:
    """Read the info of an index's token vectors; CorpusError if it has none."""
    try:
        return read_info(LateInteractionInfo, folder, f"{COLBERT}/{FACTS}")
    except FileNotFoundError:
        raise CorpusError(
            f"{folder}: it has no vectors for colbert; build it with `hopgraph index SOURCE --out DIR --colbert MODEL`"
        ) from None
    except OSError as error:
        raise CorpusError(f"{folder / COLBERT / FACTS}: cannot be read: {error.strerror or error}") from None


EXACT_TOKENS = 4_000_000
"""Number of vectors up to which every passage is scored: about 35,000 Wikipedia passages."""
CANDIDATES = 1000
"""Passages of a larger index that BM25 retrieves for scoring, unless the spec sets another number."""
_PASSAGES_AT_ONCE = 256


def add_late_interaction(folder: Path, model: LateInteractionModel, progress: Progress = ignore_progress) -> int:
    """Add the token vectors of all passages to an index, replacing others; return their number.

    `progress` is called with `encode`, the passages done and the total. CorpusError for a missing or read-only index.
    """
    fingerprint = read_manifest(folder).corpus.fingerprint
    if (folder / COLBERT).is_dir():
        there = read_late_interaction_info(folder)
        if (there.model_fingerprint, there.corpus_fingerprint) == (model.fingerprint, fingerprint):
            return there.tokens
    info = LateInteractionInfo(
        model=model.name,
        model_fingerprint=model.fingerprint,
        dimension=model.dimension,
        corpus_fingerprint=fingerprint,
    )
    passages = PassageFile(folder)
    try:
        with stage_folder(folder / COLBERT) as new:
            return write_token_vectors(new, _encode(passages, range(len(passages)), model, progress), info)
    except OSError as error:
        raise CorpusError(f"{folder}: the vectors cannot be written: {error.strerror or error}") from None


def update_late_interaction(
    old: Path, new: Path, origins: NDArray[np.int64], fingerprint: str, progress: Progress
) -> None:
    """Write the token vectors of the index `new`, copying those of unchanged texts from the index `old`.

    `origins` has each passage's row in `old`, or -1 if it must be encoded; `fingerprint` is that of the passages. The
    model is loaded only if needed: SpecError if it cannot be, CorpusError for other weights or damaged vectors.
    """
    info = _read_matching_info(old)
    vectors, missing = TokenVectors(old / COLBERT, info), np.flatnonzero(origins < 0).tolist()
    encoded = _encode(PassageFile(new), missing, _load_recorded(old, info), progress) if missing else iter(())
    every = (next(encoded) if row < 0 else vectors.of_passage(row) for row in origins.tolist())
    (new / COLBERT).mkdir()
    write_token_vectors(new / COLBERT, every, info.model_copy(update={"corpus_fingerprint": fingerprint}))


def _encode(
    passages: PassageStore, rows: Sequence[int], model: LateInteractionModel, progress: Progress
) -> Iterator[Vectors]:
    for start in range(0, len(rows), _PASSAGES_AT_ONCE):
        progress("encode", start, len(rows))
        some = rows[start : start + _PASSAGES_AT_ONCE]
        yield from model.passages([searchable_text(passages[row]) for row in some])


def _read_matching_info(folder: Path) -> LateInteractionInfo:
    info = read_late_interaction_info(folder)
    if info.corpus_fingerprint != read_manifest(folder).corpus.fingerprint:
        raise CorpusError(f"{folder / COLBERT}: built from other passages; {REBUILD}")
    return info


def _load_recorded(folder: Path, info: LateInteractionInfo, spec: str = "") -> LateInteractionModel:
    model = load_late_interaction(spec or info.model)
    if model.fingerprint != info.model_fingerprint:
        raise CorpusError(
            f"{folder}: its vectors were made by {info.model!r}, and {model.name!r} has other weights or settings; "
            f"use the same model, or {REBUILD}"
        )
    return model


def open_late_interaction(spec: str) -> IndexRetriever:
    """Open `colbert:DIR?option=value&…`; loads the model.

    Options: `candidates`, the number of passages that BM25 retrieves for scoring, or `all` to score every passage (the
    default up to EXACT_TOKENS vectors); `model`, its new place if it was moved; and MODEL_OPTIONS. SpecError for an
    unknown option, or a model that cannot be loaded; CorpusError if the index, or its vectors of this corpus and model,
    are missing.
    """
    named = parse_spec(spec, ("candidates", "model", *MODEL_OPTIONS))
    folder, options = Path(named.name).expanduser(), named.options
    index = open_index(folder, f"colbert:{named.name}")
    info = _read_matching_info(folder)
    vectors = TokenVectors(folder / COLBERT, info)
    chosen = "&".join(f"{name}={options[name]}" for name in MODEL_OPTIONS if name in options)
    model = _load_recorded(folder, info, f"{options.get('model', info.model)}{'?' if chosen else ''}{chosen}")
    exact = options.get("candidates") == "all" or ("candidates" not in options and info.tokens <= EXACT_TOKENS)
    candidates = None if exact else number_option(named, "candidates", CANDIDATES)

    def best(query: str, encoded: Vectors, k: int) -> list[Hit]:
        rows = np.arange(len(index))
        if candidates is not None:
            found = index.search_rows(query, max(k, candidates))
            rows = np.array([row for row, _ in found], dtype=np.int64)
        scores = vectors.score(encoded, rows)
        order = np.lexsort((index.bm25.ranks[rows], -scores))[:k]
        pairs = zip(rows[order].tolist(), scores[order].tolist(), strict=True)
        return [Hit(index.passages[row], score, row) for row, score in pairs]

    vector_index = VectorIndex(index.source, model.query, best)
    return IndexRetriever(index=with_links(vector_index, folder, index.passages))
