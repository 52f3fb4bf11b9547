"""Support, joint and sufficiency scores against independent implementations of the official scripts.

The scripts themselves are not copied here: what each of them computes is stated again below, in the simplest form, and
compared on thousands of random predictions.
"""

import json
import random
import re
import string
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from hopgraph.state import SettingsError
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader, file_hash
from hopgraph.tools.apps.evaluation.datasets import read_questions
from hopgraph.tools.apps.evaluation.metrics import EXACT_MATCH, F1
from hopgraph.tools.apps.evaluation.official_predictions import PredictedAnswer, read_official_set, score_all
from support.evaluation_runs import citation, outcome, written_run

WORDS = [
    "the",
    "a",
    "an",
    "yes",
    "no",
    "noanswer",
    "Paris",
    "paris,",
    "U.S.",
    "1990",
    "1,990",
    "man",
    "'n'",
    "?",
    "é",
    "A.",
]
CLOSED = ("yes", "no", "noanswer")
Values = dict[str, float]


def plain(text: str) -> str:
    kept = "".join(letter for letter in text.lower() if letter not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split())


def harmonic(one: float, other: float) -> float:
    return 2 * one * other / (one + other) if one + other > 0 else 0.0


def hotpot_answer(prediction: str, gold: str) -> tuple[float, float, float]:
    """Return EM, precision and recall; all 0 if either side is yes or no and they differ."""
    one, other = plain(prediction), plain(gold)
    same = (Counter(one.split()) & Counter(other.split())).total()
    if (one != other and (one in CLOSED or other in CLOSED)) or not same:
        return float(one == other), 0.0, 0.0
    return float(one == other), same / len(one.split()), same / len(other.split())


def hotpot_support(predicted: list[Any], gold: list[Any]) -> tuple[float, float, float]:
    """Return EM, precision and recall from true positives, false positives and false negatives."""
    found = sum(each in gold for each in predicted)
    wrong, missed = len(predicted) - found, sum(each not in predicted for each in gold)
    precision = found / (found + wrong) if found + wrong else 0.0
    return float(not wrong and not missed), precision, found / (found + missed) if found + missed else 0.0


def hotpot_script(predicted: PredictedAnswer, gold: PredictedAnswer, *, lower: bool) -> Values:
    golds = [hotpot_answer(predicted.answers[0], each) for each in gold.answers]
    em, precision, recall = (max(each[place] for each in golds) for place in range(3))
    facts = [list(dict.fromkeys(each.facts)) for each in (predicted, gold)]
    if lower:
        facts = [[(title.lower(), number) for title, number in each] for each in facts]
    sp_em, sp_precision, sp_recall = hotpot_support(*facts)
    joint = precision * sp_precision, recall * sp_recall
    token_f1 = max(harmonic(one, other) for _, one, other in golds)
    return {
        "em": em,
        "f1": token_f1,
        "precision": precision,
        "recall": recall,
        "sp_em": sp_em,
        "sp_f1": harmonic(sp_precision, sp_recall),
        "sp_precision": sp_precision,
        "sp_recall": sp_recall,
        "joint_em": em * sp_em,
        "joint_f1": harmonic(*joint),
        "joint_precision": joint[0],
        "joint_recall": joint[1],
    }


def musique_question(predicted: PredictedAnswer, gold: PredictedAnswer) -> Values:
    """Return SQuAD 2.0's answer scores, and support scores that are 1 if both sides are empty."""

    def f1(one: list[str], other: list[str]) -> float:
        same = (Counter(one) & Counter(other)).total()
        return harmonic(same / len(one), same / len(other)) if one and other else float(one == other)

    said = plain(predicted.answers[0])
    em, precision, recall = hotpot_support(list(predicted.facts), list(gold.facts))
    nothing = not predicted.facts and not gold.facts
    return {
        "answer_em": max(float(said == plain(each)) for each in gold.answers),
        "answer_f1": max(f1(said.split(), plain(each).split()) for each in gold.answers),
        "support_em": 1.0 if nothing else em,
        "support_f1": 1.0 if nothing else harmonic(precision, recall),
    }


def chosen_text(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=chance.choice([0, 1, 1, 1, 2, 2, 3, 5])))


