"""Predictions of a run in the input format of a data set's official script, with the gold annotations of its file.

Citations are the predicted support: the sentences that overlap a quote, or its paragraph for MuSiQue. A quote outside
the sentences of its passage, or from a passage that is not the question's, gets a number beyond the last, so that the
script counts it as wrong.

The scripts' metrics are reimplemented from their definitions: answers, supporting facts, and both jointly. An answer
that is empty after normalization is scored as by the scripts, unlike in `metrics`. 2WikiMultihopQA's joint scores also
include evidence triples, which no method here predicts; ours are computed as HotpotQA's.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

from pydantic import BaseModel, JsonValue

from hopgraph.state import Citation, SettingsError
from hopgraph.state.errors import format_error
from hopgraph.tools.apps.evaluation.batch.run_directory import Outcome, RunReader, file_hash
from hopgraph.tools.apps.evaluation.comparison import Comparison
from hopgraph.tools.apps.evaluation.datasets import detect_format
from hopgraph.tools.apps.evaluation.question_formats import unique_musique_id
from hopgraph.tools.io.guarded_files import read_source
from hopgraph.tools.retrieval.corpora import CorpusReading, hash_passage
from hopgraph.tools.retrieval.corpora.formats import split_hotpotqa_context
from hopgraph.tools.retrieval.corpora.source_records import read_json_values
from hopgraph.tools.text.comparison import normalize_answer

Script = Literal["hotpotqa", "2wikimultihopqa", "musique"]
SCRIPTS: tuple[Script, ...] = get_args(Script)
"""Data set formats with an official script."""
SupportingFact = tuple[str, int]
"""Title and sentence number from 0; for MuSiQue an empty title and a paragraph number."""
_CLOSED = frozenset({"yes", "no", "noanswer"})


class PredictedAnswer(NamedTuple):
    """A script's input: a prediction, or the gold annotation of a question."""

    answers: tuple[str, ...]
    """The predicted answer (empty for an abstention), or the gold answer and its aliases."""
    facts: tuple[SupportingFact, ...]
    answerable: bool = True
    """True if the paragraphs are sufficient to answer (MuSiQue)."""


class Agreement(NamedTuple):
    """Agreement of a prediction with the gold annotation; each value in [0, 1]."""

    em: float
    f1: float
    precision: float
    recall: float


def _agree(em: float, precision: float, recall: float) -> Agreement:
    both = precision + recall
    return Agreement(em, 2 * precision * recall / both if both else 0.0, precision, recall)


def _overlap(predicted: Iterable[Hashable], gold: Iterable[Hashable], *, empty_f1: float) -> Agreement:
    """Compare two multisets; precision and recall are 0 if the respective side is empty.

    `empty_f1` is the F1 if both are empty: 0 in HotpotQA's script (Yang et al. 2018, arXiv:1809.09600), 1 in MuSiQue's
    (Trivedi et al. 2022, arXiv:2108.00573).
    """
    own, right = Counter(predicted), Counter(gold)
    if not own and not right:
        return Agreement(1.0, empty_f1, 0.0, 0.0)
    shared = (own & right).total()
    return _agree(float(own == right), shared / max(own.total(), 1), shared / max(right.total(), 1))


def _compare_answers(predicted: PredictedAnswer, gold: PredictedAnswer, *, musique: bool) -> Agreement:
    """Return the maximum of each value over the gold answers; yes and no get no partial credit except in MuSiQue."""
    said, each = normalize_answer(predicted.answers[0]), list[Agreement]()
    for right in map(normalize_answer, gold.answers):
        if said != right and not musique and not _CLOSED.isdisjoint({said, right}):
            each.append(Agreement(0.0, 0.0, 0.0, 0.0))
        else:
            overlap = _overlap(said.split(), right.split(), empty_f1=float(musique))
            each.append(overlap._replace(em=float(said == right)))
    return Agreement(*map(max, zip(*each, strict=True)))


def _wiki_facts(predicted: PredictedAnswer, gold: PredictedAnswer) -> Agreement:
    """Compare facts ignoring the case of titles; facts that differ only in case count separately."""
    own, right = ([(title.lower(), number) for title, number in set(each.facts)] for each in (predicted, gold))
    hits, missed = sum(each in right for each in own), sum(each not in own for each in right)
    return _agree(float(hits == len(own) and not missed), hits / max(len(own), 1), hits / max(hits + missed, 1))


def _score_hotpot(predicted: PredictedAnswer, gold: PredictedAnswer, *, wiki: bool) -> dict[str, float]:
    """Score one prediction as in HotpotQA's or 2WikiMultihopQA's script."""
    answer = _compare_answers(predicted, gold, musique=False)
    facts = _wiki_facts(predicted, gold) if wiki else _overlap(set(predicted.facts), set(gold.facts), empty_f1=0.0)
    joint = _agree(answer.em * facts.em, answer.precision * facts.precision, answer.recall * facts.recall)
    parts = {"": answer, "sp_": facts, "joint_": joint}
    return {f"{part}{name}": value for part, each in parts.items() for name, value in each._asdict().items()}


