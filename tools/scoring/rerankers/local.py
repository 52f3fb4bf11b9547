"""Rerankers that run in this process: `bge:` by FlagEmbedding, `cross-encoder:` by sentence-transformers."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hopgraph.state import Reranker, SpecError
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.scoring.pair_scorers import Pair
from hopgraph.tools.scoring.weights.batched import SingleForward, estimate_tokens, run_in_batches, tokens_per_batch
from hopgraph.tools.scoring.weights.model_specs import M3_HEADS, ModelSpec, Placement, number_option, parse_spec
from hopgraph.tools.scoring.weights.text_model import (
    USUAL_LENGTH,
    Scoring,
    architectures,
    check_weights,
    loading,
    local_scorer,
    max_length_of,
)

SEQUENCE, CAUSAL = "SequenceClassification", "CausalLM"
M3_WEIGHTS = {"dense": 0.4, "sparse": 0.2, "multi-vector": 0.4}
"""Weights of BGE-M3's three scores, from its authors."""
_NEEDS_TRANSFORMERS_4 = frozenset({"LayerWiseMiniCPMForCausalLM", "CostWiseGemmaForCausalLM"})
"""The layerwise and lightweight rerankers, whose classes in FlagEmbedding 1.4 fail with transformers 5."""
_THRESHOLDS = {"bge-reranker-base": 3.0}
"""δ by the last part of a model's name or folder: MIGRES's for multi-hop questions (Table 11)."""
_PROMPT_TOKENS = 64  # of a decoder, in addition to the pair


def local_reranker(spec: str) -> Reranker:
    """Return a reranker of FlagEmbedding (encoders, decoders such as v2-gemma, BGE-M3) or a CrossEncoder.

    Scores are raw logits, without a sigmoid; those of BGE-M3 are a weighted mean of similarities. SpecError for an
    invalid spec, a missing package, or a model that cannot be loaded.
    """
    named = parse_spec(spec)
    if named.kind == "cross-encoder":
        return local_scorer(named, None, _load_cross_encoder)
    return local_scorer(named, _THRESHOLDS.get(Path(named.name).name), _load_bge)


def _load_bge(named: ModelSpec, folder: Path, place: Placement) -> Scoring:
    if all((folder / name).is_file() for name in M3_HEADS):
        return _load_m3(named, folder, place)
    if unsupported := _NEEDS_TRANSFORMERS_4.intersection(architectures(named, folder)):
        raise SpecError(f"{named.spec!r}: {min(unsupported)} does not load with transformers 5; use another reranker")
    decoder = any(each.endswith(CAUSAL) for each in architectures(named, folder))
    task = CAUSAL if decoder else SEQUENCE
    check_weights(named, folder, task)
    with loading(named.spec, str(folder)):
        reranker: Any = require("FlagEmbedding").FlagAutoReranker.from_finetuned(
            str(folder),
            model_class="decoder-only-base" if decoder else "encoder-only-base",
            use_fp16=False,
            trust_remote_code=False,
            devices=place.device,
        )
    if decoder:  # it shows a progress bar for every call
        module = require("FlagEmbedding.inference.reranker.decoder_only.base")
        module.trange = partial(require("tqdm").trange, disable=True)
    else:
        _check_one_label(named, reranker.model.config.num_labels)
    config = reranker.model.config
    longest = max_length_of(named, config, reranker.tokenizer)
    reranker.model = SingleForward(reranker.model.to(place.torch_dtype))

    def logits(pairs: list[Pair]) -> list[float]:
        return reranker.compute_score(pairs, batch_size=len(pairs) + 1, max_length=longest)

    tokens = number_option(named, "batch_tokens", tokens_per_batch(config, place))
    return partial(score_distinct, logits, longest + (_PROMPT_TOKENS if decoder else 0), tokens)


def _load_m3(named: ModelSpec, folder: Path, place: Placement) -> Scoring:
    check_weights(named, folder)
    with loading(named.spec, str(folder)):
        model: Any = require("FlagEmbedding").BGEM3FlagModel(
            str(folder), use_fp16=place.dtype == "fp16", use_bf16=place.dtype == "bf16", devices=place.device
        )
    config = model.model.model.config
    longest = max_length_of(named, config, model.tokenizer)
    model.model = SingleForward(model.model)

    def scores(pairs: list[Pair]) -> list[float]:
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        found = model.encode(
            texts, batch_size=len(texts) + 1, max_length=longest, return_sparse=True, return_colbert_vecs=True
        )
        place_of = {text: index for index, text in enumerate(texts)}
        return [_m3_score(model, found, place_of[query], place_of[text]) for query, text in pairs]

    tokens = number_option(named, "batch_tokens", tokens_per_batch(config, place))
    return partial(score_distinct, scores, longest, tokens)


def _m3_score(model: Any, found: dict[str, Any], query: int, text: int) -> float:
    dense, sparse, vectors = found["dense_vecs"], found["lexical_weights"], found["colbert_vecs"]
    scores = {
        "dense": float(dense[query] @ dense[text]),
        "sparse": float(model.compute_lexical_matching_score(sparse[query], sparse[text])),
        "multi-vector": float(model.colbert_score(vectors[query], vectors[text])),
    }
    return sum(weight * scores[kind] for kind, weight in M3_WEIGHTS.items())


def _load_cross_encoder(named: ModelSpec, folder: Path, place: Placement) -> Scoring:
    library, torch = require("sentence_transformers"), require("torch")
    if not (folder / "modules.json").is_file():
        check_weights(named, folder, SEQUENCE)
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

    def logits(pairs: list[Pair]) -> list[float]:
        identity = torch.nn.Identity()
        scores = model.predict(pairs, batch_size=len(pairs), activation_fn=identity, show_progress_bar=False)
        return [float(score) for score in scores]

    tokens = number_option(named, "batch_tokens", tokens_per_batch(getattr(model.model, "config", None), place))
    return partial(score_distinct, logits, model.max_seq_length or USUAL_LENGTH, tokens)


def _check_one_label(named: ModelSpec, labels: int) -> None:
    if labels != 1:
        raise SpecError(f"{named.spec!r}: a reranker has one output, and this model has {labels} labels; see nli:")


def score_distinct(scoring: Scoring, longest: int, tokens: int, pairs: Sequence[Pair]) -> list[float]:
    """Return the scores of pairs, in order; distinct pairs are scored once, in batches of similar length.

    A pair has at most `longest` tokens, a batch at most `tokens`, padding included.
    """
    distinct = list(dict.fromkeys(pairs))
    lengths = estimate_tokens((query + text for query, text in distinct), longest)
    scores = dict(zip(distinct, run_in_batches(distinct, lengths, tokens, scoring), strict=True))
    return [scores[pair] for pair in pairs]
