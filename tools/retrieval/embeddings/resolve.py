"""Resolve an embedding model by its spec, or wrap a LangChain `Embeddings` object."""

from collections.abc import Callable, Sequence

from langchain_core.embeddings import Embeddings

from hopgraph.state import ModelError
from hopgraph.tools.io.background import background_loop, run_on
from hopgraph.tools.retrieval.embeddings.embedding_model import EmbeddingModel, Encoder, Text, Vector, to_vector
from hopgraph.tools.retrieval.embeddings.local import LOADERS, local_embeddings
from hopgraph.tools.retrieval.embeddings.remote import openai_embeddings
from hopgraph.tools.scoring.weights.model_specs import resolve_by_kind

KINDS: dict[str, Callable[[str], EmbeddingModel]] = {
    **dict.fromkeys(LOADERS, local_embeddings),
    "openai": openai_embeddings,
}
"""The function behind each kind of spec."""
OBJECT = "object:"
"""Prefix of the recorded spec of a model that was given as an object."""
VALID_SPECS = (
    "sentence-transformers:NAME_OR_PATH (or st:), contriever:NAME_OR_PATH, flag:NAME_OR_PATH (BGE), "
    "openai:MODEL?base_url=http://HOST:PORT/v1"
)


def resolve_embeddings(given: str | Embeddings) -> EmbeddingModel:
    """Return the model of a spec, as `st:sentence-transformers/all-MiniLM-L6-v2`, or of any LangChain `Embeddings`.

    Loads weights, so it belongs in a thread; each is loaded once for the process.

    Raises:
        SpecError: no model has this spec, or it cannot be loaded; the message names the valid specs.
    """
    if isinstance(given, Embeddings):
        return EmbeddingModel(f"{OBJECT}{type(given).__name__}", _encoder_of(given), normalise=True)
    spec = given.strip()
    hint = "; it was given as an object in code: give it again" if spec.startswith(OBJECT) else ""
    return resolve_by_kind("embedding model", spec, KINDS, VALID_SPECS, hint)


def _encoder_of(embeddings: Embeddings) -> Encoder:
    """Embed with a LangChain `Embeddings`, which adds its own prefixes.

    It is always used on the background loop, since its HTTP connections belong to the loop of their first request.
    """

    async def embed(items: Sequence[Text]) -> list[Vector]:
        if items and items[0].is_query:
            vectors = [await embeddings.aembed_query(item.text) for item in items]
        else:
            vectors = await embeddings.aembed_documents([item.text for item in items])
        try:
            return list(map(to_vector, vectors))
        except (TypeError, ValueError) as error:
            raise ModelError(f"{type(embeddings).__name__}: gave something else than vectors: {error}") from None

    return lambda items: run_on(background_loop(), embed(items))
