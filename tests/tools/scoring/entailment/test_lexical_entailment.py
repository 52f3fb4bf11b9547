import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopgraph.state import EntailmentChecker
from hopgraph.tools.scoring.entailment.lexical import (
    LanguageSigns,
    LexicalEntailment,
    are_in_different_languages,
    read_language_signs,
)
from hopgraph.tools.text import split_sentences

ED_WOOD = (
    "Ed Wood (film)\nEd Wood is a 1994 American biographical film. It was directed by Tim Burton and did not make a "
    "profit. The film won two awards."
)
BURTON = "Tim Burton\nTimothy Walter Burton was born on August 25, 1958 in Burbank, California."
words = st.sampled_from(["Tim", "Burton", "was", "not", "born", "in", "1958", "May", "5", "film", ".", "\n", "no"])
texts = st.one_of(st.text(max_size=30), st.lists(words, max_size=14).map(" ".join))


def score(premise: str, statement: str) -> float:
    return LexicalEntailment().score([(premise, statement)])[0]


def test_it_is_an_entailment_checker() -> None:
    assert isinstance(LexicalEntailment(), EntailmentChecker)
    assert LexicalEntailment().score([]) == []


@pytest.mark.parametrize(
    "statement",
    [
        "Ed Wood was directed by Tim Burton.",
        "Tim Burton was born on 25 August 1958.",
        "Burton, who directed Ed Wood, was born in Burbank in August 1958.",
        "The director of Ed Wood, Tim Burton, was born in the 1950s.",
        "The films won 2 awards.",
        "Ed Wood did not make a profit.",
        "Ed Wood is an American film of 1994.",
    ],
)
def test_statements_that_the_passages_carry(statement: str) -> None:
    assert score(f"{ED_WOOD}\n\n{BURTON}", statement) >= LexicalEntailment.threshold


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("Ed Wood was directed by Tim Roth.", "another name"),
        ("Ed Wood is a 1995 film.", "another year"),
        ("Tim Burton was born on August 26, 1958.", "another day"),
        ("The film won three awards.", "another number"),
        ("Ed Wood was not directed by Tim Burton.", "negated here"),
        ("Ed Wood did make a profit.", "negated there"),
        ("Ed Wood is a French film.", "another country"),
    ],
)
def test_statements_that_contradict_the_passages_get_nothing(statement: str, why: str) -> None:
    assert score(f"{ED_WOOD}\n\n{BURTON}", statement) == 0.0, why


def test_a_share_worked_by_hand() -> None:
    # ship, sink, storm are carried; captain, surviv are not; the function words do not count.
    assert score(
        "Titanic\nThe ships sank; one was sinking in a storm.", "the captain survived the sinking ship in a storm"
    ) == pytest.approx(3 / 5)


@pytest.mark.parametrize(
    ("premise", "statement"),
    [
        ("They met. A section by BEYONCE.", "They met Beyoncé."),
        ("He met a Beatle.", "He met a Beatles' wife."),
        ("He met Godard, Jean Luc.", "He met Jean-Luc Godard."),
        ("They met.", "They met on a Monday."),
        ("They met in Feb. 1981.", "They met in February 1981."),
        ("They met a section.", "They met Section C."),
    ],
)
def test_a_name_in_another_form_is_the_same_name(premise: str, statement: str) -> None:
    assert score(premise, statement) > 0.0


@pytest.mark.parametrize(
    ("premise", "statement"),
    [
        ("Tim Roth made it.", "It is by Tim Burton, who made it."),
        ("He comes from Spain.", "He comes from Italy."),
        ("Paul Smith won the award.", "the Paula Smith award"),
        ("shown by the National Broadcasting Company", "shown on NBC"),
        ("us and un meet", "The United Nations meet."),
        ("Louis II and Louis IV were born.", "Then Louis and Pope Innocent were born."),
        ("They met in May 1981.", "They met in March 1981."),
        *(("", "It won."), ("It won.", ""), ("It won.", " \n"), ("It won.", "?"), ("", "")),
    ],
)
def test_a_missing_name_or_a_blank_side_gives_nothing(premise: str, statement: str) -> None:
    assert score(premise, statement) == 0.0


