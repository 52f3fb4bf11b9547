"""Entailment models that run in this process: `nli:`, `t5-nli:` and `minicheck:`.

kind          the model reads                              probability
`nli:`        premise and hypothesis as a pair             softmax over its labels, of the one for entailment
`t5-nli:`     `premise: … hypothesis: …`                   of "1" against "0" as the first word of its answer
`minicheck:`  `predict: document</s>claim` (T5),           of "1" against "0" (T5), of the second label
              `document</s>claim` (RoBERTa, DeBERTa)

Sources: Honovich et al., TRUE (2022), and the citation measure of Gao et al., ALCE (2023), for t5-nli; Tang et
al., MiniCheck (2024), and its code.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hopgraph.state import EntailmentChecker, SpecError
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.scoring.pair_scorers import Pair, entailing_label
from hopgraph.tools.scoring.weights.model_specs import LOCAL_OPTIONS, ModelSpec, Placement, parse_spec
from hopgraph.tools.scoring.weights.text_model import Scoring, TextModel, architectures, load_text_model, local_scorer
from hopgraph.tools.text import split_sentences

_WORD = re.compile(r"(?:\A\s*+)?\S++\s*+")
_MARGIN = 0.8
_MIN_PREMISE_SHARE = 0.25  # of the model's input, however long the hypothesis is


def split_windows(premise: str, count_tokens: Callable[[list[str]], list[int]], room: int) -> list[str]:
    """Split passages into windows of whole sentences, in order, each of at most `room` tokens.

    A sentence that does not fit is split between words. Nothing is left out.
    """
    # The whitespace after a sentence belongs to it.
    ends = [start for start, _ in split_sentences(premise)[1:]] + [len(premise)]
    sentences = [premise[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    pieces = [
        piece
        for sentence, size in zip(sentences, count_tokens(sentences), strict=True)
        for piece in ([sentence] if size <= room else _cut(sentence, size, room))
    ]
    windows: list[str] = []
    used = 0
    for piece, size in zip(pieces, count_tokens(pieces), strict=True):
        if windows and used + size <= room:
            windows[-1] += piece
            used += size
        else:
            windows.append(piece)
            used = size
    return [window.strip() for window in windows]


def _cut(sentence: str, size: int, room: int) -> list[str]:
    """Split a sentence into pieces of about equally many words, with a margin, since words differ in tokens."""
    words = _WORD.findall(sentence)
    many = max(1, int(len(words) * room / size * _MARGIN))
    return ["".join(words[first : first + many]) for first in range(0, len(words), many)]


def score_best_window(
    score: Callable[[list[Pair]], Sequence[float]],
    count_tokens: Callable[[list[str]], list[int]],
    longest: int,
    pairs: Sequence[Pair],
) -> list[float]:
    """Return each pair's best score over windows of `longest` tokens, with the hypothesis; calls `score` once."""
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    size = dict(zip(texts, count_tokens(texts), strict=True))
    windows: list[list[Pair]] = []
    for premise, hypothesis in pairs:
        room = max(1, int(longest * _MIN_PREMISE_SHARE), longest - size[hypothesis])
        parts = [premise] if size[premise] <= room else split_windows(premise, count_tokens, room)
        windows.append([(part, hypothesis) for part in parts])
    distinct = list(dict.fromkeys(window for each in windows for window in each))
    scores = dict(zip(distinct, score(distinct), strict=True))
    return [max(scores[window] for window in each) for each in windows]


SEQUENCE, SEQ2SEQ = "SequenceClassification", "Seq2SeqLM"
MINICHECK_T5_LENGTH = 1024
"""Tokens of a window: MiniCheck's authors split documents into 500 words, and read at most 2,048 tokens."""
_SPECIAL_AND_FORMAT = 16
"""Maximum tokens that are neither premise nor hypothesis: `premise:`, `hypothesis:`, separators."""


