"""Entailment models that run in this process: `nli:`, `t5-nli:` and `minicheck:`.

kind          the model reads                              probability
`nli:`        premise and hypothesis as a pair             softmax over its labels, of the one for entailment
`t5-nli:`     `premise: … hypothesis: …`                   of "1" against "0" as the first word of its answer
`minicheck:`  `predict: document</s>claim` (T5),           of "1" against "0" (T5), of the second label
              `document</s>claim` (RoBERTa, DeBERTa)

Sources: Honovich et al., TRUE (2022), and the citation measure of Gao et al., ALCE (2023), for t5-nli; Tang et
al., MiniCheck (2024), whose code was read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopgraph.state import EntailmentChecker, SpecError
from hopgraph.tools.scoring.entailment.labels import entailing_label
from hopgraph.tools.scoring.entailment.windows import best_window
from hopgraph.tools.scoring.weights import (
    LOCAL_OPTIONS,
    Batched,
    NamedModel,
    Pair,
    TextModel,
    is_task,
    load_text_model,
    locate,
    placement_of,
    read_spec,
    require,
    shared,
)

SEQUENCE, SEQ2SEQ = "SequenceClassification", "Seq2SeqLM"
MINICHECK_T5_LENGTH = 1024
"""Tokens of a part: its authors cut documents into parts of 500 words, and read 2,048 tokens at most."""

Scoring = Callable[[Sequence[Pair]], list[float]]


@dataclass(frozen=True)
class LocalEntailment:
    """Scores pairs with a model that was loaded once for the process."""

    name: str
    batched: Batched[Pair, float]
    threshold: float = 0.5

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Score (premise, hypothesis) pairs; of a premise that is too long the best part counts.

        Returns:
            One probability per pair, in order; an empty list for no pairs.
        """
        return self.batched(pairs)

    async def ascore(self, pairs: Sequence[Pair]) -> list[float]:
        """Score pairs without blocking the event loop or a thread of its pool; see `score`."""
        return await self.batched.acall(pairs)


def nli(spec: str) -> EntailmentChecker:
    """Make a checker of a cross-encoder that was trained on MNLI, ANLI, FEVER or the like.

    The order of its labels is read from its config; `?label=NAME` says which one counts, where its names
    do not.

    Raises:
        SpecError: a bad spec, a missing package, a model that cannot be loaded, or no label for entailment.
    """
    named = read_spec(spec, (*LOCAL_OPTIONS, "label"))

    def scoring(folder: Path) -> tuple[TextModel, Scoring]:
        model = load_text_model(named, folder, placement_of(named), SEQUENCE)
        entails = _label(named, model.model.config.id2label)

        def score(pairs: Sequence[Pair]) -> list[float]:
            rows = model.rows(pairs, truncation="only_first")
            return [row[entails] for row in model.run(rows, lambda padded: _softmax(model.model(**padded).logits))]

        return model, score

    return _checker(named, scoring)


def t5_nli(spec: str) -> EntailmentChecker:
    """Make a checker of google/t5_xxl_true_nli_mixture or a model of its format.

    The papers let it write and compare with "1"; the probability is above 0.5 where it would write that.

    Raises:
        SpecError: a bad spec, a missing package, or a model that cannot be loaded.
    """
    named = read_spec(spec)

    def scoring(folder: Path) -> tuple[TextModel, Scoring]:
        model = load_text_model(named, folder, placement_of(named), SEQ2SEQ)
        return model, _first_word(model, lambda premise, hypothesis: f"premise: {premise} hypothesis: {hypothesis}")

    return _checker(named, scoring)


def minicheck(spec: str) -> EntailmentChecker:
    """Make a checker of a MiniCheck model: Flan-T5, RoBERTa or DeBERTa, by its config.

    Raises:
        SpecError: a bad spec, a missing package, or a model that cannot be loaded.
    """
    named = read_spec(spec)

    def scoring(folder: Path) -> tuple[TextModel, Scoring]:
        place = placement_of(named)
        if is_task(named, folder, SEQ2SEQ):
            model = load_text_model(named, folder, place, SEQ2SEQ, usual_length=MINICHECK_T5_LENGTH)
            end = model.tokenizer.eos_token
            return model, _first_word(model, lambda document, claim: f"predict: {document}{end}{claim}")
        model = load_text_model(named, folder, place, SEQUENCE)
        if model.model.config.num_labels != 2:
            raise SpecError(f"{named.spec!r}: MiniCheck has 2 labels, this model has {model.model.config.num_labels}")

        def score(pairs: Sequence[Pair]) -> list[float]:
            texts = [f"{document}{model.tokenizer.eos_token}{claim}" for document, claim in pairs]
            rows = model.rows(texts, truncation=True)
            return [row[1] for row in model.run(rows, lambda padded: _softmax(model.model(**padded).logits))]

        return model, score

    return _checker(named, scoring)


def _checker(named: NamedModel, scoring: Callable[[Path], tuple[TextModel, Scoring]]) -> EntailmentChecker:
    """Load a model once for the process, and let it score the windows of long premises."""
    folder, place = locate(named), placement_of(named)

    def load() -> Batched[Pair, float]:
        model, score = scoring(folder)
        room = model.max_length - _SPECIAL_AND_FORMAT
        if room < 1:
            raise SpecError(f"{named.spec!r}: max_length must be above {_SPECIAL_AND_FORMAT}")
        return Batched(lambda pairs: best_window(pairs, score, model.lengths, room), named.spec)

    key = (named.kind, folder, place, named.limits, named.options.get("label"))
    return LocalEntailment(named.spec, shared(key, load))


_SPECIAL_AND_FORMAT = 16
"""Tokens of a text that are neither premise nor hypothesis, at most: `premise:`, `hypothesis:`, separators."""


def _label(named: NamedModel, names: Any) -> int:
    labels = [str(names[index]) for index in sorted(names, key=int)]
    try:
        return entailing_label(labels, named.options.get("label"))
    except ValueError as error:
        raise SpecError(f"{named.spec!r}: {error}; name it with ?label=NAME") from None


def _softmax(logits: Any) -> Any:
    return logits.float().softmax(dim=-1)


def _first_word(model: TextModel, text_of: Callable[[str, str], str]) -> Scoring:
    """Make a function that compares "1" with "0" as the first token of a T5's answer."""
    torch = require("torch")
    no, yes = (model.tokenizer(answer, add_special_tokens=False)["input_ids"][0] for answer in "01")
    if no == yes:
        raise SpecError(f"{model.tokenizer.name_or_path}: this model's tokeniser does not tell 0 from 1")
    start = model.model.config.decoder_start_token_id

    def forward(padded: dict[str, Any]) -> Any:
        begin = torch.full((len(padded["input_ids"]), 1), start, device=model.device)
        inputs = {name: padded[name] for name in ("input_ids", "attention_mask")}
        return _softmax(model.model(**inputs, decoder_input_ids=begin).logits[:, 0, [no, yes]])

    def score(pairs: Sequence[Pair]) -> list[float]:
        rows = model.rows([text_of(first, second) for first, second in pairs], truncation=True)
        return [row[1] for row in model.run(rows, forward)]

    return score
