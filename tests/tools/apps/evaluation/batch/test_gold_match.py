"""Gold passages are matched in the corpus by id, title and text before a run."""

import json
from pathlib import Path

import pytest

from hopgraph.tools.apps.cli.evaluation.eval_command import EvalOptions, run_eval
from hopgraph.tools.apps.evaluation.batch.gold_match import match_gold
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader, describe_missing_gold
from hopgraph.tools.apps.evaluation.comparison import compare_runs
from hopgraph.tools.apps.evaluation.eval_questions import ContextPassage, EvalQuestion, GoldHop, GoldSentence
from hopgraph.tools.apps.evaluation.report.tables import tables
from hopgraph.tools.retrieval import build_index, resolve_retriever
from support.paths import SAMPLE

CITIES = ["Larvik", "Graz", "Nagaoka", "Kumasi"]


def corpus(folder: Path, *passages: tuple[str, str, str]) -> str:
    """Index passages (id, title, text); return the spec."""
    file = folder / "passages.jsonl"
    lines = [json.dumps({"_id": name, "title": title, "text": text}) for name, title, text in passages]
    file.write_text("\n".join(lines))
    build_index(file, folder / "index")
    return f"bm25:{folder / 'index'}"


def text_of(city: str) -> str:
    return f"{city} is an old town with a market hall."


def asked(city: str) -> EvalQuestion:
    name, text = f"own-{city}", text_of(city)
    return EvalQuestion(
        f"q-{city}",
        f"What is {city}?",
        ("town",),
        gold=(name,),
        gold_titles=(city,),
        sentences=(GoldSentence(name, text),),
        hops=(GoldHop(f"What is {city}?", "town", (name,)),),
        contexts=(ContextPassage(name, city, text),),
    )


@pytest.mark.parametrize(
    ("passages", "by", "found"),
    [
        ([(f"own-{city}", "", "Other.") for city in CITIES], "ids", 4),
        ([(f"p{n}", city, "Other.") for n, city in enumerate(CITIES)], "titles", 4),
        ([(f"own-{CITIES[0]}", "", "x"), *((f"p{n}", city, "y") for n, city in enumerate(CITIES))], "titles", 4),
        ([(f"p{n}", city, "Other.") for n, city in enumerate(CITIES[:3])], "titles", 3),
        ([("p0", "Elsewhere", "Something else.")], "none", 0),
    ],
)
def test_gold_is_matched_by_the_field_with_the_most_matches(
    passages: list[tuple[str, str, str]], by: str, found: int, tmp_path: Path
) -> None:
    spec = corpus(tmp_path, *passages)
    questions = [asked(city) for city in CITIES]
    match = match_gold(questions, resolve_retriever(spec), spec)
    assert (match.by, match.found, match.sought) == (by, found, 4)
    assert match.questions == questions


def test_gold_matched_by_text_gets_the_ids_of_the_corpus(tmp_path: Path) -> None:
    spec = corpus(tmp_path, *((f"p{n}", "", f" {text_of(city).upper()}\n") for n, city in enumerate(CITIES)))
    match = match_gold([asked(city) for city in CITIES], resolve_retriever(spec), spec)
    assert (match.by, match.found, match.sought) == ("ids", 4, 4)
    third = match.questions[2]
    assert third.gold == ("p2",) == third.hops[0].passage_ids
    assert (third.sentences[0].passage_id, third.contexts[0].id) == ("p2", "p2")
    assert third.gold_titles == ("Nagaoka",)


def test_gold_is_matched_in_the_sample_corpus() -> None:
    known = ContextPassage("own", "Pan's Labyrinth", "Pan's Labyrinth is a film.")
    question = EvalQuestion("q", "?", ("x",), gold=("own",), gold_titles=(known.title,), contexts=(known,))
    match = match_gold([question], resolve_retriever("sample"), "sample")
    assert (match.by, match.found, match.sought) == ("titles", 1, 1)


def beir(folder: Path, *judged: str) -> Path:
    folder.mkdir()
    (folder / "queries.jsonl").write_text(
        '{"_id": "q1", "text": "Who directed the film?", "metadata": {"answers": ["Guillermo del Toro"]}}'
    )
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("".join(f"q1\t{name}\t1\n" for name in judged))
    return folder


def test_missing_gold_passages_are_reported_before_the_run_and_in_every_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = corpus(tmp_path, ("doc1", "A", "Guillermo del Toro directed the film."), ("p2", "B", "Beta."))
    run_eval(EvalOptions(beir(tmp_path / "set", "doc1", "doc8"), "one_step", tmp_path / "run", corpus=spec))
    told = "has 1 of 2 gold passages"
    said = capsys.readouterr()
    assert told in " ".join(said.err.split())
    assert told in " ".join(said.out.split())
    run = RunReader(tmp_path / "run")
    assert told in describe_missing_gold(run.manifest)
    made = tables(compare_runs([run]))
    assert made
    assert all(told in table.note for table in made)


def test_nothing_is_reported_if_no_gold_passage_is_missing(tmp_path: Path) -> None:
    run_eval(EvalOptions(SAMPLE, "one_step", tmp_path / "run", limit=2))
    manifest = RunReader(tmp_path / "run").manifest
    assert manifest.corpus.gold_sought
    assert manifest.corpus.gold_found == manifest.corpus.gold_sought
    assert describe_missing_gold(manifest) == ""


def test_a_large_index_is_searched_and_every_gold_passage_gets_its_id(tmp_path: Path) -> None:
    spec = corpus(tmp_path, *((f"p{n}", "", text_of(city)) for n, city in enumerate(CITIES)))
    match = match_gold([asked(city) for city in CITIES], resolve_retriever(spec), spec, most_read=2, most_searches=2)
    assert (match.by, match.found, match.sought) == ("ids", 4, 4)
    assert [each.gold for each in match.questions] == [("p0",), ("p1",), ("p2",), ("p3",)]
