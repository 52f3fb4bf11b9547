"""Renaming: names of titles change consistently, and questions keep their evidence."""

import csv
import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopgraph.graphs import METHODS
from hopgraph.state import RunError, SettingsError
from hopgraph.tools.apps.cli.evaluation.compare_command import run_compare
from hopgraph.tools.apps.cli.evaluation.eval_command import EvalOptions, run_eval
from hopgraph.tools.apps.cli.evaluation.evaluation_options import CompareOptions
from hopgraph.tools.apps.evaluation.batch.local_engine import RunEngine, RunTally
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader, RunWriter
from hopgraph.tools.apps.evaluation.batch.run_setup import CORPUS, RunSpec, list_jobs, prepare_run
from hopgraph.tools.apps.evaluation.batch.scores import summarize_run
from hopgraph.tools.apps.evaluation.comparison import compare_runs
from hopgraph.tools.apps.evaluation.cost_estimate import PriceTable
from hopgraph.tools.apps.evaluation.datasets import QuestionSample, read_questions
from hopgraph.tools.apps.evaluation.eval_questions import ContextPassage, EvalQuestion, GoldHop, GoldSentence
from hopgraph.tools.apps.evaluation.named_titles import (
    NameKind,
    base_of,
    candidate_names,
    casefold_words,
    is_written_as_a_name,
    split_words,
)
from hopgraph.tools.apps.evaluation.ranking_measures import format_trec_files
from hopgraph.tools.apps.evaluation.renaming import NAME_MAP, Renamer
from hopgraph.tools.io.background import run_in_background
from hopgraph.tools.retrieval import open_index
from hopgraph.tools.retrieval.corpora import CorpusReading, SourceRecord, hash_passage, open_corpus
from hopgraph.tools.text.comparison import normalize_answer

TEXTS = {
    "Neil Young": "Neil Young (born November 12, 1945) is a Canadian singer. He met Kennedy. Young lives in Toronto.",
    "John Kennedy": "John Kennedy was an American politician. He was the head of the Kennedys. "
    "A young man knew his name.",
    "Toronto": "Toronto is a city in Canada. It lies on a lake and is dark in winter.",
    "Dark Harvest (1999 film)": "Dark Harvest is a 1999 film about the harvest. "
    "The dark harvest begins in Toronto's north.",
    "Dark Harvest (novel)": "Dark Harvest is a novel by John Kennedy. DARK HARVEST was written in May 1990.",
    "Guitar": "A guitar is an instrument. The guitar has six strings.",
}


def record(title: str, text: str) -> SourceRecord:
    return SourceRecord(hash_passage(title, text), title, text, Path("x"), 1)


RECORDS = [record(title, text) for title, text in TEXTS.items()]


@pytest.fixture(scope="module")
def renaming() -> Renamer:
    return Renamer(RECORDS, 7)


def new_word(renaming: Renamer, word: str) -> str:
    return renaming.names.words[word]


def renamed_text(renaming: Renamer, title: str) -> str:
    return renaming.record(record(title, TEXTS[title])).text


def test_a_person_is_renamed_consistently_in_every_form(renaming: Renamer) -> None:
    john, kennedy = new_word(renaming, "john"), new_word(renaming, "kennedy")
    assert renaming.title("John Kennedy") == f"{john} {kennedy}"
    said = renaming.text("Kennedy's speech, the Kennedys, a Kennedy-style suit, KENNEDY and kennedy.")
    assert (
        said == f"{kennedy}'s speech, the {kennedy}s, a {kennedy}-style suit, {kennedy.upper()} and {kennedy.lower()}."
    )


def test_a_title_is_found_in_another_case_and_form() -> None:
    works = [
        record("Miracle on 34th Street", "Miracle on 34th Street is a 1947 film."),
        record("Big Eyes", "Big Eyes is a 2014 film. Its eyes are big."),
        record("Brother (song)", "Brother is a song. A brother sings it."),
        record("WILM", "WILM is a radio station, a work of radio. Its film is known."),
    ]
    renaming = Renamer(works, 7)
    street = base_of(renaming.title("Miracle on 34th Street"))
    assert renaming.text("Who directed Miracle on 34th street?").casefold() == f"Who directed {street}?".casefold()
    eyes = renaming.title("Big Eyes")
    assert renaming.text("Who is Big Eye's main director?") == f"Who is {eyes}'s main director?"
    assert renaming.text("She painted big eyes in Rome.") == "She painted big eyes in Rome."
    brother = base_of(renaming.title("Brother (song)"))
    assert renaming.text("Brother >> performer") == f"{brother} >> performer"
    assert renaming.text("Brother of the king of Rome") == "Brother of the king of Rome"