@pytest.mark.parametrize(
    ("premise", "statement"),
    [
        ("He was not only a singer but an actor.", "He was a singer."),
        ("Symphony No. 5 was a success.", "Symphony 5 was a success."),
        ("He won, but did not come.", "He won."),
        ("He did not come. He won the prize.", "He won the prize."),
    ],
)
def test_a_negator_reaches_no_further_than_its_clause(premise: str, statement: str) -> None:
    assert score(premise, statement) == 1.0


@given(st.lists(st.tuples(texts, texts), max_size=6), st.randoms())
def test_a_score_depends_on_nothing_but_its_pair(pairs: list[tuple[str, str]], random: Random) -> None:
    checker = LexicalEntailment()
    alone = {pair: checker.score([pair])[0] for pair in pairs}
    random.shuffle(pairs)
    assert checker.score(pairs) == [alone[pair] for pair in pairs]
    assert all(0 <= value <= 1 for value in alone.values())


def test_passages_entail_their_own_sentences_and_hardly_any_other(shared_data: Path) -> None:
    pairs: list[tuple[str, str]] = []
    others: list[tuple[str, str]] = []
    for question in json.loads((shared_data / "hotpotqa/train_100.json").read_text(encoding="utf-8"))[:8]:
        passages = [(title, "".join(sentences)) for title, sentences in question["context"]]
        for (title, text), other in zip(passages, [*passages[1:], passages[0]], strict=True):
            for start, end in split_sentences(text):
                pairs.append((f"{title}\n{text}", text[start:end]))
                others.append((f"{other[0]}\n{other[1]}", text[start:end]))
    checker = LexicalEntailment()
    assert set(checker.score(pairs)) == {1.0}
    accepted = [value >= checker.threshold for value in checker.score(others)]
    assert sum(accepted) < 0.02 * len(accepted)


GERMAN = (
    "Wien\nWolfgang Amadeus Mozart war ein Komponist, der 1781 nach Wien zog und dort die Oper Die Entführung aus dem "
    "Serail schrieb."
)


@pytest.mark.parametrize(
    ("premise", "statement", "passes"),
    [
        (GERMAN, "Mozart was a composer who moved to Vienna in 1781.", True),
        (GERMAN, "莫扎特于1781年移居维也纳。", True),
        ("Vienna\nMozart was a composer who moved to Vienna.", "Mozart war ein Komponist, der nach Wien zog.", True),
        (GERMAN, "Mozart war ein Maler, der in Salzburg lebte.", False),
        (GERMAN, "Haydn", False),  # the signs do not tell
        ("Vienna\nMozart was a composer who moved to Vienna.", "Le Mans is in France.", False),
        ("", "Mozart was a composer who moved to Vienna.", False),
    ],
)
def test_a_statement_in_another_language_is_let_pass(premise: str, statement: str, passes: bool) -> None:
    checker = LexicalEntailment()
    assert (checker.score([(premise, statement)])[0] >= checker.threshold) == passes


@pytest.mark.parametrize(
    ("text", "script", "language"),
    [
        ("She was a painter who lived in the old town", "LATIN", "en"),
        ("Sie war eine Malerin, die in der alten Stadt lebte", "LATIN", "de"),
        ("Elle était une peintre qui vivait dans la vieille ville", "LATIN", "fr"),
        ("Она была художницей и жила в старом городе", "CYRILLIC", "ru"),
        ("彼女は古い町に住んでいた", "CJK", ""),
        ("Dilwale Dulhania Le Jayenge", "LATIN", ""),
        ("1781", "", ""),
        ("", "", ""),
    ],
)
def test_signs(text: str, script: str, language: str) -> None:
    assert read_language_signs(text, text.split()) == LanguageSigns(script, language)


@pytest.mark.parametrize(
    ("first", "second", "different"),
    [
        (("LATIN", "en"), ("LATIN", "de"), True),
        (("LATIN", "en"), ("LATIN", ""), False),
        (("LATIN", "en"), ("CYRILLIC", ""), True),
        (("LATIN", "en"), ("", ""), False),
        (("LATIN", "en"), ("LATIN", "en"), False),
    ],
)
def test_only_sure_signs_tell_languages_apart(first: tuple[str, str], second: tuple[str, str], different: bool) -> None:
    assert are_in_different_languages(LanguageSigns(*first), LanguageSigns(*second)) == different
