"""Resolve embedding models: in-process ones, OpenAI-compatible servers (vLLM, Ollama, llama.cpp), LangChain objects.

langchain-openai's OpenAIEmbeddings is not used: it ignores the `index` of returned vectors.
"""

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlencode, urlsplit

import numpy as np
from langchain_core.embeddings import Embeddings
from pydantic import TypeAdapter, ValidationError

from hopgraph.state import ModelError, SpecError
from hopgraph.state.errors import format_error
from hopgraph.tools.io.background import background_loop, run_on
from hopgraph.tools.io.http_clients import read_address
from hopgraph.tools.io.json_server import JsonServer
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.io.redact import redact
from hopgraph.tools.io.server_errors import entry
from hopgraph.tools.retrieval.embeddings.embedding_model import (
    EmbeddingModel,
    Encoder,
    Prefixes,
    Text,
    Vector,
    prefixes_by_name,
    to_vector,
)
from hopgraph.tools.scoring.weights.batched import (
    Batched,
    SingleForward,
    estimate_tokens,
    load_once,
    run_in_batches,
    tokens_per_batch,
)
from hopgraph.tools.scoring.weights.model_specs import (
    LOCAL_OPTIONS,
    ModelSpec,
    Placement,
    locate,
    number_option,
    parse_spec,
    placement_of,
    resolve_by_kind,
)
from hopgraph.tools.scoring.weights.text_model import USUAL_LENGTH, check_weights, loading, max_length_of

SettingsT = TypeVar("SettingsT")
_LOCAL_OPTIONS = (*LOCAL_OPTIONS, "query_prefix", "passage_prefix", "normalize")
_VECTOR_OPTIONS = ("revision", "max_length", "query_prefix", "passage_prefix", "normalize")
"""Options that change the vectors; the others say where the model runs."""


class _LoadedModel(NamedTuple):
    encoder: Batched[Text, Vector]
    normalize: bool
    prefixes: Prefixes


def local_embeddings(spec: str) -> EmbeddingModel:
    """Return an in-process model of one of the LOADERS; SpecError if it or its package cannot be loaded."""
    named = parse_spec(spec, _LOCAL_OPTIONS)
    folder, place, load = locate(named), placement_of(named), LOADERS[named.kind]
    loaded = load_once((load.__name__, folder, place, named.limits), lambda: load(named, folder, place))
    known = loaded.prefixes if any(loaded.prefixes) else prefixes_by_name(named.name)
    normalize = named.options.get("normalize")
    if normalize not in (None, "yes", "no"):
        raise SpecError(f"option 'normalize' of {named.spec!r} must be yes or no, got {normalize!r}")
    # The recorded spec must be valid in any working directory and on any device.
    name = str(folder) if Path(named.name).expanduser().is_dir() else named.name
    options = {key: value for key, value in named.options.items() if key in _VECTOR_OPTIONS}
    return EmbeddingModel(
        f"{named.kind}:{name}" + (f"?{urlencode(options)}" if options else ""),
        loaded.encoder.acall,
        normalize=loaded.normalize if normalize is None else normalize == "yes",
        query_prefix=named.options.get("query_prefix", known.query),
        passage_prefix=named.options.get("passage_prefix", known.passage),
    )


def _load_sentence_transformer(named: ModelSpec, folder: Path, place: Placement) -> _LoadedModel:
    """Load E5, BGE, GTE, all-MiniLM and many others, with the prefixes of the model's configuration (`prompts`).

    Vectors are normalized unless the model compares by inner product.
    """
    model = _open_sentence_transformer(named, folder, place)
    longest = number_option(named, "max_length", 0) or model.max_seq_length or USUAL_LENGTH
    model.max_seq_length = longest
    similarity = str(model.similarity_fn_name or "cosine")
    if similarity not in {"cosine", "dot"}:
        raise SpecError(f"{named.spec!r}: this model compares by {similarity}; only cosine and dot can be indexed")

    def encode(prefix: str, texts: list[str]) -> Iterable[Any]:
        return model.encode(texts, prompt=prefix, batch_size=len(texts), show_progress_bar=False)

    config = getattr(getattr(model[0], "auto_model", None), "config", None)
    prompts: Mapping[str, str | None] = model.prompts
    prefixes = Prefixes(prompts.get("query") or "", prompts.get("passage") or prompts.get("document") or "")
    return _LoadedModel(_batched(named, place, config, longest, encode), similarity == "cosine", prefixes)


def _load_contriever(named: ModelSpec, folder: Path, place: Placement) -> _LoadedModel:
    """Load a model whose vector is the mean of the last layer's token vectors, compared by inner product.

    For Contriever (Izacard et al. 2022), as in the authors' code, and models used in the same way.
    """
    check_weights(named, folder)
    model = _open_sentence_transformer(named, folder, place)
    config = model[0].auto_model.config
    longest = model.max_seq_length = max_length_of(named, config, model.tokenizer)

    def encode(prefix: str, texts: list[str]) -> Iterable[Any]:
        found = model.encode(
            [prefix + text for text in texts],
            output_value="token_embeddings",
            batch_size=len(texts),
            show_progress_bar=False,
        )
        return [tokens.float().mean(0).cpu().numpy() for tokens in found]

    return _LoadedModel(_batched(named, place, config, longest, encode), normalize=False, prefixes=Prefixes())


