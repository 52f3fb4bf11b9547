import pytest

from hopgraph.tools.scoring.entailment.names import fold, folded_words, missing_names, words_of
from hopgraph.tools.text import DEFAULT_ANALYSER


def missing(statement: str, premise: str) -> list[str]:
    terms = frozenset(DEFAULT_ANALYSER.terms(premise))
    return missing_names(words_of(statement), folded_words(words_of(premise)), terms)


@pytest.mark.parametrize(
    ("statement", "premise"),
    [
        ("It is by Beyoncé.", "a song by BEYONCE"),
        ("the Beatles' album", "a Beatle"),
        ("the Bank of England", "the Bank of England"),
        ("a Jean-Luc Godard film", "Godard, Jean Luc"),
        ("They met in May on a Monday.", "They met."),
        ("Directed by him.", "the director"),
        ("Section C", "a section"),
    ],
)
def test_names_that_a_text_has(statement: str, premise: str) -> None:
    assert missing(statement, premise) == []


@pytest.mark.parametrize(
    ("statement", "premise", "names"),
    [
        ("It is by Tim Burton.", "Tim Roth made it.", ["Burton"]),
        ("He is Italian.", "He comes from Spain.", ["Italian"]),
        ("The Paula Smith award", "Paul Smith", ["Paula"]),
        ("shown on CBS", "the National Broadcasting Company", ["CBS"]),
        ("the United Nations", "us and un", ["United", "Nations"]),
        ("under Pope Innocent", "Louis II and Louis IV", ["Pope", "Innocent"]),
    ],
)
def test_names_that_a_text_lacks(statement: str, premise: str, names: list[str]) -> None:
    assert missing(statement, premise) == names


def test_a_name_is_folded() -> None:
    assert [fold(word) for word in ("Élan", "Burton's", "U.S.", "Beatles\u2019", "O'Neil")] == [
        "elan",
        "burton",
        "us",
        "beatles",
        "o'neil",
    ]