def local_entailment(spec: str) -> EntailmentChecker:
    """Return a checker of one of the kinds above; a pair is entailed from a probability of 0.5.

    The labels of `nli:` are read from the model's config; `?label=NAME` names the one for entailment if that is
    unclear. SpecError for an invalid spec, a missing package, no label for entailment, or a model that fails to load.
    """
    named = parse_spec(spec, (*LOCAL_OPTIONS, "label") if spec.startswith("nli:") else LOCAL_OPTIONS)
    return local_scorer(named, 0.5, _LOADERS[named.kind])


def _load_nli(named: ModelSpec, folder: Path, place: Placement) -> Scoring:
    model = load_text_model(named, folder, place, SEQUENCE)
    names = model.model.config.id2label
    labels = [str(names[index]) for index in sorted(names, key=int)]
    try:
        label = entailing_label(labels, named.options.get("label"))
    except ValueError as error:
        raise SpecError(f"{named.spec!r}: {error}; name it with ?label=NAME") from None
    classify = _classify(model)
    return _by_windows(named, model, lambda pairs: [row[label] for row in model.run(pairs, classify, "only_first")])


def _load_t5_nli(named: ModelSpec, folder: Path, place: Placement) -> Scoring:
    # The papers generate an answer and compare it with "1"; that answer has a probability above 0.5.
    model = load_text_model(named, folder, place, SEQ2SEQ)
    return _by_windows(named, model, _first_word(model, "premise: {} hypothesis: {}"))


def _load_minicheck(named: ModelSpec, folder: Path, place: Placement) -> Scoring:
    if any(each.endswith("ForConditionalGeneration") for each in architectures(named, folder)):
        model = load_text_model(named, folder, place, SEQ2SEQ, usual_length=MINICHECK_T5_LENGTH)
        return _by_windows(named, model, _first_word(model, f"predict: {{}}{model.tokenizer.eos_token}{{}}"))
    model = load_text_model(named, folder, place, SEQUENCE)
    if model.model.config.num_labels != 2:
        raise SpecError(f"{named.spec!r}: MiniCheck has 2 labels, this model has {model.model.config.num_labels}")

    def score(pairs: Sequence[Pair]) -> list[float]:
        texts = [f"{document}{model.tokenizer.eos_token}{claim}" for document, claim in pairs]
        return [row[1] for row in model.run(texts, _classify(model), truncation=True)]

    return _by_windows(named, model, score)


_LOADERS = {"nli": _load_nli, "t5-nli": _load_t5_nli, "minicheck": _load_minicheck}


def _by_windows(named: ModelSpec, model: TextModel, score: Scoring) -> Scoring:
    room = model.max_length - _SPECIAL_AND_FORMAT
    if room < 1:
        raise SpecError(f"{named.spec!r}: max_length must be above {_SPECIAL_AND_FORMAT}")
    return partial(score_best_window, score, model.lengths, room)


def _classify(model: TextModel) -> Callable[[dict[str, Any]], Any]:
    return lambda padded: model.model(**padded).logits.float().softmax(dim=-1)


def _first_word(model: TextModel, form: str) -> Scoring:
    """Return a scorer that compares "1" with "0" as the first token of a T5's answer."""
    torch = require("torch")
    no, yes = (model.tokenizer(answer, add_special_tokens=False)["input_ids"][0] for answer in "01")
    if no == yes:
        raise SpecError(f"{model.tokenizer.name_or_path}: this model's tokenizer does not distinguish 0 from 1")
    start = model.model.config.decoder_start_token_id

    def forward(padded: dict[str, Any]) -> Any:
        first = torch.full((len(padded["input_ids"]), 1), start, device=model.device)
        inputs = {name: padded[name] for name in ("input_ids", "attention_mask")}
        return model.model(**inputs, decoder_input_ids=first).logits[:, 0, [no, yes]].float().softmax(dim=-1)

    def score(pairs: Sequence[Pair]) -> list[float]:
        texts = [form.format(*pair) for pair in pairs]
        return [row[1] for row in model.run(texts, forward, truncation=True)]

    return score