def _load_flag(named: ModelSpec, folder: Path, place: Placement) -> _LoadedModel:
    """Load a BGE model with FlagEmbedding's `FlagModel`: the first token's vector, normalized."""
    check_weights(named, folder)
    with loading(named.spec, str(folder)):
        model: Any = require("FlagEmbedding").FlagModel(
            str(folder),
            normalize_embeddings=False,
            use_fp16=place.dtype == "fp16",
            use_bf16=place.dtype == "bf16",
            devices=place.device,
            trust_remote_code=False,
        )
    config = model.model.config
    longest = max_length_of(named, config, model.tokenizer)
    model.model = SingleForward(model.model)

    def encode(prefix: str, texts: list[str]) -> Iterable[Any]:
        return model.encode([prefix + text for text in texts], batch_size=len(texts) + 1, max_length=longest)

    return _LoadedModel(_batched(named, place, config, longest, encode), normalize=True, prefixes=Prefixes())


def _open_sentence_transformer(named: ModelSpec, folder: Path, place: Placement) -> Any:
    library = require("sentence_transformers")
    read_modules(named, folder, ("sentence_transformers.",))
    with loading(named.spec, str(folder)):
        return library.SentenceTransformer(
            str(folder),
            device=place.device,
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"dtype": place.torch_dtype, "weights_only": True},
        )


def read_modules(named: ModelSpec, folder: Path, known: tuple[str, ...]) -> list[dict[str, Any]] | None:
    """Return the modules of a sentence-transformers model; None if it does not list them.

    SpecError for a class whose name begins with none of `known`: older versions of the library run the folder's code.
    """
    path = folder / "modules.json"
    if not path.is_file():
        return None
    modules = read_settings(named, path, list[dict[str, Any]])
    own = [kind for each in modules if not (kind := str(each.get("type"))).startswith(known)]
    if own:
        raise SpecError(f"{named.spec!r}: {path} asks for custom code ({own[0]}), which is never run")
    return modules


def read_settings(named: ModelSpec, path: Path, kind: type[SettingsT]) -> SettingsT:
    """Read a JSON file of a model; SpecError if it cannot be read or has another type."""
    try:
        return TypeAdapter(kind).validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise SpecError(f"{named.spec!r}: {path} cannot be read ({format_error(error)})") from None


def _batched(
    named: ModelSpec, place: Placement, config: Any, longest: int, encode: Callable[[str, list[str]], Iterable[Any]]
) -> Batched[Text, Vector]:
    """Share a model among threads, batching texts of similar length, with the prefix of queries or passages."""
    tokens = number_option(named, "batch_tokens", tokens_per_batch(config, place))

    def work(items: Sequence[Text]) -> list[Vector]:
        vectors: dict[int, Vector] = {}
        for prefix in dict.fromkeys(item.prefix for item in items):
            places = [index for index, item in enumerate(items) if item.prefix == prefix]
            texts = [items[index].text for index in places]
            lengths = estimate_tokens((prefix + text for text in texts), longest)
            vectors.update(zip(places, run_in_batches(texts, lengths, tokens, partial(encode, prefix)), strict=True))
        return [np.asarray(vectors[index], dtype=np.float32) for index in range(len(items))]

    return Batched(work, named.spec)


LOADERS: dict[str, Callable[[ModelSpec, Path, Placement], _LoadedModel]] = {
    "sentence-transformers": _load_sentence_transformer,
    "st": _load_sentence_transformer,
    "contriever": _load_contriever,
    "flag": _load_flag,
}


KEY_VARIABLE = "OPENAI_API_KEY"
TEXTS_PER_REQUEST = 64
_MAX_RESPONSE = 256 * 1024**2  # bytes: thousands of vectors as text
_OPENAI = "https://api.openai.com/v1"
_REMOTE_OPTIONS = ("base_url", "batch", "dimensions", "query_prefix", "passage_prefix")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def _vectors_by_index(response: Any, texts: int) -> list[Vector]:
    """Return the vectors of a response, in the order of the texts."""
    given = ((entry(each, "index"), place, each["embedding"]) for place, each in enumerate(response["data"]))
    vectors = {int(place if index is None else index): to_vector(numbers) for index, place, numbers in given}
    if vectors.keys() != set(range(texts)):
        raise ValueError(f"{len(vectors)} vectors for {texts} texts")
    return [vectors[index] for index in range(texts)]