def _score_musique(predicted: PredictedAnswer, gold: PredictedAnswer) -> dict[str, float]:
    answer = _compare_answers(predicted, gold, musique=True)
    support = _overlap(set(predicted.facts), set(gold.facts), empty_f1=1.0)
    return {"answer_em": answer.em, "answer_f1": answer.f1, "support_em": support.em, "support_f1": support.f1}


def score_all(script: Script, rows: Sequence[tuple[str, PredictedAnswer, PredictedAnswer]]) -> dict[str, list[float]]:
    """Score rows of (question id, prediction, gold) as in a data set's script; return metric → values.

    MuSiQue's answer and support metrics cover the answerable questions. In its Full edition, where an id occurs once
    answerable and once unanswerable, group metrics are added: 0 unless both are classified correctly.
    """
    values: dict[str, list[float]] = defaultdict(list)
    pairs: dict[str, list[tuple[PredictedAnswer, PredictedAnswer]]] = defaultdict(list)
    musique = script == "musique"
    for name, predicted, gold in rows:
        pairs[name].append((predicted, gold))
        if gold.answerable or not musique:
            wiki = script == "2wikimultihopqa"
            scores = _score_musique(predicted, gold) if musique else _score_hotpot(predicted, gold, wiki=wiki)
            for metric, value in scores.items():
                values[metric].append(value)
    for both in pairs.values() if musique else ():
        if sorted(gold.answerable for _, gold in both) == [False, True]:
            right = all(predicted.answerable == gold.answerable for predicted, gold in both)
            scores = next(_score_musique(*each) for each in both if each[1].answerable)
            values["sufficiency"].append(float(right))
            values["group_answer_sufficiency_f1"].append(scores["answer_f1"] * right)
            values["group_support_sufficiency_f1"].append(scores["support_f1"] * right)
    return dict(values)


class GoldRecord(NamedTuple):
    """A question as in its file."""

    name: str
    """The script's id; in MuSiQue's Full edition two questions share it."""
    gold: PredictedAnswer
    record: Mapping[str, Any]
    """The fields that the script reads."""
    units: Sequence[tuple[str, str, str]]
    """(id, title, text) of its paragraphs in order; only for MuSiQue."""


class _Alias(BaseModel):
    Q_id: str
    aliases: list[str] = []
    demonyms: list[str] = []


@dataclass(frozen=True)
class OfficialSet:
    """A data set's file, read for its script."""

    script: Script
    sha256: str
    questions: Mapping[str, GoldRecord]
    """Question id in a run → record."""
    sentences: Mapping[str, Sequence[str]]
    """Title → the sentences of its paragraph; empty for MuSiQue."""

    def is_of(self, comparison: Comparison) -> bool:
        """Return whether all runs of a comparison used this file without renaming."""
        facts = (each.reader.manifest.dataset for each in comparison.methods)
        return all(each.sha256 == self.sha256 and each.renamed is None for each in facts)

    def predict(self, outcome: Outcome) -> PredictedAnswer:
        """Return an outcome's prediction; a failure neither answers nor cites."""
        cited = [each for each in outcome["citations"] if each["kind"] == "passage"]
        record = self.questions[outcome["id"]]
        facts = self._paragraphs(cited, record) if self.script == "musique" else self._sentences(cited)
        return PredictedAnswer((outcome["answer"],), tuple(dict.fromkeys(facts)), bool(outcome["answer"]))

    def _sentences(self, cited: Iterable[Citation]) -> Iterator[SupportingFact]:
        for each in cited:
            lines, quote = self.sentences.get(each["title"], ()), " ".join(each["quote"].split())
            texts = [" ".join(line.split()) for line in lines]
            numbers = [n for n, text in enumerate(texts) if text and quote and (text in quote or quote in text)]
            yield from ((each["title"], number) for number in numbers or [len(lines)])

    @staticmethod
    def _paragraphs(cited: Iterable[Citation], record: GoldRecord) -> Iterator[SupportingFact]:
        beyond = len(record.units)
        for each in cited:
            by_id = [n for n, (name, _, _) in enumerate(record.units) if name == each["passage_id"]]
            quote = each["quote"]
            by_title = [
                n for n, (_, title, text) in enumerate(record.units) if title == each["title"] and quote in text
            ]
            number = next(iter(by_id or by_title), beyond)
            beyond += number == beyond
            yield "", number

    def rows(self, reader: RunReader, method: str) -> list[tuple[str, PredictedAnswer, PredictedAnswer]]:
        """Return (id, prediction, gold) for the first repeat of each question that a method has finished."""
        latest = (each for each in reader.latest(method).values() if not each["repeat"])
        outcomes = {each["id"]: each for each in latest}
        found = ((record, outcomes[name]) for name, record in self.questions.items() if name in outcomes)
        return [(record.name, self.predict(outcome), record.gold) for record, outcome in found]

    def scores(self, reader: RunReader, method: str) -> dict[str, list[float]]:
        """Return the script's metrics of a method, with a value per question or per pair of questions."""
        return score_all(self.script, self.rows(reader, method))

    def files(self, reader: RunReader, method: str) -> tuple[str, str]:
        """Return a method's prediction file, and the gold file for the questions that it has finished."""
        rows = self.rows(reader, method)
        asked = {each["id"] for each in reader.latest(method).values()}
        gold = [each.record for name, each in self.questions.items() if name in asked]
        if self.script == "musique":
            lines = (
                {
                    "id": name,
                    "predicted_answer": predicted.answers[0],
                    "predicted_support_idxs": [number for _, number in predicted.facts],
                    "predicted_answerable": predicted.answerable,
                }
                for name, predicted, _ in rows
            )
            return _as_lines(lines), _as_lines(gold)
        predictions: dict[str, dict[str, Any]] = {
            "answer": {name: predicted.answers[0] for name, predicted, _ in rows},
            "sp": {name: predicted.facts for name, predicted, _ in rows},
        }
        if self.script == "2wikimultihopqa":
            predictions["evidence"] = {name: [] for name, _, _ in rows}
        return json.dumps(predictions, indent=1), json.dumps(gold, indent=1)


