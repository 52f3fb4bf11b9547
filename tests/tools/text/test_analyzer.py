import json
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hopgraph.tools.text import DEFAULT_ANALYZER, Analyzer, content_terms

bm25s: Any = import_module("bm25s")
Stemmer: Any = import_module("Stemmer")


def tokens_of_bm25s(texts: list[str]) -> list[list[str]]:
    stemmer = Stemmer.Stemmer("english")
    return bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False)


def test_terms_are_lower_case_stemmed_and_free_of_stop_words() -> None:
    text = "The Queens were not running in 1969 with Ångström's 12 dogs; the dogs ran."
    assert content_terms(text) == ["queen", "were", "run", "1969", "angstrom", "12", "dog", "dog", "ran"]
    assert content_terms("It is the a — 7 x") == ["7", "x"]
    assert content_terms("Vitamin K and C#") == ["vitamin", "k", "c", "c#"]


@given(st.text())
def test_terms_are_those_of_bm25s(text: str) -> None:
    assert [Analyzer().terms(text)] == tokens_of_bm25s([text])


def test_terms_of_real_passages_are_those_of_bm25s(shared_data: Path) -> None:
    lines = (shared_data / "musique" / "train_100.jsonl").read_text().splitlines()
    texts = [paragraph["paragraph_text"] for line in lines[:20] for paragraph in json.loads(line)["paragraphs"]]
    analyzer = Analyzer()
    assert [analyzer.terms(text) for text in texts] == tokens_of_bm25s(texts)


def test_a_list_of_terms_belongs_to_its_caller() -> None:
    content_terms("red fox").clear()
    assert content_terms("red fox") == ["red", "fox"]


def test_many_threads_get_the_same_terms() -> None:
    texts = [f"running{n % 50} houses{n % 70} nations{n % 30}" for n in range(2000)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(DEFAULT_ANALYZER.terms, texts)) == [DEFAULT_ANALYZER.terms(text) for text in texts]


def test_the_description_is_json_and_tells_analyzers_apart() -> None:
    description = DEFAULT_ANALYZER.describe()
    assert json.loads(json.dumps(description)) == description
    assert description["stop_words"] == list(import_module("bm25s.stopwords").STOPWORDS_EN)
