"""Embedding models behind OpenAI's `/embeddings`, which OpenAI, vLLM, TEI, Ollama and llama.cpp serve.

langchain-openai's OpenAIEmbeddings is not used: it takes vectors in the order of the answer, and ignores their index.
"""

import asyncio
import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode, urlsplit

from hopgraph.state import SpecError
from hopgraph.tools.io.json_server import JsonServer
from hopgraph.tools.io.redact import redact
from hopgraph.tools.retrieval.embeddings.embedding_model import (
    EmbeddingModel,
    Text,
    Vector,
    prefixes_by_name,
    to_vector,
)
from hopgraph.tools.scoring.weights.model_specs import number_option, read_spec

KEY_VARIABLE = "OPENAI_API_KEY"
TEXTS_PER_REQUEST = 64
_LARGEST_ANSWER = 256 * 1024**2
"""Bytes: thousands of vectors, written as text."""
_OPENAI = "https://api.openai.com/v1"
_OPTIONS = ("base_url", "batch", "dimensions", "query_prefix", "passage_prefix")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def _vectors_by_index(answer: Any, texts: int) -> list[Vector]:
    """Return an answer's vectors in the order of the texts."""
    vectors = {int(each["index"]): to_vector(each["embedding"]) for each in answer["data"]}
    if vectors.keys() != set(range(texts)):
        raise ValueError(f"{len(vectors)} vectors for {texts} texts")
    return [vectors[index] for index in range(texts)]


def openai_embeddings(spec: str) -> EmbeddingModel:
    """Return the embedding model of an OpenAI-compatible server; nothing is sent before the first text.

    The key is read from OPENAI_API_KEY, the address from `?base_url=`, else OPENAI_BASE_URL, else it is OpenAI's.

    Raises:
        SpecError: no address, an address with a password, or no key for OpenAI itself.
    """
    named = read_spec(spec, _OPTIONS)
    address = named.options.get("base_url") or os.environ.get("OPENAI_BASE_URL") or _OPENAI
    if urlsplit(address).password or urlsplit(address).username:
        raise SpecError(f"{redact(spec)!r}: leave the key out of base_url; set {KEY_VARIABLE}")
    if address == _OPENAI and not os.environ.get(KEY_VARIABLE):
        raise SpecError(
            f"{named.spec!r} needs a key: set {KEY_VARIABLE}, or name a local server with "
            f"openai:{named.name}?base_url=http://HOST:PORT/v1"
        )
    server = JsonServer(f"{address.rstrip('/')}/embeddings", KEY_VARIABLE, largest=_LARGEST_ANSWER)
    size, dimensions = number_option(named, "batch", TEXTS_PER_REQUEST), number_option(named, "dimensions", 0)

    async def request(part: Sequence[Text]) -> list[Vector]:
        shortened = {"dimensions": dimensions} if dimensions else {}  # for models that can shorten their vectors
        texts = [item.prefix + item.text for item in part]
        body = {"model": named.name, "input": texts, "encoding_format": "float", **shortened}
        return await server.request("POST", lambda answer: _vectors_by_index(answer, len(part)), json=body)

    async def encode(items: Sequence[Text]) -> list[Vector]:
        parts = [items[first : first + size] for first in range(0, len(items), size)]
        return [vector for vectors in await asyncio.gather(*map(request, parts)) for vector in vectors]

    options = {key: value for key, value in named.options.items() if key != "batch"}
    prefixes = prefixes_by_name(named.name)
    return EmbeddingModel(
        f"openai:{named.name}" + (f"?{urlencode(options, safe=':/')}" if options else ""),
        encode,
        normalise=True,
        query_prefix=named.options.get("query_prefix", prefixes.query),
        passage_prefix=named.options.get("passage_prefix", prefixes.passage),
    )


def untrusted_address(spec: str) -> str | None:
    """Return the address to which a spec out of an index would send queries and the key, unless the user named it.

    None for this machine, for the environment's own address, and for models without an address.
    """
    address = read_spec(spec, _OPTIONS).options.get("base_url") if spec.startswith("openai:") else None
    if not address or urlsplit(address).hostname in _LOOPBACK or address == os.environ.get("OPENAI_BASE_URL"):
        return None
    return address