def _as_lines(records: Iterable[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(each)}\n" for each in records)


def read_official_set(path: Path, aliases: Path | None = None) -> OfficialSet:
    """Read the file of a data set with an official script, and 2WikiMultihopQA's alias file.

    SettingsError: the data set has no script, or no alias file. CorpusError: it cannot be read.
    """
    script = cast("Script", detect_format(path))
    if script not in SCRIPTS:
        raise SettingsError(f"--official {path}: HotpotQA, 2WikiMultihopQA and MuSiQue have such a script")
    if aliases is not None and script != "2wikimultihopqa":
        raise SettingsError(f"--aliases {aliases}: only 2WikiMultihopQA has such a file")
    also = _read_aliases(aliases) if aliases else {}
    values = [value for _, value in read_json_values(path, CorpusReading(skip_invalid=True)) if isinstance(value, dict)]
    sentences: dict[str, Sequence[str]] = {}
    questions: dict[str, GoldRecord] = {}
    for number, value in enumerate(values, 1):
        record = cast("dict[str, Any]", value)
        if script == "musique":
            made = _musique_gold(record, number)
            questions[unique_musique_id(made.name, answerable=made.gold.answerable)] = made
        else:
            sentences.update(split_hotpotqa_context(value))
            made = _hotpot_gold(record, also)
            questions[made.name] = made
    return OfficialSet(script, file_hash(path), questions, sentences)


def _hotpot_gold(record: Mapping[str, Any], aliases: Mapping[str, Sequence[str]]) -> GoldRecord:
    name, given = str(record.get("_id", record.get("id"))), record["supporting_facts"]
    pairs: Any = zip(given["title"], given["sent_id"], strict=True) if "title" in given else given
    facts = tuple((str(title), int(number)) for title, number in pairs)
    kept: dict[str, Any] = {"_id": name, "answer": record["answer"], "supporting_facts": facts}
    if "evidences" in record:  # the script reads ids, which earlier editions of 2WikiMultihopQA lack
        kept |= {"answer_id": None, "evidences_id": []}
        kept |= {key: record[key] for key in ("answer_id", "evidences", "evidences_id") if key in record}
    answers = (str(record["answer"]), *aliases.get(str(record.get("answer_id")), ()))
    return GoldRecord(name, PredictedAnswer(answers, facts), kept, ())


def _musique_gold(record: Mapping[str, Any], number: int) -> GoldRecord:
    name = str(record.get("id", number))
    paragraphs = [(each["title"], each["paragraph_text"], each["is_supporting"]) for each in record["paragraphs"]]
    units = [(hash_passage(title, text.strip()), title, text) for title, text, _ in paragraphs]
    facts = tuple(("", place) for place, (_, _, is_gold) in enumerate(paragraphs) if is_gold)
    answers = (str(record["answer"]), *record.get("answer_aliases", ()))
    answerable = bool(record.get("answerable", True))
    kept: dict[str, JsonValue] = {"id": name, "answer": answers[0], "answer_aliases": [*answers[1:]]}
    supporting = [{"idx": place, "is_supporting": is_gold} for place, (_, _, is_gold) in enumerate(paragraphs)]
    return GoldRecord(
        name,
        PredictedAnswer(answers, facts, answerable),
        {**kept, "answerable": answerable, "paragraphs": supporting},
        units,
    )


def _read_aliases(path: Path) -> dict[str, list[str]]:
    """Read 2WikiMultihopQA's `id_aliases.json`: a JSON object per line; return entity → aliases and demonyms."""
    try:
        lines = read_source(path.expanduser()).decode().splitlines()
        found = map(_Alias.model_validate_json, filter(str.strip, lines))
        return {each.Q_id: list(dict.fromkeys([*each.aliases, *each.demonyms])) for each in found}
    except (OSError, ValueError) as error:
        raise SettingsError(f"--aliases {path}: cannot be read: {format_error(error)}") from None