def test_em_and_f1_are_those_of_the_scripts_on_200_tricky_pairs() -> None:
    """Except where normalization leaves nothing, and for yes and no in MuSiQue's script."""
    lines = Path(__file__).with_name("official_pairs.jsonl").read_text(encoding="utf-8").split("\n")
    pairs = [(each["prediction"], each["answers"]) for each in map(json.loads, filter(None, lines))]
    compared = [(said, golds) for said, golds in pairs if all(map(plain, (said, *golds)))]
    assert len(pairs) >= 200
    assert len(compared) > 180
    for said, golds in compared:
        predicted, gold = PredictedAnswer((said,), ()), PredictedAnswer(tuple(golds), ())
        hotpot, musique = hotpot_script(predicted, gold, lower=False), musique_question(predicted, gold)
        ours = EXACT_MATCH(said, golds), F1(said, golds)
        assert ours == pytest.approx((hotpot["em"], hotpot["f1"])), (said, golds)
        if not {*map(plain, (said, *golds))} & {*CLOSED}:
            assert ours == pytest.approx((musique["answer_em"], musique["answer_f1"])), (said, golds)


@pytest.mark.parametrize("script", ["hotpotqa", "2wikimultihopqa"])
def test_support_and_joint_scores_on_2000_predictions_each(script: Any) -> None:
    chance = random.Random(11)
    lower, titles = script != "hotpotqa", ["A", "a", "B", "The C"]
    for _ in range(2_000):
        facts = [
            tuple((chance.choice(titles), chance.randrange(3)) for _ in range(chance.choice([0, 1, 2, 2, 3, 4])))
            for _ in range(2)
        ]
        answers = tuple(chosen_text(chance) for _ in range(chance.randint(1, 3) if lower else 1))
        predicted, gold = PredictedAnswer((chosen_text(chance),), facts[0]), PredictedAnswer(answers, facts[1])
        ours = {name: values[0] for name, values in score_all(script, [("q", predicted, gold)]).items()}
        official = hotpot_script(predicted, gold, lower=lower)
        assert ours == pytest.approx(official), (predicted, gold)
        if all(map(plain, (*predicted.answers, *answers))):  # otherwise ours compare the raw answers
            own = {"em": EXACT_MATCH(predicted.answers[0], answers), "f1": F1(predicted.answers[0], answers)}
            assert own == pytest.approx({name: official[name] for name in own}), (predicted, gold)


def test_support_and_sufficiency_scores_on_2000_musique_predictions() -> None:
    chance = random.Random(12)
    for _ in range(1_000):
        rows: list[tuple[str, PredictedAnswer, PredictedAnswer]] = []
        for answerable in chance.sample([True, False], 2):
            facts = [tuple(("", number) for number in chance.sample(range(5), chance.randint(0, 3))) for _ in range(2)]
            answers = tuple(chosen_text(chance) for _ in range(chance.randint(1, 3)))
            predicted = PredictedAnswer((chosen_text(chance),), facts[0], chance.random() < 0.5)
            rows.append(("q", predicted, PredictedAnswer(answers, facts[1], answerable)))
        ((_, predicted, gold),) = (row for row in rows if row[2].answerable)
        scores = musique_question(predicted, gold)
        right = float(all(own.answerable == true.answerable for _, own, true in rows))
        group = {f"group_{name}_sufficiency_f1": scores[f"{name}_f1"] * right for name in ("answer", "support")}
        ours = {name: fmean(values) for name, values in score_all("musique", rows).items()}
        assert ours == pytest.approx({**scores, **group, "sufficiency": right}), rows


HOTPOT = {
    "_id": "h1",
    "question": "Where was the director of Night Harbour born?",
    "answer": "Larvik",
    "supporting_facts": [["Night Harbour", 1], ["Ada Brink", 0], ["Ada Brink", 7]],
    "context": [
        ["Night Harbour", ["It is a film.", " Its director was Ada Brink."]],
        ["Ada Brink", ["She was born in Larvik.", " She died in Oslo."]],
        ["Oslo", ["Oslo is a town."]],
    ],
}


def hotpot_run(folder: Path, *, wiki: bool = False, sha256: str = "") -> tuple[Path, RunReader]:
    """A question answered by its alias, with a right quote, one in no gold sentence and one in no sentence at all."""
    more = {"answer_id": "Q1", "evidences": [["Ada Brink", "born in", "Larvik"]], "evidences_id": []} if wiki else {}
    path = folder / "dev.json"
    path.write_text(json.dumps([{**HOTPOT, **more}]))
    (question,) = read_questions(path)
    ids = {each.title: each.id for each in question.contexts}
    cited = [
        citation(ids["Night Harbour"], "Its director was Ada Brink.", "Night Harbour"),
        citation(ids["Oslo"], "Oslo is a town.", "Oslo"),
        citation("else", "Nobody knows.", "Ada Brink"),
        citation("", "I recall it.", kind="model"),
    ]
    reader = written_run(folder / "run", [question], [outcome("h1", "Larvik town", citations=cited)])
    facts = reader.manifest.dataset.model_copy(update={"sha256": sha256 or file_hash(path)})
    reader.manifest = reader.manifest.model_copy(update={"dataset": facts})
    return path, reader