def openai_embeddings(spec: str) -> EmbeddingModel:
    """Return the embedding model of an OpenAI-compatible server; nothing is sent before the first text.

    The key is read from OPENAI_API_KEY; the address is `?base_url=`, else OPENAI_BASE_URL, else OpenAI's. SpecError for
    an address with a password, or for OpenAI without a key.
    """
    named = parse_spec(spec, _REMOTE_OPTIONS)
    address = read_address(named.options.get("base_url") or os.environ.get("OPENAI_BASE_URL", "").strip() or _OPENAI)
    parts = urlsplit(address)
    if parts.password or parts.username:
        raise SpecError(f"{redact(spec)!r}: leave the key out of base_url; set {KEY_VARIABLE}")
    if address == _OPENAI and not os.environ.get(KEY_VARIABLE):
        raise SpecError(
            f"{named.spec!r} needs a key: set {KEY_VARIABLE}, or name a local server with "
            f"openai:{named.name}?base_url=http://HOST:PORT/v1"
        )
    server = JsonServer(parts._replace(path=f"{parts.path}/embeddings").geturl(), KEY_VARIABLE, largest=_MAX_RESPONSE)
    size, dimensions = number_option(named, "batch", TEXTS_PER_REQUEST), number_option(named, "dimensions", 0)

    async def request(part: Sequence[Text]) -> list[Vector]:
        shortened = {"dimensions": dimensions} if dimensions else {}
        texts = [item.prefix + item.text for item in part]
        body = {"model": named.name, "input": texts, "encoding_format": "float", **shortened}
        try:
            return await server.request("POST", lambda response: _vectors_by_index(response, len(part)), json=body)
        except ModelError as error:
            if error.trouble or len(part) == 1 or "batch" not in str(error):
                raise
        half = len(part) // 2  # of a server that takes fewer texts at a time
        return [*await request(part[:half]), *await request(part[half:])]

    async def encode(items: Sequence[Text]) -> list[Vector]:
        parts = [items[first : first + size] for first in range(0, len(items), size)]
        return [vector for vectors in await asyncio.gather(*map(request, parts)) for vector in vectors]

    options = {key: value for key, value in named.options.items() if key != "batch"}
    prefixes = prefixes_by_name(named.name)
    return EmbeddingModel(
        f"openai:{named.name}" + (f"?{urlencode(options, safe=':/')}" if options else ""),
        encode,
        normalize=True,
        query_prefix=named.options.get("query_prefix", prefixes.query),
        passage_prefix=named.options.get("passage_prefix", prefixes.passage),
    )


def untrusted_address(spec: str) -> str | None:
    """Return the address to which an index's spec would send queries and the key; None if it can be trusted.

    This machine, the address in OPENAI_BASE_URL and models without an address are trusted.
    """
    address = parse_spec(spec, _REMOTE_OPTIONS).options.get("base_url") if spec.startswith("openai:") else None
    if not address or urlsplit(address).hostname in _LOOPBACK or address == os.environ.get("OPENAI_BASE_URL"):
        return None
    return address


EMBEDDING_KINDS: dict[str, Callable[[str], EmbeddingModel]] = {
    **dict.fromkeys(LOADERS, local_embeddings),
    "openai": openai_embeddings,
}
OBJECT = "object:"
"""Prefix of the recorded spec of a model passed as an object."""
EMBEDDING_SPECS = (
    "sentence-transformers:NAME_OR_PATH (or st:), contriever:NAME_OR_PATH, flag:NAME_OR_PATH (BGE), "
    "openai:MODEL?base_url=http://HOST:PORT/v1"
)


def resolve_embeddings(given: str | Embeddings) -> EmbeddingModel:
    """Return the model of a spec, e.g. `st:sentence-transformers/all-MiniLM-L6-v2`, or of any LangChain `Embeddings`.

    Loads weights once per process, so call it in a thread. SpecError for an unknown spec (it lists the valid ones), or
    a model that cannot be loaded.
    """
    if isinstance(given, Embeddings):
        return EmbeddingModel(f"{OBJECT}{type(given).__name__}", _encoder_of(given), normalize=True)
    spec = given.strip()
    hint = "; it was passed as an object: pass it again" if spec.startswith(OBJECT) else ""
    return resolve_by_kind("embedding model", spec, EMBEDDING_KINDS, EMBEDDING_SPECS, hint)


def _encoder_of(embeddings: Embeddings) -> Encoder:
    """Return an encoder that uses a LangChain `Embeddings`, which adds its own prefixes.

    It runs on the background loop, since HTTP connections belong to the loop of their first request.
    """

    async def embed(items: Sequence[Text]) -> list[Vector]:
        if items and items[0].is_query:
            vectors = [await embeddings.aembed_query(item.text) for item in items]
        else:
            vectors = await embeddings.aembed_documents([item.text for item in items])
        try:
            return list(map(to_vector, vectors))
        except (TypeError, ValueError) as error:
            raise ModelError(f"{type(embeddings).__name__}: did not return vectors: {error}") from None

    return lambda items: run_on(background_loop(), embed(items))
