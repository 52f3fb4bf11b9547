"""What tells the language of a text."""

import pytest

from hopgraph.tools.text.language_signs import LanguageSigns, are_in_different_languages, read_language_signs


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