def names_left(question: EvalQuestion, renaming: Renamer) -> list[tuple[str, str]]:
    """Return (old name, text) for old names left in a renamed question or its evidence."""
    new = renaming.question(question)
    texts = [new.question, *(new.answers or ()), *(text for hop in new.hops for text in (hop.question, hop.answer))]
    texts += [*new.facts, *(text for triple in new.triples for text in triple)]
    gold = [each.text for each in new.contexts if each.id in new.gold]
    left: list[tuple[str, str]] = []
    titles = {casefold_words(split_words(base_of(each.title))) for each in question.contexts}
    for text in (*texts, *gold):
        words = casefold_words(split_words(text))
        left += [(word, text) for word in words if word in renaming.names.words]
        for title in (each for each in titles if each in renaming.names.titles):
            one = " ".join(title)
            places = [at for at in range(len(words)) if words[at : at + len(title)] == title]
            named = len(title) > 1 or any(text.startswith(f"{name} >>") for name in (one.title(), one.upper()))
            left += [(one, text)] * len(places) if named else []
    return left


def test_a_surname_that_is_a_common_word_is_renamed_if_the_person_is_mentioned(renaming: Renamer) -> None:
    neil, young = renaming.title("Neil Young").split()
    assert young != "Young"
    text = renamed_text(renaming, "Neil Young")
    assert text.startswith(f"{neil} {young} (born November 12, 1945) is a Canadian singer.")
    assert text.endswith(f"{young} lives in {new_word(renaming, 'toronto')}.")
    assert renaming.text("A young man met Young.") == "A young man met Young."
    assert renaming.text("What did Young play?", about=["Neil Young"]) == f"What did {young} play?"


def test_a_work_is_renamed_as_a_whole_but_its_words_are_not(renaming: Renamer) -> None:
    film, novel = renaming.title("Dark Harvest (1999 film)"), renaming.title("Dark Harvest (novel)")
    name = base_of(film)
    assert (film, novel) == (f"{name} (1999 film)", f"{name} (novel)")
    assert not {"dark", "harvest"} & {word.lower() for word in split_words(name)}
    text = renamed_text(renaming, "Dark Harvest (1999 film)")
    toronto = new_word(renaming, "toronto")
    assert text == f"{name} is a 1999 film about the harvest. The dark harvest begins in {toronto}'s north."
    assert renaming.text("DARK HARVEST") == name.upper()
    assert renaming.text("who wrote dark harvest") == f"who wrote {name.lower()}"


def test_common_words_dates_and_demonyms_stay(renaming: Renamer) -> None:
    for text in ("Guitar", "A guitar is an instrument.", "in May 1990", "Canadian", "yes", "No", "1,000", ""):
        assert renaming.text(text) == renaming.answer(text) == text


def test_names_depend_on_the_seed_but_not_on_the_order() -> None:
    one, same, other = (Renamer(records, seed) for records, seed in ((RECORDS, 7), (RECORDS[::-1], 7), (RECORDS, 8)))
    assert (one.names.words, one.names.titles) == (same.names.words, same.names.titles)
    assert not {*one.names.words.values()} & {*other.names.words.values()}


def test_a_question_is_renamed_with_all_its_annotations(renaming: Renamer) -> None:
    novel = record("Dark Harvest (novel)", TEXTS["Dark Harvest (novel)"])
    question = EvalQuestion(
        "q",
        "Who wrote Dark Harvest?",
        ("John Kennedy", "Kennedy"),
        "bridge",
        (novel.id,),
        ("Dark Harvest (novel)",),
        sentences=(GoldSentence(novel.id, "Dark Harvest is a novel by John Kennedy."),),
        hops=(GoldHop("Dark Harvest >> author", "John Kennedy", (novel.id,)),),
        triples=(("Dark Harvest", "author", "John Kennedy"),),
        facts=("John Kennedy wrote novels.",),
        contexts=(ContextPassage(novel.id, novel.title, novel.text),),
    )
    new = renaming.question(question)
    name, author = base_of(renaming.title(novel.title)), renaming.title("John Kennedy")
    passage = renaming.record(novel)
    assert new.question == f"Who wrote {name}?"
    assert new.answers == (author, author.split()[1])
    assert new.gold == new.hops[0].passage_ids == (passage.id,) == (new.contexts[0].id,)
    assert new.contexts[0].text == passage.text
    assert new.sentences == (GoldSentence(passage.id, f"{name} is a novel by {author}."),)
    assert (new.hops[0].question, new.hops[0].answer) == (f"{name} >> author", author)
    assert new.triples == ((name, "author", author),)
    assert new.facts == (f"{author} wrote novels.",)


