"""Numbers of a text as values, so that different ways of writing them compare equal."""

import re
from decimal import Decimal

_BELOW_TEN = "zero one two three four five six seven eight nine"
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_WRITTEN = {
    **{word: value for value, word in enumerate([*_BELOW_TEN.split(), *_TEENS.split()])},
    **{word: 20 + 10 * place for place, word in enumerate(_TENS.split())},
    **{word: value for value, word in enumerate(_ORDINALS.split(), 1)},
}
_AMBIGUOUS = frozenset({"one", "first", "second"})
"""More often a pronoun, an adverb or a measure of time: they satisfy a number but never ask for one."""

_SCALE = rf"(?:[\s-]+(?P<scale>{'|'.join(_SCALES)})\b)?"
_IN_DIGITS = re.compile(
    r"(?<![\w.])(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?:(?P<decade>(?: ?['\u2019])?s)\b|(?:st|nd|rd|th)\b)?" + _SCALE
)
_IN_WORDS = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(_TENS.split())})[\s-]+(?P<ones>{'|'.join(_BELOW_TEN.split()[1:])})"
    rf"|(?P<word>{'|'.join(_WRITTEN)}))\b{_SCALE}",
    re.IGNORECASE,
)


def read_numbers(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the numbers that a text names, and those that it supports in another text.

    Numbers stand in digits, with thousands separators, decimals or as ordinals, or in words up to ninety-nine and
    from third to twelfth; both may be multiplied by a hundred to a trillion. They are given in plain decimal
    notation, a decade as `1980s`. A text supports its own numbers, the decades of its years, and what `one`, `first`
    and `second` may mean.
    """
    named: set[str] = set()
    supported: set[str] = set()
    for match in _IN_DIGITS.finditer(text):
        value = Decimal(match["digits"].replace(",", ""))
        named.add(f"{value}s" if match["decade"] else _plain(value, match["scale"]))
        if len(match["digits"]) == 4:
            supported.add(f"{match['digits'][:3]}0s")
    for match in _IN_WORDS.finditer(text):
        words = [word.lower() for word in match.group("tens", "ones", "word") if word]
        unclear = words[0] in _AMBIGUOUS and not match["scale"]
        (supported if unclear else named).add(_plain(Decimal(sum(map(_WRITTEN.__getitem__, words))), match["scale"]))
    return frozenset(named), frozenset(named | supported)


def _plain(value: Decimal, scale: str | None) -> str:
    """Write a number without exponent and without zeros at its end; unscaled ones keep all their digits."""
    text = f"{value * _SCALES[scale.lower()] if scale else value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