def test_citations_are_the_predicted_support(tmp_path: Path) -> None:
    path, reader = hotpot_run(tmp_path)
    predictions, gold = map(json.loads, read_official_set(path).files(reader, "one_step"))
    assert predictions == {
        "answer": {"h1": "Larvik town"},
        "sp": {"h1": [["Night Harbour", 1], ["Oslo", 0], ["Ada Brink", 2]]},
    }
    wanted = HOTPOT["supporting_facts"]
    assert gold == [{"_id": "h1", "answer": "Larvik", "supporting_facts": wanted}]
    scores = {name: each[0] for name, each in read_official_set(path).scores(reader, "one_step").items()}
    assert (scores["em"], scores["precision"], scores["recall"]) == (0.0, 0.5, 1.0)
    assert (scores["sp_precision"], scores["sp_recall"]) == pytest.approx((1 / 3, 1 / 3))
    assert scores["joint_f1"] == pytest.approx(harmonic(0.5 / 3, 1 / 3))


def test_aliases_of_2wikimultihopqa_count_as_answers(tmp_path: Path) -> None:
    path, reader = hotpot_run(tmp_path, wiki=True)
    aliases = tmp_path / "id_aliases.json"
    aliases.write_text('{"Q_id": "Q1", "aliases": ["Larvik Town"], "demonyms": []}\n')
    assert read_official_set(path).scores(reader, "one_step")["em"] == [0.0]
    official = read_official_set(path, aliases)
    assert official.scores(reader, "one_step")["em"] == [1.0]
    predictions, gold = map(json.loads, official.files(reader, "one_step"))
    assert predictions["evidence"] == {"h1": []}
    assert gold[0]["answer_id"] == "Q1"
    aliases.write_text('{"aliases": []}\n')
    with pytest.raises(SettingsError, match="Q_id"):
        read_official_set(path, aliases)


def test_twin_questions_of_musique_have_unique_ids_and_are_paired(tmp_path: Path) -> None:
    paragraphs = [
        {"idx": n, "title": title, "paragraph_text": f"Text of {title}.", "is_supporting": n < 2}
        for n, title in enumerate("ABC")
    ]
    record: dict[str, Any] = {
        "id": "2hop__1",
        "question": "Who?",
        "answer": "Ann",
        "answer_aliases": ["Anna"],
        "answerable": True,
        "question_decomposition": [{"id": 1, "question": "Who?", "answer": "Ann", "paragraph_support_idx": 0}],
    }
    twin = {**record, "answerable": False, "paragraphs": paragraphs[2:]}
    path = tmp_path / "full.jsonl"
    path.write_text("\n".join(map(json.dumps, [{**record, "paragraphs": paragraphs}, twin])))
    questions = list(read_questions(path))
    first, other = (each.id for each in questions)
    cited = [
        citation(questions[0].contexts[0].id, "Text of A.", "A"),
        citation("other", "of B.", "B"),
        citation("else", "x", "Z"),
    ]
    outcomes = [outcome(first, "Anna", citations=cited), outcome(other, "")]
    reader = written_run(tmp_path / "run", questions, outcomes)
    facts = reader.manifest.dataset.model_copy(update={"sha256": file_hash(path)})
    reader.manifest = reader.manifest.model_copy(update={"dataset": facts})
    official = read_official_set(path)
    lines = [[json.loads(line) for line in text.splitlines()] for text in official.files(reader, "one_step")]
    assert lines[0] == [
        {
            "id": "2hop__1",
            "predicted_answer": "Anna",
            "predicted_support_idxs": [0, 1, 3],
            "predicted_answerable": True,
        },
        {"id": "2hop__1", "predicted_answer": "", "predicted_support_idxs": [], "predicted_answerable": False},
    ]
    assert [each["answerable"] for each in lines[1]] == [True, False]
    scores = official.scores(reader, "one_step")
    assert scores["answer_em"] == scores["sufficiency"] == scores["group_answer_sufficiency_f1"] == [1.0]
    assert scores["group_support_sufficiency_f1"] == scores["support_f1"] == [pytest.approx(0.8)]


def test_another_file_is_refused(tmp_path: Path, run: Callable[..., Any]) -> None:
    path, _ = hotpot_run(tmp_path, sha256="0")
    own = tmp_path / "own.jsonl"
    own.write_text('{"question": "Who?", "answer": "Ann"}\n')
    with pytest.raises(SettingsError, match=r"own\.jsonl"):
        read_official_set(own)
    assert run("compare", str(tmp_path / "run"), "--official", str(path)).code == 1
    assert run("compare", str(tmp_path / "run"), "--predictions", str(tmp_path)).code == 2