def test_ids_of_the_data_set_stay(renaming: Renamer) -> None:
    given = RECORDS[0]._replace(id="doc7")
    assert renaming.record(given).id == "doc7"


names = st.lists(st.sampled_from([*split_words(" ".join(TEXTS.values())), "'s", "-", ". ", "(", "?"]), max_size=12)


@given(names)
def test_only_words_change_but_not_the_text_between_them(renaming: Renamer, parts: list[str]) -> None:
    text = " ".join(parts)
    assert re.sub(r"[^\W_]+", "x", renaming.text(text)) == re.sub(r"[^\W_]+", "x", text)


@pytest.mark.parametrize("kind", ["given", "surname", "place"])
def test_new_names_never_run_out(kind: NameKind) -> None:
    found: set[str] = set()
    for number in range(3_000):
        found.add(next(each for each in candidate_names(kind, f"w{number}", 1) if each not in found))
    assert len(found) == 3_000
    assert all(name.isalpha() and name[0].isupper() and name[1:].islower() for name in found)


FILES = (
    "hotpotqa/train_100.json",
    pytest.param("2wikimultihopqa/train_200.json", marks=pytest.mark.long),
    pytest.param("musique/train_100.jsonl", marks=pytest.mark.slow),
)


class RealData(NamedTuple):
    records: list[SourceRecord]
    questions: list[EvalQuestion]
    renaming: Renamer


@pytest.fixture(params=FILES, scope="module")
def real(request: pytest.FixtureRequest, shared_data: Path) -> RealData:
    path = shared_data / str(request.param)
    records = list(open_corpus(path).records(CorpusReading()))
    return RealData(records, list(read_questions(path)), Renamer(records, 7))


def holds_an_answer(question: EvalQuestion) -> bool:
    gold = [each for each in question.contexts if each.id in question.gold]
    text = f" {normalize_answer(' '.join(f'{each.title} {each.text}' for each in gold))} "
    return any(f" {normalize_answer(answer)} " in text for answer in question.answers or ())


@pytest.mark.slow
def test_real_questions_keep_their_evidence(real: RealData) -> None:
    records, questions, renaming = real
    renamed = list(map(renaming.record, records))
    assert len({each.id for each in renamed}) == len(records)
    texts = {each.id: each for each in renamed}
    kept = had = 0
    for question in questions:
        new = renaming.question(question)
        assert len(new.gold) == len(question.gold)
        assert all(each.text == texts[each.id].text for each in new.contexts)
        assert all(each.text in texts[each.passage_id].text for each in new.sentences if each.text)
        had += holds_an_answer(question)
        kept += holds_an_answer(question) and holds_an_answer(new)
    assert kept == had > 0.5 * len(questions)


def test_real_questions_lose_their_names_and_new_ones_are_distinct(real: RealData) -> None:
    records, questions, renaming = real
    titles = {each.title for each in records}
    assert len({renaming.title(title).casefold() for title in titles}) == len({title.casefold() for title in titles})
    named = left = 0
    for question in questions:
        before, after = (
            f" {normalize_answer(text)} " for text in (question.question, renaming.text(question.question))
        )
        for base in {base_of(each.title) for each in question.contexts}:
            if is_written_as_a_name(split_words(base)) and f" {normalize_answer(base)} " in before:
                named += 1
                left += f" {normalize_answer(base)} " in after
    assert named > 50
    assert left <= 0.15 * named


@pytest.mark.slow
def test_real_questions_and_their_evidence_keep_almost_no_old_names(real: RealData) -> None:
    _, questions, renaming = real
    left = [each for question in questions for each in names_left(question, renaming)]
    assert len(left) <= 0.02 * len(questions), left


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    context = [[title, [text]] for title, text in TEXTS.items()]
    question = {
        "_id": "q1",
        "question": "In which city does the singer Neil Young live?",
        "answer": "Toronto",
        "type": "bridge",
        "supporting_facts": [["Neil Young", 0]],
        "context": context,
    }
    path = tmp_path / "questions.json"
    path.write_text(json.dumps([question]), encoding="utf-8")
    return path


def wanted(dataset: Path, out: Path, **fields: object) -> RunSpec:
    methods = {name: METHODS[name].Context() for name in ("one_step", "gold_passages")}
    return RunSpec(dataset, methods, out, QuestionSample(), **{"rename": 7, **fields})  # pyright: ignore[reportArgumentType]


