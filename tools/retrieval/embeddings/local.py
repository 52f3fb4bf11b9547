"""Embedding models that run in this process: sentence-transformers, Contriever, and BGE as FlagEmbedding runs it."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np

from hopgraph.state import SpecError
from hopgraph.tools.retrieval.embeddings.embedding_model import EmbeddingModel, Text, Vector
from hopgraph.tools.retrieval.embeddings.prefixes import Prefixes, prefixes_by_name
from hopgraph.tools.scoring.weights import (
    LOCAL_OPTIONS,
    USUAL_LENGTH,
    Batched,
    NamedModel,
    Placement,
    TextModel,
    loading,
    locate,
    number_option,
    placement_of,
    read_spec,
    require,
    shared,
    tokens_per_batch,
)
from hopgraph.tools.scoring.weights.forward import batches_by_length

OPTIONS = (*LOCAL_OPTIONS, "query_prefix", "passage_prefix", "normalise")
_KEPT_OPTIONS = ("revision", "max_length", "query_prefix", "passage_prefix", "normalise")
"""What of a spec belongs to the vectors; the rest says where the model runs."""
_CHARACTERS_PER_TOKEN = 3
"""At least, in languages with spaces: to sort by length without tokenising twice."""


class _Loaded(NamedTuple):
    encoder: Batched[Text, Vector]
    normalise: bool
    prefixes: Prefixes


def sentence_transformer(spec: str) -> EmbeddingModel:
    """Load a sentence-transformers model: E5, BGE, GTE, all-MiniLM and many others.

    Prefixes are those of the model's own configuration (`prompts`), else those known by its name. Vectors are
    normalised unless the model says that it compares by inner product.

    Raises:
        SpecError: a bad spec, a missing package, or a model that cannot be loaded.
    """
    named = read_spec(spec, OPTIONS)
    folder, place = locate(named), placement_of(named)
    _refuse_foreign_modules(named, folder)
    loaded = shared(("st", folder, place, named.limits), lambda: _load_sentence_transformer(named, folder, place))
    return _model(named, folder, loaded)


def _load_sentence_transformer(named: NamedModel, folder: Path, place: Placement) -> _Loaded:
    library = require("sentence_transformers")
    with loading(named.spec, str(folder)):
        model: Any = library.SentenceTransformer(
            str(folder),
            device=place.device,
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"dtype": place.torch_dtype, "weights_only": True},
        )
        longest = number_option(named, "max_length", 0) or model.max_seq_length or USUAL_LENGTH
        model.max_seq_length = longest
    first = getattr(model[0], "auto_model", None)
    tokens = number_option(named, "batch_tokens", tokens_per_batch(getattr(first, "config", None), place))

    def encode(texts: list[str], prefix: str, count: int) -> Any:
        return model.encode(texts, prompt=prefix, batch_size=count, show_progress_bar=False, convert_to_numpy=True)

    def work(items: list[Text]) -> list[Vector]:
        return _by_prefix(items, lambda texts, prefix: _in_batches(texts, prefix, encode, longest, tokens))

    similarity = str(model.similarity_fn_name or "cosine")
    if similarity not in {"cosine", "dot"}:
        raise SpecError(f"{named.spec!r}: this model compares by {similarity}; only cosine and dot can be indexed")
    return _Loaded(Batched(work, named.spec), similarity == "cosine", _own_prefixes(model.prompts))


def _own_prefixes(prompts: Mapping[str, str | None]) -> Prefixes:
    """Read a model's own prompts; ours are `query` and `passage`, theirs also call the latter `document`."""
    return Prefixes(prompts.get("query") or "", prompts.get("passage") or prompts.get("document") or "")


