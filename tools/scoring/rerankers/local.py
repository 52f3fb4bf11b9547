"""Rerankers that run in this process: `bge:` and `cross-encoder:`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hopgraph.state import Reranker, SpecError
from hopgraph.tools.scoring.weights import (
    USUAL_LENGTH,
    Batched,
    NamedModel,
    Pair,
    TextModel,
    check_task,
    load_text_model,
    loading,
    locate,
    number_option,
    placement_of,
    read_spec,
    require,
    shared,
    tokens_per_batch,
)

QUERY_SHARE = 0.75
"""Of a pair's tokens, as FlagEmbedding cuts queries."""


@dataclass(frozen=True)
class LocalReranker:
    """Scores pairs with a model that was loaded once for the process. Its scores are raw logits."""

    name: str
    batched: Batched[Pair, float]
    threshold: float | None = None
    """A logit's scale is the model's own: see `hopgraph calibrate`."""

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Score (query, text) pairs; equal pairs are scored once.

        Returns:
            One logit per pair, in order; an empty list for no pairs.
        """
        return self.batched(pairs)

    async def ascore(self, pairs: Sequence[Pair]) -> list[float]:
        """Score pairs without blocking the event loop or a thread of its pool; see `score`."""
        return await self.batched.acall(pairs)


def bge(spec: str) -> Reranker:
    """Make a BGE reranker: the scores of FlagEmbedding's `FlagReranker.compute_score`, in fewer steps.

    It is computed with transformers alone: FlagReranker tokenises pairs one by one and keeps 128 of them
    together however long they are.

    Raises:
        SpecError: a bad spec, a missing package, or a model that cannot be loaded.
    """
    named = read_spec(spec)
    folder, place = locate(named), placement_of(named)

    def load() -> Batched[Pair, float]:
        model = load_text_model(named, folder, place, "SequenceClassification")
        _check_one_label(named, model.model.config.num_labels)
        return Batched(each_once(lambda pairs: _bge_logits(model, pairs)), named.spec)

    return LocalReranker(named.spec, shared(("bge", folder, place, named.limits), load))


def _bge_logits(model: TextModel, pairs: Sequence[Pair]) -> list[float]:
    queries = _as_read(model, [query for query, _ in pairs], int(model.max_length * QUERY_SHARE))
    texts = _as_read(model, [text for _, text in pairs], model.max_length)
    rows = model.rows([(queries[query], texts[text]) for query, text in pairs], truncation="only_second")
    return [row[0] for row in model.logits(rows)]


def _as_read(model: TextModel, texts: Sequence[str], longest: int) -> dict[str, str]:
    """Give each text as FlagReranker passes it on: its first `longest` tokens, decoded and joined to pairs.

    Decoding changes nothing but where a text is cut and where it has characters that the model does not know.
    """
    distinct = list(dict.fromkeys(texts))
    read = model.tokenizer(distinct, add_special_tokens=False, verbose=False)["input_ids"]
    unknown = model.tokenizer.unk_token_id
    return {
        text: model.tokenizer.decode(ids[:longest], clean_up_tokenization_spaces=False)
        if len(ids) > longest or unknown in ids
        else text
        for text, ids in zip(distinct, read, strict=True)
    }


def cross_encoder(spec: str) -> Reranker:
    """Make a reranker of a sentence-transformers CrossEncoder; its scores are logits, without a sigmoid.

    Raises:
        SpecError: a bad spec, a missing package, or a model that cannot be loaded.
    """
    named = read_spec(spec)
    folder, place = locate(named), placement_of(named)
    if not (folder / "modules.json").is_file():
        check_task(named, folder, "SequenceClassification")

    def load() -> Batched[Pair, float]:
        library, torch = require("sentence_transformers"), require("torch")
        with loading(named.spec, str(folder)):
            model: Any = library.CrossEncoder(
                str(folder),
                device=place.device,
                max_length=number_option(named, "max_length", 0) or None,
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"dtype": place.torch_dtype, "weights_only": True},
            )
        _check_one_label(named, model.num_labels)
        config = getattr(model.model, "config", None)
        tokens = number_option(named, "batch_tokens", tokens_per_batch(config, place))

        def logits(pairs: Sequence[Pair]) -> list[float]:
            size = max(1, tokens // (model.max_seq_length or USUAL_LENGTH))
            found = model.predict(
                list(pairs), batch_size=size, activation_fn=torch.nn.Identity(), show_progress_bar=False
            )
            return [float(score) for score in found]

        return Batched(each_once(logits), named.spec)

    return LocalReranker(named.spec, shared(("cross-encoder", folder, place, named.limits), load))


def _check_one_label(named: NamedModel, labels: int) -> None:
    if labels != 1:
        raise SpecError(f"{named.spec!r}: a reranker gives one score, and this model has {labels} labels; see nli:")


def each_once(work: Callable[[Sequence[Pair]], Sequence[float]]) -> Callable[[list[Pair]], list[float]]:
    """Wrap a scoring function so that pairs that occur several times are scored once."""

    def score(pairs: list[Pair]) -> list[float]:
        distinct = list(dict.fromkeys(pairs))
        scores = dict(zip(distinct, work(distinct), strict=True))
        return [scores[pair] for pair in pairs]

    return score