def test_a_run_on_renamed_questions(dataset: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    prepared = prepare_run(wanted(dataset, out))
    assert prepared.manifest.dataset.renamed == 7
    with RunWriter(out, prepared.manifest, prepared.questions) as directory:
        jobs = list_jobs(prepared, directory, keep_traces=False, retry_failed=False)
        run_in_background(RunEngine(directory, RunTally(len(jobs)), PriceTable()).run(jobs))
        summary = summarize_run(directory)
    renamed = prepared.questions[0]
    assert "Young" not in renamed.question
    assert renamed.answers is not None
    assert renamed.answers[0] in renamed.contexts[0].text
    assert summary["gold_passages"]["failed"] == 0
    assert summary["gold_passages"]["recall@5"] == 1.0
    stored = open_index(out / CORPUS).passages
    assert "Toronto" not in " ".join(stored[number].text for number in range(len(stored)))
    written = json.loads((out / NAME_MAP).read_text(encoding="utf-8"))
    assert written["seed"] == 7
    back = {new: old for old, new in written["words"].items()}
    assert back[renamed.answers[0]] == "toronto"


def test_a_renamed_run_resumes_with_the_same_seed_only(dataset: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    first = prepare_run(wanted(dataset, out))
    with RunWriter(out, first.manifest, first.questions):
        pass
    assert prepare_run(wanted(dataset, out)).manifest == first.manifest
    written = (out / NAME_MAP).read_bytes()
    with pytest.raises(SettingsError, match="renamed with the seed 7; use the same --rename"):
        prepare_run(wanted(dataset, out, rename=8))
    with pytest.raises(SettingsError, match="renamed with the seed 7"):
        prepare_run(wanted(dataset, out, rename=None))
    assert (out / NAME_MAP).read_bytes() == written
    prepare_run(wanted(dataset, tmp_path / "plain", rename=None))
    with pytest.raises(SettingsError, match="are not renamed"):
        prepare_run(wanted(dataset, tmp_path / "plain"))


def test_renaming_needs_the_data_sets_own_passages(dataset: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="leave --corpus out"):
        prepare_run(wanted(dataset, tmp_path / "run", corpus="sample"))
    bare = tmp_path / "nq.jsonl"
    bare.write_text('{"question": "who?", "answer": ["x"]}\n')
    with pytest.raises(SettingsError, match="has no passages, which --rename needs"):
        prepare_run(wanted(bare, tmp_path / "run"))


def test_a_beir_folder_is_renamed_too(tmp_path: Path) -> None:
    folder = tmp_path / "beir"
    (folder / "qrels").mkdir(parents=True)
    rows = [{"_id": f"d{n}", "title": title, "text": text} for n, (title, text) in enumerate(TEXTS.items())]
    (folder / "corpus.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    query = {"_id": "q1", "text": "Where does Neil Young live?", "metadata": {"answers": ["Toronto"]}}
    (folder / "queries.jsonl").write_text(f"{json.dumps(query)}\n")
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td0\t1\n")
    question = prepare_run(wanted(folder, tmp_path / "run")).questions[0]
    assert question.gold == ("d0",)
    assert question.answers is not None
    assert question.answers[0] in question.contexts[0].text != TEXTS["Neil Young"]
    assert not any(name in f"{question.question} {question.answers}" for name in ("Neil", "Young", "Toronto"))


@pytest.mark.long
def test_comparing_a_renamed_run_with_a_plain_one_shows_the_share_of_memory(
    shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shared_data / "musique" / "train_100.jsonl"
    methods = "direct,cot,one_step"
    spec = f"rehearsal:{path}?knowledge=0.7"
    run_eval(EvalOptions(path, methods, tmp_path / "plain", model=spec, limit=30))
    run_eval(EvalOptions(path, methods, tmp_path / "renamed", model=f"{spec}&rename=7", rename=7, limit=30))
    run_compare(CompareOptions(runs=[tmp_path / "plain", tmp_path / "renamed"], out=[tmp_path / "c.csv"]))
    assert "were renamed in renamed (seed 7)" in " ".join(capsys.readouterr().out.split())
    with (tmp_path / "c.csv").open(newline="") as file:
        lines = [row for row in csv.DictReader(file) if row["table"].startswith("With other names")]
    found = {(row["method"], row["column"]): row for row in lines}
    for method in ("direct", "cot"):
        fall = found[f"renamed/{method}", "difference"]
        assert float(found[f"renamed/{method}", "F1 plain"]["value"]) > 0.3
        assert float(found[f"renamed/{method}", "F1 renamed"]["value"]) == 0
        assert float(fall["high95"]) < 0
        assert found[f"renamed/{method}", "answers from"]["value"] == "memory"
    assert found["renamed/one_step", "answers from"]["value"] == "passages"
    low, high = (float(found["renamed/one_step", "difference"][end]) for end in ("low95", "high95"))
    assert low <= 0 <= high
    with pytest.raises(RunError, match="renamed differently in these runs"):
        format_trec_files(compare_runs([RunReader(tmp_path / "plain"), RunReader(tmp_path / "renamed")]))