def _refuse_foreign_modules(named: NamedModel, folder: Path) -> None:
    """Refuse a model made of other classes than the library's: older versions of it run code from the folder."""
    path = folder / "modules.json"
    if not path.is_file():
        return
    try:
        types = [str(each["type"]) for each in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SpecError(f"{named.spec!r}: {path} cannot be read ({error})") from None
    for each in types:
        if not each.startswith("sentence_transformers."):
            raise SpecError(f"{named.spec!r}: {path} asks for code of its own ({each}), which is never run")


def _in_batches(
    texts: list[str], prefix: str, encode: Callable[[list[str], str, int], Any], longest: int, tokens: int
) -> list[Vector]:
    """Encode texts of about one length together; where the memory does not suffice, in halves."""
    memory_error = require("torch").OutOfMemoryError
    estimates = [min(longest, (len(prefix) + len(text)) // _CHARACTERS_PER_TOKEN + 2) for text in texts]
    vectors: list[Vector] = [np.empty(0, dtype=np.float32)] * len(texts)
    for batch in batches_by_length(estimates, tokens):
        count = len(batch)
        while True:
            try:
                found = encode([texts[index] for index in batch], prefix, count)
                break
            except memory_error:
                if count == 1:
                    raise SpecError("not enough memory on the device for one text; use another device") from None
                require("torch").cuda.empty_cache()
                count = (count + 1) // 2
        for index, vector in zip(batch, found, strict=True):
            vectors[index] = np.asarray(vector, dtype=np.float32)
    return vectors


def contriever(spec: str) -> EmbeddingModel:
    """Load a Contriever: the mean of the last layer over the text's tokens, compared by inner product.

    Izacard et al. 2022, as in the authors' code; also for other models that are used in this way.

    Raises:
        SpecError: a bad spec, a missing package, or a model that cannot be loaded.
    """
    return _pooled(read_spec(spec, OPTIONS), _mean, normalise=False)


def flag(spec: str) -> EmbeddingModel:
    """Load a BGE model as FlagEmbedding's `FlagModel` runs it: the first token's vector, normalised.

    It is computed with transformers alone: FlagModel starts processes and keeps many texts together however
    long they are.

    Raises:
        SpecError: a bad spec, a missing package, or a model that cannot be loaded.
    """
    return _pooled(read_spec(spec, OPTIONS), _first, normalise=True)


def _mean(padded: Mapping[str, Any], states: Any) -> Any:
    mask = padded["attention_mask"].unsqueeze(-1).to(states.dtype)
    return (states * mask).sum(1) / mask.sum(1)


def _first(_padded: Mapping[str, Any], states: Any) -> Any:
    return states[:, 0]


def _pooled(named: NamedModel, pool: Callable[[Mapping[str, Any], Any], Any], *, normalise: bool) -> EmbeddingModel:
    folder, place = locate(named), placement_of(named)

    def load() -> _Loaded:
        model = _load_encoder(named, folder, place)

        def encode(texts: list[str], prefix: str) -> list[Vector]:
            rows = model.rows([prefix + text for text in texts], truncation=True)
            found = model.run(rows, lambda padded: pool(padded, model.model(**padded).last_hidden_state))
            return [np.asarray(values, dtype=np.float32) for values in found]

        def work(items: list[Text]) -> list[Vector]:
            return _by_prefix(items, encode)

        return _Loaded(Batched(work, named.spec), normalise, Prefixes())

    return _model(named, folder, shared((named.kind, folder, place, named.limits), load))


def _load_encoder(named: NamedModel, folder: Path, place: Placement) -> TextModel:
    transformers = require("transformers")
    with loading(named.spec, str(folder)):
        given: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **given)
        model, about = transformers.AutoModel.from_pretrained(
            folder, dtype=place.torch_dtype, weights_only=True, output_loading_info=True, **given
        )
        # The pooler is a layer on top that none of these models uses, and that many lack.
        missing = sorted(name for name in about["missing_keys"] if not name.startswith("pooler."))
        if missing:
            raise SpecError(f"{named.spec!r}: {folder} lacks weights, such as {missing[0]}")
        model = model.to(place.device).eval()
    positions = int(getattr(model.config, "max_position_embeddings", 0) or 0) or USUAL_LENGTH
    return TextModel(
        model=model,
        tokenizer=tokenizer,
        device=place.device,
        tokens=number_option(named, "batch_tokens", tokens_per_batch(model.config, place)),
        max_length=number_option(named, "max_length", min(USUAL_LENGTH, positions)),
    )


def _by_prefix(items: Sequence[Text], encode: Callable[[list[str], str], list[Vector]]) -> list[Vector]:
    """Encode queries and passages that wait together, each with its prefix."""
    vectors: list[Vector] = [np.empty(0, dtype=np.float32)] * len(items)
    for prefix in dict.fromkeys(item.prefix for item in items):
        places = [number for number, item in enumerate(items) if item.prefix == prefix]
        found = encode([items[number].text for number in places], prefix)
        for number, vector in zip(places, found, strict=True):
            vectors[number] = vector
    return vectors


def _model(named: NamedModel, folder: Path, loaded: _Loaded) -> EmbeddingModel:
    known = loaded.prefixes if any(loaded.prefixes) else prefixes_by_name(named.name)
    return EmbeddingModel(
        _lasting_spec(named, folder),
        loaded.encoder,
        normalise=_yes_or_no(named, loaded.normalise),
        query_prefix=named.options.get("query_prefix", known.query),
        passage_prefix=named.options.get("passage_prefix", known.passage),
    )


def _lasting_spec(named: NamedModel, folder: Path) -> str:
    """Write the spec so that it holds from any working directory and on any device."""
    name = str(folder) if Path(named.name).expanduser().is_dir() else named.name
    options = {key: value for key, value in named.options.items() if key in _KEPT_OPTIONS}
    return f"{named.kind}:{name}" + (f"?{urlencode(options)}" if options else "")


def _yes_or_no(named: NamedModel, default: bool) -> bool:
    given = named.options.get("normalise")
    if given not in (None, "yes", "no"):
        raise SpecError(f"option 'normalise' of {named.spec!r} must be yes or no, got {given!r}")
    return default if given is None else given == "yes"
