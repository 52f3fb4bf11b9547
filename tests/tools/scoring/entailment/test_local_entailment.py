"""Entailment models that run in this process, on real architectures with small random weights."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the models extra")
pytest.importorskip("transformers", reason="needs the models extra")

from hopgraph.state import EntailmentChecker, SpecError
from hopgraph.tools.scoring.entailment.local import score_best_window, split_windows
from hopgraph.tools.scoring.pair_scorers import entailing_label
from hopgraph.tools.scoring.resolve import resolve_entailment
from support import tiny_models

SHUFFLED = {0: "neutral", 1: "contradiction", 2: "ENTAILMENT"}


def pairs(count: int = 12) -> list[tuple[str, str]]:
    passages = tiny_models.corpus()[:count]
    return [(text, other.partition("\n")[0] + " is old.") for text, other in pairwise(passages)]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    make = tmp_path_factory.mktemp
    return {
        "deberta": tiny_models.deberta(make("deberta"), SHUFFLED),
        "bert": tiny_models.bert(make("bert"), labels={0: "entailment", 1: "not_entailment"}),
        "t5": tiny_models.t5(make("t5")),
        "checker": tiny_models.xlm_roberta(make("checker"), labels=2),
    }


def sequence_probabilities(folder: Path, texts: Sequence[Any], label: int) -> list[float]:
    """Call transformers directly, text by text."""
    transformers, torch = tiny_models.transformers, tiny_models.torch
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        return [model(**tokenizer(*text, return_tensors="pt")).logits.softmax(-1)[0, label].item() for text in texts]


@pytest.mark.parametrize(("name", "label"), [("deberta", 2), ("bert", 0)])
def test_nli_equals_transformers_and_reads_the_label_order(folders: dict[str, Path], name: str, label: int) -> None:
    checker = resolve_entailment(f"nli:{folders[name]}")
    found = checker.score(pairs())
    assert isinstance(checker, EntailmentChecker)
    assert found == pytest.approx(sequence_probabilities(folders[name], pairs(), label), abs=1e-5)
    assert max(found) - min(found) > 1e-3
    assert checker.score([]) == []


@pytest.mark.parametrize(
    ("kind", "form"),
    [("t5-nli", "premise: {} hypothesis: {}"), ("minicheck", "predict: {}</s>{}")],
)
def test_t5_equals_transformers(folders: dict[str, Path], kind: str, form: str) -> None:
    transformers, torch = tiny_models.transformers, tiny_models.torch
    found = resolve_entailment(f"{kind}:{folders['t5']}").score(pairs())
    tokenizer = transformers.AutoTokenizer.from_pretrained(folders["t5"])
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folders["t5"]).eval()
    answers = [tokenizer(each, add_special_tokens=False)["input_ids"][0] for each in ("0", "1")]
    expected: list[float] = []
    for pair in pairs():
        read = tokenizer(form.format(*pair), return_tensors="pt")
        step = model.generate(**read, max_new_tokens=1, return_dict_in_generate=True, output_logits=True)
        expected.append(torch.stack([step.logits[0][0, each] for each in answers]).softmax(-1)[1].item())
    assert found == pytest.approx(expected, abs=1e-5)
    assert max(found) - min(found) > 1e-3


def test_a_minicheck_encoder_equals_transformers(folders: dict[str, Path]) -> None:
    found = resolve_entailment(f"minicheck:{folders['checker']}").score(pairs())
    joined = [(f"{document}</s>{claim}",) for document, claim in pairs()]
    assert found == pytest.approx(sequence_probabilities(folders["checker"], joined, 1), abs=1e-5)


@pytest.mark.parametrize("kind", ["nli:deberta", "nli:bert", "t5-nli:t5", "minicheck:t5", "minicheck:checker"])
def test_the_best_window_of_a_long_premise_counts(folders: dict[str, Path], kind: str) -> None:
    name, _, folder = kind.partition(":")
    checker = resolve_entailment(f"{name}:{folders[folder]}?max_length=120")
    long = "\n\n".join(tiny_models.corpus()[:8])
    claim = "Ed Wood was directed by Tim Burton."
    model: Any = tiny_models.transformers.AutoTokenizer.from_pretrained(folders[folder])

    def sizes(texts: list[str]) -> list[int]:
        return [len(model(each, add_special_tokens=False)["input_ids"]) for each in texts]

    parts = split_windows(long, sizes, 120 - 16 - sizes([claim])[0])
    assert len(parts) > 3
    assert checker.score([(long, claim)])[0] == pytest.approx(
        max(checker.score([(part, claim) for part in parts])), abs=1e-6
    )


def words(texts: list[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def test_windows_are_whole_sentences_as_long_as_fits() -> None:
    premise = "Title\nOne two three. Four five six.  Seven eight nine ten. Eleven."
    assert split_windows(premise, words, 7) == ["Title\nOne two three. Four five six.", "Seven eight nine ten. Eleven."]
    assert split_windows(premise, words, 100) == [premise]


def test_a_sentence_that_is_too_long_is_cut_between_words_and_nothing_is_lost() -> None:
    premise = " ".join(f"word{number}" for number in range(50))
    parts = split_windows(premise, words, 10)
    assert max(words(parts)) <= 10
    assert " ".join(parts) == premise
    assert split_windows("", words, 10) == [""]


def test_a_hypothesis_longer_than_the_model_leaves_room_for_the_premise() -> None:
    seen: list[tuple[str, str]] = []

    def score(some: Sequence[tuple[str, str]]) -> list[float]:
        seen.extend(some)
        return [1.0 for _ in some]

    assert score_best_window(score, words, 16, [("a b c d e f g h", "x " * 500)]) == [1.0]
    assert max(words([premise for premise, _ in seen])) <= 4


def test_no_label_or_two_labels_for_entailment_are_refused(tmp_path: Path, folders: dict[str, Path]) -> None:
    unnamed = tiny_models.bert(tmp_path / "unnamed", labels={0: "LABEL_0", 1: "LABEL_1"})
    with pytest.raises(SpecError, match=r"no label means entailment: LABEL_0, LABEL_1; name it with \?label=NAME"):
        resolve_entailment(f"nli:{unnamed}")
    named = resolve_entailment(f"nli:{unnamed}?label=LABEL_1").score(pairs(3))
    assert named == pytest.approx(sequence_probabilities(unnamed, pairs(3), 1), abs=1e-5)
    with pytest.raises(SpecError, match="MiniCheck has 2 labels, this model has 3"):
        resolve_entailment(f"minicheck:{folders['deberta']}")
    with pytest.raises(SpecError, match="Seq2SeqLM"):
        resolve_entailment(f"t5-nli:{folders['bert']}")


@pytest.mark.parametrize(
    ("labels", "index"),
    [
        (["contradiction", "entailment", "neutral"], 1),
        (["entailment", "not_entailment"], 0),
        (["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"], 0),
        (["not-entailment", "Entailed"], 1),
    ],
)
def test_the_entailing_label_is_found(labels: list[str], index: int) -> None:
    assert entailing_label(labels) == index


@pytest.mark.parametrize("labels", [["LABEL_0", "LABEL_1"], ["entailment", "supported"], []])
def test_labels_that_do_not_say_are_refused(labels: list[str]) -> None:
    with pytest.raises(ValueError, match="label means entailment"):
        entailing_label(labels)
